"""Explain operators that torch does not know: the library that registers them is not loaded.

`torch.ops.NAMESPACE.NAME` exists after a shared library has registered it
(https://docs.pytorch.org/docs/stable/library.html).

| namespace | exact | family |
| --- | --- | --- |
| of torch itself | – | another release of torch has it |
| of a known package | – | its compiled part is not loaded |
| any other | – | load the library first |
"""

from __future__ import annotations

from collections.abc import Iterator

from doctor.analyzers.case import Case, Explanation
from doctor.analyzers.findings import explanation
from doctor.analyzers.inventory import distinct
from doctor.analyzers.recipes import code, command
from doctor.model.events import Event
from doctor.model.issues import Action, Option, Recipe

_OF_TORCH = frozenset(
    {"aten", "prim", "prims", "inductor", "c10d", "c10d_functional", "_c10d_functional"}
    | {"quantized", "quantized_decomposed", "mkldnn", "symm_mem", "higher_order", "rngprims"}
)
_PACKAGES = {
    "torchvision": "torchvision",
    "image": "torchvision",
    "torchaudio": "torchaudio",
    "torchtext": "torchtext",
    "torchcodec_ns": "torchcodec",
    "_C_cache_ops": "vllm",
    "_moe_C": "vllm",
    "_rocm_C": "vllm",
    "_vllm_fa2_C": "vllm",
    "_vllm_fa3_C": "vllm",
    "sgl_kernel": "sgl-kernel",
    "xformers": "xformers",
    "xformers_flash": "xformers",
    "flash_attn": "flash-attn",
    "flash_attn_3": "flash-attn-3",
    "fbgemm": "fbgemm-gpu",
    "torchao": "torchao",
    "torch_scatter": "torch-scatter",
    "torch_sparse": "torch-sparse",
    "torch_cluster": "torch-cluster",
    "torch_spline_conv": "torch-spline-conv",
    "pyg": "pyg-lib",
    "torch_ipex": "intel-extension-for-pytorch",
    "bitsandbytes": "bitsandbytes",
    "tensorrt": "torch-tensorrt",
}
"""Packages by the namespace that their compiled part registers."""


def explain(case: Case) -> Iterator[Explanation]:
    """Yield whose operator is missing, and what registers it."""
    for event in distinct(case, "operator-not-registered", most=3):
        space, name = event.objects["namespace"], event.objects["operator"]
        if space in _OF_TORCH:
            yield _of_torch(event, f"{space}::{name}")
        elif space in _PACKAGES:
            yield _of_package(event, f"{space}::{name}", _PACKAGES[space])
        else:
            yield _of_program(event, space, name)


def _of_torch(event: Event, operator: str) -> Explanation:
    return explanation(
        event,
        f"This torch has no operator {operator}",
        "The namespace is torch's own. The code, or the saved program, was written for another "
        "release of torch.",
        (
            Recipe(
                title="Move to the newest torch",
                use_if=("nothing needs the release that is installed",),
                steps=(
                    Action(
                        install=("torch",),
                        companions=("torchvision", "torchaudio"),
                        options=(Option.UPGRADE,),
                    ),
                ),
            ),
        ),
        name="operator-of-another-torch",
        exact=False,
    )


def _of_package(event: Event, operator: str, package: str) -> Explanation:
    module = package.replace("-", "_")
    return explanation(
        event,
        f"The operators of {package} are not registered: its compiled part is not loaded",
        f"{operator} exists in torch after the shared library of {package} is loaded. It was built "
        f"for another torch, or for another GPU or Python, or was never built.",
        (
            command(
                f"See why {package} does not load its library",
                *("{python.executable}", "-X", "faulthandler", "-c", f"import torch, {module}"),
                look=True,
            ),
            Recipe(
                title=f"Install {package} once more, as a build for this torch",
                use_if=(f"a release of {package} names this torch",),
                steps=(
                    Action(
                        install=(package,),
                        options=(Option.REINSTALL, Option.HOLD_TORCH),
                    ),
                ),
            ),
        ),
        name="operator-not-registered",
        exact=False,
    )


def _of_program(event: Event, space: str, name: str) -> Explanation:
    return explanation(
        event,
        f"No library that is loaded registers torch.ops.{space}.{name}",
        f"torch knows an operator after a shared library, or TORCH_LIBRARY in it, has registered "
        f"it. The one with the namespace {space} is not imported before this line, or was built "
        f"without {name}.",
        (
            code(
                "Load the library before the first call",
                "the program, above the call",
                f'torch.ops.load_library("lib{space}.so")',
                use_if=("the operator is in a library of the program's own",),
                note="The name is that of the file which the build of the library wrote.",
            ),
            command(
                "Build it anew, in the environment that runs the program",
                *("{python.executable}", "-m", "pip", "install", "--no-build-isolation", "."),
                use_if=("the sources are in the current folder",),
            ),
        ),
        name="operator-not-registered",
        exact=False,
    )
