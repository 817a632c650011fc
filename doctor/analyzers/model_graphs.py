"""Explain ONNX graphs that are not valid: the file is at fault, and no runtime or GPU.

| event | what is read |
| --- | --- |
| onnx-attribute-unknown | from or up to which opset the operator has the attribute |
| onnx-attribute-needed | an operator of the first opsets, which later ones no longer read |
| onnx-input-of-nobody | a node whose input no other node makes |
| onnx-name-twice | two nodes that write one tensor |
"""

from __future__ import annotations

from collections.abc import Iterator

from doctor.analyzers.case import Case, Explanation
from doctor.analyzers.findings import explanation
from doctor.analyzers.recipes import code
from doctor.model.events import Event
from doctor.model.issues import Action, Option, Recipe

_RESIZE = ("coordinate_transformation_mode", "cubic_coeff_a", "exclude_outside", "nearest_mode")
_SINCE = {
    ("Reshape", "allowzero"): 14,
    ("BatchNormalization", "training_mode"): 14,
    **{("Resize", name): 11 for name in (*_RESIZE, "extrapolation_value")},
    **{("Resize", name): 18 for name in ("antialias", "axes", "keep_aspect_ratio_policy")},
    ("Split", "num_outputs"): 18,
    ("GatherND", "batch_dims"): 12,
    **{(name, "reduction"): 16 for name in ("ScatterND", "ScatterElements")},
    **{(name, "ceil_mode"): 10 for name in ("MaxPool", "AveragePool")},
    ("MaxPool", "dilations"): 10,
    ("AveragePool", "dilations"): 19,
    **{("Constant", name): 12 for name in ("value_int", "value_ints", "value_float")},
    **{(name, "layout"): 14 for name in ("LSTM", "GRU", "RNN")},
    **{("Shape", name): 15 for name in ("start", "end")},
    **{(name, "saturate"): 19 for name in ("Cast", "CastLike", "QuantizeLinear")},
    ("ReduceSum", "noop_with_empty_axes"): 13,
}
"""The first opset in which an operator has an attribute."""
_UNTIL = {
    **{(name, "axes"): 12 for name in ("Squeeze", "Unsqueeze", "ReduceSum")},
    **{(name, "axes"): 17 for name in ("ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd")},
    ("Split", "split"): 12,
    **{("Pad", name): 10 for name in ("pads", "value")},
    **{("Clip", name): 10 for name in ("min", "max")},
    ("Dropout", "ratio"): 11,
    **{("Slice", name): 9 for name in ("starts", "ends", "axes")},
    ("TopK", "k"): 9,
    ("Upsample", "scales"): 8,
    ("BatchNormalization", "spatial"): 8,
}
"""The last opset in which an operator has it (both: github.com/onnx/onnx, docs/Changelog.md)."""
_OF_RUNTIME = frozenset(
    {"Attention", "MultiHeadAttention", "GroupQueryAttention", "DecoderMaskedMultiHeadAttention"}
    | {"PackedAttention", "EmbedLayerNormalization", "SkipLayerNormalization", "QAttention"}
    | {"SkipSimplifiedLayerNormalization", "BiasGelu", "FastGelu", "FusedMatMul", "GroupNorm"}
    | {"BeamSearch", "GreedySearch", "MatMulNBits", "RotaryEmbedding", "QMoE", "MoE", "NhwcConv"}
)
"""Operators of the domain com.microsoft, which ONNX Runtime's own optimizer writes."""
FILE_AT_FAULT = "The file is at fault: no other ONNX Runtime, driver or GPU reads it."
_CHECK = code(
    "Have onnx check the file, which names the node",
    "a Python with the package onnx",
    'import onnx\n\nonnx.checker.check_model("model.onnx", full_check=True)',
    note="netron shows the graph around the node.",
)
ANEW = code(
    "Export the model anew, in evaluation mode, and use the file as the exporter writes it",
    "the program that exports the model",
    "model.eval()\ntorch.onnx.export(model, inputs, path, opset_version=17)",
    note="Leave simplifiers, optimizers and quantizers out at first, then take them in one by one: "
    "most such files come from a tool that removed or renamed a node.",
)


CONVERT = code(
    "Convert the file to a later opset",
    "a Python with the package onnx",
    "import onnx\nfrom onnx import version_converter\n\n"
    'model = onnx.load("model.onnx")\n'
    'onnx.save(version_converter.convert_version(model, 13), "model-13.onnx")',
    note="Where a node has no converter, take a later file of the model, or export it anew.",
)


def explain(case: Case) -> Iterator[Explanation]:
    """Yield what is wrong with a graph."""
    for event in case.of("onnx-attribute-unknown"):
        yield _attribute(case, event)
    for event in case.of("onnx-attribute-needed"):
        yield _needed(event)
    for event in case.of("onnx-input-of-nobody", "onnx-name-twice"):
        yield _broken(event)


def _attribute(case: Case, event: Event) -> Explanation:
    operator, name = event.objects["operator"], event.objects["attribute"]
    since, until = _SINCE.get((operator, name)), _UNTIL.get((operator, name))
    title = f"The ONNX file declares an opset in which {operator} has no attribute {name}"
    cause = (
        "The nodes were written for one opset, and the file declares another one. A tool that "
        "rewrote the file, such as a quantizer, set the number without converting the nodes."
    )
    if since:
        title = f"{operator} has {name} from opset {since} on, and the ONNX file declares less"
        cause += " A lower number does not help."
    elif until:
        title = f"{operator} has {name} up to opset {until}, and the ONNX file declares more"
    if operator in _OF_RUNTIME and not (since or until):
        return explanation(
            event,
            f"The installed ONNX Runtime does not know {name} of its own operator {operator} yet",
            f"{operator} is no operator of ONNX: the optimizer of a newer ONNX Runtime wrote it, "
            f"with an attribute that the one which loads the file does not have.",
            (
                newest_runtime(
                    case,
                    where="where the model is loaded",
                    note="A server such as Triton brings its own: take its newest image, or "
                    "optimize the model with the release that the server has.",
                ),
            ),
            name="onnx-attribute-newer",
        )
    if any("cntk" in line.lower() for line in case.log.lines[: event.at + 1]):
        return explanation(
            event,
            f"CNTK does not know {name} of {operator}: it reads no opset after 9",
            "CNTK is no longer developed, and the file was written for a later opset.",
            (
                Recipe(
                    title="Run the file with ONNX Runtime",
                    steps=(Action(install=("onnxruntime",)),),
                ),
                code(
                    "Export with opset 9",
                    "the program that exports the model",
                    "torch.onnx.export(model, inputs, path, opset_version=9)",
                ),
            ),
            name="onnx-attribute-newer",
        )
    opset = since or until or 17
    return explanation(
        event,
        title,
        f"{cause} {FILE_AT_FAULT}",
        (_export(opset, lower=bool(until)), *_without(operator, name), _CHECK),
        name="onnx-opset-differs",
    )


def _needed(event: Event) -> Explanation:
    """Explain a node that lacks what its opset asks for: mostly a file of the first opsets."""
    name = event.objects["attribute"]
    early = name in ("consumed_inputs", "axes", "broadcast")
    return explanation(
        event,
        f"A node of the ONNX file lacks the attribute {name}, which its opset asks for",
        (
            f"{name} belongs to the first opsets (before 7), which this runtime does not run. "
            if early
            else "The node was written for another opset than the file declares. "
        )
        + FILE_AT_FAULT,
        (
            CONVERT,
            ANEW,
        ),
        name="onnx-opset-differs",
    )


def newest_runtime(case: Case, *, where: str = "", note: str = "") -> Recipe:
    """Return the recipe that takes the newest of the ONNX Runtime that the log names."""
    gpu = any("onnxruntime-gpu" in line or "onnxruntime_gpu" in line for line in case.log.lines)
    package = "onnxruntime-gpu" if gpu else "onnxruntime"
    return Recipe(
        title=f"Take the newest ONNX Runtime {where}".rstrip(),
        steps=(Action(install=(package,), options=(Option.UPGRADE, Option.HOLD_TORCH)),),
        note=note,
    )


def _export(opset: int, *, lower: bool) -> Recipe:
    bound = "or less" if lower else "or more"
    return code(
        f"Export with opset {opset} {bound}, and have the tools after it keep that number",
        "the program that exports the model",
        f"torch.onnx.export(model, inputs, path, opset_version={opset})",
        note="onnx.version_converter.convert_version(model, opset) converts the nodes of a file; "
        "setting opset_import alone does not.",
    )


def _without(operator: str, name: str) -> tuple[Recipe, ...]:
    """Return how to take an attribute away whose default is what older opsets do."""
    if (operator, name) != ("Reshape", "allowzero"):
        return ()
    return (
        code(
            f"Take {name} out of the nodes, where its value is 0 (the default)",
            "a Python with the package onnx",
            'import onnx\n\nmodel = onnx.load("model.onnx")\n'
            "for node in model.graph.node:\n"
            '    kept = [a for a in node.attribute if a.name != "allowzero" or a.i]\n'
            '    if node.op_type == "Reshape":\n'
            "        del node.attribute[:]\n"
            "        node.attribute.extend(kept)\n"
            'onnx.save(model, "model-without-allowzero.onnx")',
        ),
    )


def _broken(event: Event) -> Explanation:
    tensor = event.objects["tensor"]
    title = f"The ONNX file is broken: a node reads {tensor}, which no node before it makes"
    if event.kind == "onnx-name-twice":
        title = f"The ONNX file is broken: two nodes or inputs are called {tensor}"
    return explanation(
        event,
        title,
        "The export, or a tool that changed the graph afterwards, removed, renamed or moved a "
        f"node. {FILE_AT_FAULT}",
        (ANEW, _CHECK),
        name="onnx-graph-broken",
    )
