"""Explain operators of a model that this TensorRT does not have, or has no kernel for.

TensorRT's parser takes an operator that it does not know for a plugin
(importFallbackPluginImporter in onnx-tensorrt), so it reports a plugin that nobody named.
"""

from __future__ import annotations

from collections.abc import Iterator

from doctor.analyzers.case import Case, Explanation, Precision
from doctor.analyzers.recipes import code, command
from doctor.analyzers.texts import Text, explained
from doctor.model.issues import Action, Option, Recipe
from doctor.model.scales import Severity

_NEWEST = Recipe(
    title="Take a newer TensorRT, which knows more operators",
    steps=(Action(install=("tensorrt",), options=(Option.UPGRADE,)),),
    note="On a Jetson it comes with JetPack alone. Engines have to be built anew afterwards.",
)
UNKNOWN_OPERATOR = Text(
    (
        "This TensorRT does not know the model's operator {plugin}",
        "This TensorRT does not know an operator of the model",
    ),
    "TensorRT's ONNX parser takes an operator that it does not know for a plugin, and finds none. "
    "The lines above name the node and its op_type. Later lines, as of a network without outputs, "
    "follow from it.",
    (
        _NEWEST,
        code(
            "Export the model without the operator",
            "the call that exports the model",
            "torch.onnx.export(model, inputs, path, opset_version=13)",
            note="polygraphy surgeon sanitize --fold-constants model.onnx -o folded.onnx removes "
            "operators whose inputs are constant. What is left wants a plugin, or other code.",
        ),
        code(
            "Load TensorRT's plugins first, where the operator is one of NVIDIA's plugins",
            "the program, before the ONNX file is parsed",
            'trt.init_libnvinfer_plugins(TRT_LOGGER, "")',
            use_if=("the name ends in _TRT or the model was made for plugins",),
        ),
    ),
    severity=Severity.ERROR,
    precision=Precision.EXACT,
)


def explain(case: Case) -> Iterator[Explanation]:
    """Yield that TensorRT has no kernel for a node."""
    yield from explained(case, _TABLE)


def is_of_parser(case: Case) -> bool:
    """Say whether the ONNX parser reports an operator, and not the reader of an engine."""
    return any(
        "importFallbackPluginImporter" in line or "UNSUPPORTED_NODE" in line
        for line in case.log.lines
    )


_TABLE: dict[str, Text] = {
    "trt-no-kernel": Text(
        "TensorRT finds no kernel for the node {node} with these settings",
        "Each kernel was tried and left out: too little workspace memory, a precision (fp16, int8) "
        "or shapes that none of them has, or an error of this release.",
        (
            code(
                "Give the builder more workspace, and leave the lower precision out to compare",
                "where the engine is built",
                "config.set_memory_pool_limit(trt.MemoryPoolType.WORKSPACE, 4 << 30)",
                before="config.max_workspace_size = 1 << 20",
                note="trtexec: --memPoolSize=workspace:4096, before 8.4 --workspace=4096.",
            ),
            command("See how much memory of the GPU is free", "nvidia-smi", look=True),
            _NEWEST,
        ),
        severity=Severity.ERROR,
        precision=Precision.EXACT,
    ),
}
