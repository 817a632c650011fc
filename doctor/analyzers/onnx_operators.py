"""Explain operators of ONNX graphs that ONNX Runtime does not have, or not for these types.

| event | what is read |
| --- | --- |
| onnx-operator-unknown | whose operator it is: PyTorch's, an own one, or one of a newer opset |
| onnx-operator-missing | which opset asks for the operator, and whether it is one of training |
"""

from __future__ import annotations

from collections.abc import Iterator

from doctor.analyzers.case import Case, Explanation
from doctor.analyzers.findings import explanation
from doctor.analyzers.model_graphs import ANEW, CONVERT, FILE_AT_FAULT, newest_runtime
from doctor.analyzers.recipes import code
from doctor.model.events import Event
from doctor.model.issues import Action, Option, Recipe


def explain(case: Case) -> Iterator[Explanation]:
    """Yield why an operator does not run."""
    for event in list(case.of("onnx-operator-unknown"))[:_MOST]:
        yield _unknown(case, event)
    for event in list(case.of("onnx-operator-missing"))[:_MOST]:
        yield _not_implemented(case, event)


def _unknown(case: Case, event: Event) -> Explanation:
    """Explain an operator that the runtime does not have, by whose it is."""
    name, domain = event.objects["operator"], event.objects.get("domain", "")
    if name == "ATen" or domain in ("aten", "org.pytorch.aten", "pkg.onnxscript.torch_lib"):
        return _of_torch(event, name)
    if domain in _EXTENSIONS:
        return _of_extension(event, name, domain)
    what = f"opset {event.objects['opset']}" if event.objects.get("opset") else "this release"
    return explanation(
        event,
        f"ONNX Runtime has no operator {name} in {what}",
        f"Either ONNX Runtime is older than {name}, or {name} is an operator of the model's own or "
        "of another runtime (TensorRT, MMDeploy), which a library of custom operators brings."
        if not domain.startswith("com.microsoft")
        else f"{name} is an operator of ONNX Runtime itself ({domain}), and the installed one is "
        "older than the tool that wrote the file.",
        (
            newest_runtime(case),
            code(
                "Register the library of its operators",
                "where the session is made",
                "options = onnxruntime.SessionOptions()\n"
                'options.register_custom_ops_library("libcustom_ops.so")',
                use_if=("the project of the model has such a library",),
            ),
        ),
        name="onnx-operator-unknown",
    )


def _of_torch(event: Event, name: str) -> Explanation:
    """Explain an operator that the exporter left to PyTorch."""
    return explanation(
        event,
        f"The ONNX file holds {name}, an operator of PyTorch that no ONNX Runtime has",
        "The exporter was told to leave what it cannot convert to PyTorch itself. Only the "
        "build of ONNX Runtime for training runs such nodes.",
        (
            code(
                "Export with operators of ONNX alone",
                "the program that exports the model",
                "torch.onnx.export(model, inputs, path, opset_version=17)",
                before="torch.onnx.export(model, inputs, path, operator_export_type="
                "torch.onnx.OperatorExportTypes.ONNX_ATEN_FALLBACK)",
                note="An export without the fallback names what it cannot convert; a newer "
                "torch converts more.",
            ),
            Recipe(
                title="Take the newest torch for the export",
                use_if=("the export without the fallback names an operator",),
                steps=(
                    Action(
                        install=("torch",),
                        companions=("torchvision", "torchaudio"),
                        options=(Option.UPGRADE,),
                    ),
                ),
            ),
        ),
        name="onnx-operator-unknown",
    )


def _of_extension(event: Event, name: str, domain: str) -> Explanation:
    """Explain an operator that a library beside ONNX Runtime registers."""
    package, lines = _EXTENSIONS[domain]
    return explanation(
        event,
        f"{name} is an operator of {package}, which the session did not load",
        f"ONNX Runtime has no operators of {domain}. A library registers them.",
        (
            Recipe(
                title=f"Install {package}",
                steps=(Action(install=(package,)),),
            ),
            code("Register its operators", "where the session is made", lines),
        ),
        name="onnx-operator-unknown",
    )


def _not_implemented(case: Case, event: Event) -> Explanation:
    """Explain an operator that no kernel of the runtime computes as the file has it."""
    name, opset = event.objects["operator"], int(event.objects["opset"])
    if opset < _FIRST_OPSET and name in _CHANGED_IN_7:
        return explanation(
            event,
            f"The file has {name} of opset {opset}, and ONNX Runtime runs opset 7 and later",
            f"The file is of a time before ONNX 1.2. {FILE_AT_FAULT}",
            (CONVERT, ANEW),
            name="onnx-opset-differs",
        )
    if name.endswith(("Internal", "Grad")) or name in ("SoftmaxCrossEntropyLoss", "YieldOp"):
        return _of_training(event, name)
    return explanation(
        event,
        f"ONNX Runtime has no {name} of opset {opset} for these types on this device",
        "Not every operator exists for every type: int32, bool, half precision and quantized ones "
        "are missing for some on the processor, others on the GPU.",
        (
            code(
                "Quantize with a type that exists",
                "the call that quantizes the model",
                "quantize_dynamic(model, out, weight_type=QuantType.QUInt8)",
                before="quantize_dynamic(model, out)",
                use_if=("you quantize the model yourself",),
            )
            if name in ("ConvInteger", "MatMulInteger", "QLinearConv") or name.startswith("Q")
            else code(
                f"Give {name} float32 or int64 where the model is exported",
                f"the model's code that becomes {name}",
                "x = x.to(torch.float32)  # numbers; torch.int64 for indices",
                note="netron shows the types of its inputs. The table OperatorKernels.md of ONNX "
                "Runtime lists those that exist.",
            ),
            newest_runtime(case),
        ),
        name="onnx-operator-missing",
    )


def _of_training(event: Event, name: str) -> Explanation:
    """Explain an operator that only the build for training computes."""
    return explanation(
        event,
        f"{name} is an operator of training, which the plain ONNX Runtime does not compute",
        "The model was exported, or is run, in the state of training.",
        (
            ANEW,
            Recipe(
                title="Take the build of ONNX Runtime for training",
                use_if=("the model is to be trained",),
                steps=(
                    Action(uninstall=("onnxruntime", "onnxruntime-gpu")),
                    Action(install=("onnxruntime-training",), options=(Option.UPGRADE,)),
                ),
            ),
        ),
        name="onnx-operator-missing",
    )


_FIRST_OPSET = 7
_CHANGED_IN_7 = frozenset(
    {"Add", "Sub", "Mul", "Div", "Pow", "And", "Or", "Xor", "Equal", "Greater", "Less", "Gemm"}
    | {"BatchNormalization", "Dropout", "PRelu", "Upsample", "LSTM", "GRU", "RNN", "Reshape"}
)
"""Operators that opset 7 or an earlier one changed, so that the older form does not run."""
_MOST = 4
_EXTENSIONS = {
    "ai.onnx.contrib": (
        "onnxruntime-extensions",
        (
            "from onnxruntime_extensions import get_library_path\n"
            "options = onnxruntime.SessionOptions()\n"
            "options.register_custom_ops_library(get_library_path())"
        ),
    ),
}
"""Domains of operators, the package that has them, and how a session gets them."""
