"""Errors of programs that use torch and its relatives: shapes, types, devices, autograd."""

from __future__ import annotations

from doctor.events.forms import Form, Voice

_SHAPE = r"[\[(]?(?:torch\.Size\()?\[?(?:\d+(?:, ?|x))*\d+\]?\)?[\])]?"

VOICES = (
    Voice(
        "torch",
        (
            Form(
                "device-assert",
                r"Assertion `(?P<assertion>[^`]{1,200})` failed",
                ("assertion `",),
            ),
            Form(
                "index-out-of-range",
                r"IndexError: (?P<said>index out of range in self|index (?P<index>-?\d+) is "
                r"out of bounds for"
                r" (?:dimension|axis) (?P<axis>\d+) with size (?P<size>\d+)|Target "
                r"(?P<label>-?\d+) is out of bounds)",
                ("index out of range in self", "is out of bounds"),
            ),
            Form(
                "shapes-differ",
                r"mat1 and mat2 shapes cannot be multiplied \((?P<a>\d+x\d+) and (?P<b>\d+x\d+)\)",
                ("shapes cannot be multiplied",),
            ),
            Form(
                "shapes-differ",
                r"The size of tensor a \((?P<a>\d+)\) must match the size of tensor b "
                r"\((?P<b>\d+)\)"
                r"(?: at non-singleton dimension (?P<axis>\d+))?",
                ("must match the size of tensor b",),
            ),
            Form(
                "shapes-differ",
                r"(?:Expected size for first two dimensions of batch2 tensor to be: "
                r"\[(?P<a>[\d, ]{1,40})\] but got: "
                r"\[(?P<b>[\d, ]{1,40})\])|operands could not be broadcast together with "
                r"shapes? \((?P<a2>[\d,]{1,40})\)"
                r" \((?P<b2>[\d,]{1,40})\)|shape '?\[(?P<a3>[-\d, ]{1,60})\]'? is invalid "
                r"for input of size (?P<b3>\d+)",
                (
                    "expected size for first two",
                    "could not be broadcast together",
                    "is invalid for input of size",
                ),
            ),
            Form(
                "shapes-differ",
                r"Sizes of tensors must match except in dimension \d+\. (?:Expected size "
                r"(?P<a>\d+) but got size (?P<b>\d+)"
                r"|Got (?P<a2>\d+) and (?P<b2>\d+) in dimension (?P<axis>\d+))",
                ("sizes of tensors must match",),
            ),
            Form(
                "shapes-differ",
                r"TypeError: \w+ got incompatible shapes for broadcasting: \((?P<a>[\d, "
                r"]{1,40})\), \((?P<b>[\d, ]{1,40})\)"
                r"|dot_general requires contracting dimensions to have the same shape, got "
                r"\((?P<a2>[\d, ]{1,40})\) and "
                r"\((?P<b2>[\d, ]{1,40})\)|Incompatible shapes?: \[(?P<a3>[\d,]{1,40})\] "
                r"vs\. \[(?P<b3>[\d,]{1,40})\]",
                ("got incompatible shapes", "contracting dimensions to have", "incompatible shape"),
            ),
            Form(
                "channels-differ",
                r"(?P<what>running_mean|running_var|weight) should contain (?P<a>\d+) elements not "
                r"(?P<b>\d+)",
                ("should contain ",),
            ),
            Form(
                "checkpoint-shape",
                r"size mismatch for (?P<parameter>[\w.]{1,160}): copying a param with shape "
                r"(?:torch\.Size\(\[)?"
                r"(?P<file>[\d, ]{0,60}).{0,10}from checkpoint, the shape in current model "
                r"is (?:torch\.Size\(\[)?"
                r"(?P<model>[\d, ]{0,60})",
                ("size mismatch for",),
            ),
            Form(
                "checkpoint-shape",
                r"While copying the parameter named \"?(?P<parameter>[\w.]{1,160})\"?, whose "
                r"dimensions in the model are (?:torch\.Size\(\[)?(?P<model>[\d, ]{0,60})"
                r".{0,10}and whose dimensions in the checkpoint are "
                r"(?:torch\.Size\(\[)?(?P<file>[\d, ]{0,60})",
                ("whose dimensions in the model are",),
            ),
            Form(
                "checkpoint-names",
                r"Error\(s\) in loading state_dict for (?P<model>\w{1,80})",
                ("error(s) in loading state_dict",),
                general=True,
            ),
            Form(
                "types-differ",
                r"(?:mat1 and mat2 must have the same dtype, but got|expected (?:m1 and "
                r"m2|mat1 and mat2) to have the "
                r"same dtype, but got:) (?P<a>[\w.:]{2,30}) (?:and|!=) (?P<b>[\w.:]{2,30})",
                ("to have the same dtype", "must have the same dtype"),
            ),
            Form(
                "types-differ",
                r"expected (?:scalar|data) type (?P<a>\w{2,20}) but found (?P<b>\w{2,20})",
                ("expected scalar type", "expected data type"),
            ),
            Form(
                "types-differ",
                r"Input type \((?P<a>[\w.:]{3,40})\) and (?:weight|bias) type "
                r"\((?P<b>[\w.:]{3,40})\) should be the same",
                ("should be the same",),
            ),
            Form(
                "gpu-operator-lacks-type",
                r"\"(?P<operation>\w{2,60}_cuda(?:_\w{1,40})?)\" not implemented for "
                r"'(?P<type>\w{3,20})'",
                ("not implemented for '",),
            ),
            Form(
                "half-on-cpu",
                r"\"(?P<operation>\w{3,60})\" not implemented for '(?P<type>Half|BFloat16|Flo"
                r"at8\w*|Char|ComplexHalf)'",
                ("not implemented for '",),
            ),
            Form(
                "operator-lacks-type",
                r"\"(?P<operation>\w{3,60})\" not implemented for '(?P<type>\w{3,20})'",
                ("not implemented for '",),
                general=True,
            ),
            Form(
                "devices-differ",
                r"indices should be either on (?P<a>cpu) or on the same device as the indexed "
                r"tensor \((?P<b>\w+)\)",
                ("indices should be either on",),
            ),
            Form(
                "shapes-differ",
                r"Given groups=\d+, weight of size \[(?P<a>[\d, ]{1,40})\], "
                r"expected input\[(?P<b>[\d, ]{1,40})\]",
                ("given groups=",),
            ),
            Form(
                "devices-differ",
                r"(?i)Expected all tensors to be on the same device, but (?:found at least "
                r"two devices, |got \w+ is on )"
                r"(?P<a>\w+(?::\d+)?)(?:,| and|.{0,40}?other tensors on) (?P<b>\w+(?::\d+)?)",
                ("to be on the same device",),
            ),
            Form(
                "tensor-on-gpu",
                r"can't convert (?P<device>[\w:]{3,12}) device type tensor to numpy",
                ("device type tensor to numpy",),
            ),
            Form(
                "tensor-with-gradient",
                r"Can't call numpy\(\) on Tensor that requires grad",
                ("can't call numpy() on",),
            ),
            Form(
                "einsum-differs",
                r"einsum\(\): (?P<message>(?:fewer|more) operands were provided than|subscript "
                r"\S{1,20} has size \d{1,12} for operand \d{1,3} which does not broadcast|the "
                r"number of subscripts in the equation|operands do not broadcast)",
                ("einsum(): ",),
            ),
            Form(
                "backward-twice",
                r"Trying to backward through the graph a second time",
                ("backward through the graph a second",),
            ),
            Form(
                "changed-in-place",
                r"one of the variables needed for gradient computation has been modified by "
                r"an inplace operation"
                r"(?:: \[?(?P<tensor>[\w.]{3,60} ?\[?[\d, ]{0,60}))?",
                ("has been modified by an inplace",),
            ),
            Form(
                "in-place-on-leaf",
                r"a (?:leaf Variable|view of a leaf Variable) that requires grad is being "
                r"used in an in-place operation",
                ("leaf variable that requires grad",),
            ),
            Form(
                "no-gradient",
                r"element (?P<element>\d+) of tensors does not require grad and does not "
                r"have a grad_fn",
                ("does not require grad and",),
            ),
            Form(
                "graph-capture",
                r"(?i)operation (?:not permitted when stream is capturing|failed due to a "
                r"previous error during capture)"
                r"|Cannot (?:copy between CPU and CUDA|prepare for replay) during (?:CUDA "
                r")?graph capture",
                ("stream is capturing", "error during capture", "during cuda graph capture"),
            ),
            Form(
                "forked-after-cuda",
                r"Cannot re-initialize (?P<what>CUDA|XPU|HIP) in forked subprocess",
                ("in forked subprocess",),
            ),
            Form(
                "loss-not-a-number",
                r"(?i)(?:\bloss\b.{0,20}(?:is|became|=|:) ?\bnan\b.{0,60}(?:stop|abort|error|exit)"
                r"|NaN (?:or Inf )?(?:found|detected|encountered) in|Loss is nan, stopping)",
                (
                    "loss is nan",
                    "nan detected",
                    "nan found",
                    "nan or inf found",
                    "nan encountered",
                    "loss became nan",
                ),
            ),
            Form(
                "output-not-a-number",
                r"probability tensor contains either [`'\"]?inf[`'\"]?, [`'\"]?nan[`'\"]?",
                ("probability tensor contains",),
            ),
            Form(
                "empty-kernel-grid",
                r"(?i)invalid configuration argument",
                ("invalid configuration argument",),
            ),
        ),
    ),
    Voice(
        "Triton",
        (
            Form(
                "kernel-source",
                r"triton\.compiler\.errors\.(?:CompilationError|UnsupportedLanguageConstruct)"
                r": at (?P<place>\d+:\d+)",
                ("triton.compiler.errors",),
            ),
        ),
    ),
    Voice(
        "Candle",
        (
            Form(
                "candle-types-differ",
                r"dtype mismatch in (?P<operation>[\w-]{1,40}), lhs: (?P<a>\w{2,8}), "
                r"rhs: (?P<b>\w{2,8})",
                ("dtype mismatch in",),
            ),
            Form(
                "candle-types-differ",
                r"unexpected dtype, expected: (?P<a>\w{2,8}), got: (?P<b>\w{2,8})",
                ("unexpected dtype",),
            ),
            Form(
                "candle-devices-differ",
                r"device mismatch in (?P<operation>[\w-]{1,40}), lhs: (?P<a>\w.{0,60}?), "
                r"rhs: (?P<b>\w.{0,60})",
                ("device mismatch in",),
            ),
            Form(
                "candle-shapes-differ",
                r"shape mismatch in (?P<operation>[\w-]{1,40}), lhs: \[(?P<a>[\d, ]{1,40})\], "
                r"rhs: \[(?P<b>[\d, ]{1,40})\]",
                ("shape mismatch in",),
            ),
            Form(
                "candle-type-missing",
                r"(?i)unsupported dtype (?P<type>bf16|f16|f8e4m3) for op "
                r"(?P<operation>[\w-]{2,40})",
                ("unsupported dtype",),
            ),
        ),
    ),
)
