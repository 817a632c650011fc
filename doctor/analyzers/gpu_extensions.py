"""Name the extension of torch whose call found no code for the GPU, and build it again."""

from __future__ import annotations

import re

from doctor.analyzers.case import Case
from doctor.model.events import Event
from doctor.model.issues import Action, Option, Recipe

_EXTENSIONS = {
    "fvdb": "fvdb",
    "tcnn": "tinycudann",
    "tinycudann": "tinycudann",
    "MinkowskiEngine": "MinkowskiEngine",
    "ME": "MinkowskiEngine",
    "spconv": "spconv",
    "nvdiffrast": "nvdiffrast",
    "torch_scatter": "torch_scatter",
    "torch_sparse": "torch_sparse",
    "torch_cluster": "torch_cluster",
    "pytorch3d": "pytorch3d",
    "kaolin": "kaolin",
    "pointnet2_utils": "pointnet2",
}
"""Names under which programs call extensions of torch, and the packages."""
_CALL = re.compile(r"(?:^|[\s=(,\[])(\w{2,40})\.(?:\w{1,40}\.){0,3}\w{1,60}\(")
_MOST = 300


def called_extension(case: Case, event: Event) -> str:
    """Return the extension that the statement above the error calls, or an empty text.

    The last line of a traceback before the error is the statement that failed.
    """
    above = [line for line in case.log.lines[max(0, event.at - 3) : event.at] if line.strip(" ^~")]
    if not above or not above[-1].startswith(" "):
        return ""
    called = _CALL.findall(above[-1][:_MOST])
    return next((_EXTENSIONS[name] for name in called if name in _EXTENSIONS), "")


def rebuild(package: str, capability: str) -> Recipe:
    """Return how an extension is built again for a compute capability."""
    asks = {} if capability[0] != "<" else {"capability": "the GPU's, such as 8.0 for A100"}
    return Recipe(
        title=f"Build {package} again for this GPU, in the folder of its sources",
        note="Or take its build for this GPU and this torch, where its project offers one.",
        steps=(
            Action(
                install=(".",),
                options=(
                    *(Option.REINSTALL, Option.NO_DEPS),
                    *(Option.NO_BUILD_ISOLATION, Option.NO_CACHE),
                ),
                env={"TORCH_CUDA_ARCH_LIST": capability},
            ),
        ),
        ask=asks,
    )
