"""Leave out of the histories what no failure can be about, so that the data stay small."""

from __future__ import annotations

import re

from doctor.timelines.build.name_history import Histories

_DEEP = 3
_CALLED = {"__call__", "__init__", "__new__", "forward"}
_MODELS = re.compile(r"(transformers|timm)\.models\.|diffusers\.pipelines\.|keras\.src\.layers\.")
_INNER = (
    r"(transformers|diffusers|optimum)\.utils\.dummy_",
    r"diffusers\.modular_pipelines",
    r"jax\._src\.(?!(numpy|lax|nn|random|tree_util|api|core|config|scipy)\b)",
    r"(lightning\.app|lightning_app|mmdet\.\w+|gptqmodel)\.\w+\.",
    r"pandas\.(_libs|core\.(internals|computation|reshape|array_algos)|io\.\w+\.|plotting\._)",
    r"jax\.experimental\.(mosaic|pallas)",
    r"jaxlib\.(mlir|mosaic|triton|thunky)",
    r"ray\.(_private|dashboard|rllib|autoscaler|core|llm|\w+\.\w+\.)",
    r"sglang\.(multimodal_gen|kernels|jit_kernel)",
    r"sglang\.srt\.(?!server_args|utils|entrypoints|sampling)",
    r"sympy\.\w+\.",
    r"vllm\.(?!entrypoints\.llm|engine\.arg_utils|config)\w+\.\w+",
    r"(numba|dgl|kornia|unsloth|pyarrow|matplotlib)\.\w+\.\w+\.",
    r"(openai|langchain|langchain_core)\.\w+\.\w+",
    r"numba\.(core|cuda|np|typed|experimental|stencils|parfors|misc)",
    r"unsloth_zoo\.|unsloth\.models",
    r"tensorflow\.(python|compiler|lite|core|dtensor|tools)",
    r"torch\.(_inductor|_dynamo|_functorch|_export|testing|onnx\._internal|ao|fx\.experimental)",
    r"torch\.(_VF|_refs|_decomp|_prims|onnx\.symbolic|nn\.quantized|nn\.intrinsic|profiler\._)",
    r"torch\.distributed\.(_\w+|fsdp\._\w+|elastic|tensor\._\w+)",
    r"torchao\.(prototype|_models)",
    r"transformers\.models\.deprecated",
    r"(gptqmodel|optimum|deepspeed|unsloth_zoo|lm_eval|llmcompressor)\.\w+\.\w+\.",
)
_IS_INNER = re.compile("|".join(f"(?:{each})" for each in _INNER))
"""Modules whose classes and parameters are not recorded, only their names."""
_UNWANTED = re.compile(
    r"(transformers|diffusers|optimum)\.utils\.dummy_|sglang\.(multimodal_gen|kernels|jit_kernel)\.\w+\."
    r"|openai\.(types|resources)\.\w+\.|vllm\.model_executor\.(models|layers)\.\w+\.\w+"
    r"|vllm\.(third_party|v1\.\w+\.\w+\.)|tensorflow\.(lite|compiler|core)\."
    r"|ray\.(rllib|dashboard|_private|autoscaler)\.\w+\."
)
"""Modules of which not even the names are recorded."""


def select(histories: Histories) -> None:
    """Remove inner names that never changed.

    Modules that only their own package imports keep the names and lose all else.

    A function whose parameters never changed is left out wherever it lies: no release explains a
    parameter that it refuses. Inner modules lose the constants and the re-exports that they had in
    all their releases, and are marked as thinned, since a missing name then means nothing.
    """
    _inner(histories)
    _attributes(histories)
    _names(histories)
    _parameters(histories)


def _inner(histories: Histories) -> None:
    inner = {module for module in histories.modules if _IS_INNER.match(module)}
    for section in (histories.classes, histories.parameters):
        for rows in section.values():
            for module in inner & rows.keys():
                del rows[module]
    histories.classes = {name: rows for name, rows in histories.classes.items() if rows}
    histories.parameters = {name: rows for name, rows in histories.parameters.items() if rows}


def _attributes(histories: Histories) -> None:
    """Remove the attributes of models that never changed; `*` says that there are more."""
    for rows in histories.classes.values():
        for module, (_, row) in rows.items():
            if not _MODELS.match(module):
                continue
            present = row[""]
            steady = [
                name
                for name, bits in row.items()
                if bits == present and name and name not in _CALLED
            ]
            for name in steady:
                del row[name]
            if steady:
                row["*"] = present


def _names(histories: Histories) -> None:
    packages = {module.rpartition(".")[0] for module in histories.modules}
    inner = {
        module
        for module in histories.modules
        if module not in packages
        and (module.count(".") >= _DEEP or _is_private(module) or _IS_INNER.match(module))
    }
    unwanted = {module for module in histories.modules if _UNWANTED.match(module)}
    histories.thinned |= unwanted
    for name, rows in list(histories.names.items()):
        for module in unwanted & rows.keys():
            del rows[module]
        for module in inner & rows.keys():
            segments = rows[module]
            bits = sum((2 << last) - (1 << first) for first, last, _ in segments)
            defined = module in histories.classes.get(
                name, ()
            ) or module in histories.parameters.get(name, ())
            always = bits == histories.modules[module]
            if not defined and (always or (name[0] == "_" and name.upper() == name)):
                del rows[module]
                histories.thinned.add(module)
        if not rows:
            del histories.names[name]


def _parameters(histories: Histories) -> None:
    for name, rows in list(histories.parameters.items()):
        accepted = [frozenset(row) for row in rows.values()]
        changed = any(bits != row[""] for row in rows.values() for bits in row.values())
        if not changed and ("&" not in accepted[0]) and len(set(accepted)) == 1:
            del histories.parameters[name]


def _is_private(module: str) -> bool:
    return any(part.startswith("_") for part in module.split("."))
