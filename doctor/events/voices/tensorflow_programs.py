"""TensorFlow and Keras on programs and their input: shapes, labels, layers, saved models, XLA.

The wordings are those of TensorFlow's kernels (tensorflow/core/kernels) and of keras/src.
"""

from __future__ import annotations

from doctor.events.forms import Form, Voice

_NUMBERS = r"[\d, x]{1,60}"

VOICES = (
    Voice(
        "TensorFlow",
        (
            Form(
                "tf-shapes-differ",
                rf"Matrix size-incompatible: In\[0\]: \[(?P<a>{_NUMBERS})\], In\[1\]: "
                rf"\[(?P<b>{_NUMBERS})\]",
                ("matrix size-incompatible",),
            ),
            Form(
                "tf-shapes-differ",
                rf"logits and labels must be broadcastable: logits_size=\[(?P<a>{_NUMBERS})\] "
                rf"labels_size=\[(?P<b>{_NUMBERS})\]",
                ("logits and labels must be",),
            ),
            Form(
                "tf-shapes-differ",
                r"Input to reshape is a tensor with (?P<a>\d{1,12}) values, but the requested "
                r"shape "
                r"(?:has|requires a multiple of) (?P<b>\d{1,12})",
                ("input to reshape is a tensor",),
            ),
            Form(
                "tf-checkpoint-path",
                r"Could not open (?P<path>.{1,300}?): (?:Unknown|FAILED_PRECONDITION|UNKNOWN"
                r"|PERMISSION_DENIED|Permission denied|Failed precondition): .{0,400}"
                r"(?:Access is denied|[Ii]s a directory|Permission denied)"
                r"|Could not open (?P<file>.{1,300}?): DATA_LOSS: not an sstable"
                r"|Unsuccessful TensorSliceReader constructor: Failed to (?:find any matching files"
                r" for|get matching files on) (?P<prefix>[^\s:]{1,300}|[A-Za-z]:[^\s:]{1,300})",
                ("could not open ", "unsuccessful tensorslicereader"),
            ),
            Form(
                "tf-label-out-of-range",
                r"Received a label value of (?P<label>-?\d{1,9}) which is outside the valid "
                r"range of "
                r"\[0, (?P<classes>\d{1,9})\)",
                ("received a label value of",),
            ),
            Form(
                "tf-index-out-of-range",
                r"indices\[[\d,]{1,30}\] = (?P<index>-?\d{1,12}) is not in \[0, "
                r"(?P<rows>\d{1,12})\)",
                (" is not in [0, ",),
            ),
            Form(
                "tf-batch-shapes",
                r"Cannot batch tensors with different shapes in component \d{1,3}\. First element "
                r"had shape \[(?P<a>[\d,]{0,60})\] and element \d{1,9} had shape "
                r"\[(?P<b>[\d,]{0,60})\]",
                ("cannot batch tensors with",),
            ),
            Form(
                "keras-setting-unknown",
                r"\('Unrecognized keyword arguments:', dict_keys\(\['(?P<setting>\w{1,60})'",
                ("unrecognized keyword arguments:",),
            ),
            Form(
                "tf-gpu-memory-full",
                r"Dst tensor is not initialized|No algorithm worked!",
                ("dst tensor is not initialized", "no algorithm worked"),
            ),
            Form(
                "tf-device-not-there",
                r"Cannot assign a device for operation (?P<operation>[\w/.:-]{1,120}).{0,200}"
                r"explicitly assigned to (?P<device>/\S{1,80})",
                ("cannot assign a device for operation",),
            ),
            Form(
                "tf-not-compilable",
                r"Detected unsupported operations when trying to compile graph|tf2xla conversion "
                r"failed",
                ("detected unsupported operations when", "tf2xla conversion failed"),
            ),
            Form(
                "tf-xla-device",
                r"device CUDA:(?P<device>\d{1,3}) not supported by XLA service",
                ("not supported by xla service",),
            ),
            Form(
                "tf-variables-later",
                r"tried to create variables on (?:non-first|a non-first) call",
                ("tried to create variables on",),
            ),
        ),
    ),
    Voice(
        "Keras",
        (
            Form(
                "keras-layer-unknown",
                r"Unknown (?P<what>layer|loss function|metric function|optimizer|initializer)"
                r": ['\"]?(?P<name>[\w.>]{1,80})",
                ("unknown layer: ", "unknown loss", "unknown metric", "unknown optimizer"),
            ),
            Form(
                "keras-layer-unknown",
                r"Could not locate (?P<what>class|function) ['\"](?P<name>[\w.>]{1,80})['\"]\. "
                r"Make "
                r"sure",
                ("could not locate class", "could not locate function"),
            ),
            Form(
                "keras-input-shape",
                r"Input (?P<number>\d{1,3})(?: of|  ?of) layer \"?(?P<layer>[\w/.-]{1,80})\"? is "
                r"incompatible with the layer: (?P<said>.{1,200})",
                ("is incompatible with the layer",),
            ),
            Form(
                "keras-input-shape",
                r"Layer \"?(?P<layer>[\w/.-]{1,80})\"? expects (?P<number>\d{1,4}) inputs?\(s\), "
                r"but (?:it )?(?P<said>received \d{1,4})",
                (" input(s), but it received",),
            ),
            Form(
                "keras-file-name",
                r"The filepath provided must end in `(?P<ends>\.[\w.]{2,20})`",
                ("filepath provided must end in",),
            ),
            Form(
                "keras-decay",
                r"(?P<name>decay) is deprecated in the new Keras optimizer"
                r"|Argument\(s\) not recognized: \{'(?P<name2>lr|decay)'",
                ("deprecated in the new keras", "argument(s) not recognized"),
            ),
            Form(
                "keras-call-inputs",
                r"Functional\.call\(\) missing 1 required positional argument: 'inputs'",
                ("functional.call() missing",),
            ),
        ),
    ),
)
