"""The roles of checks by their ids.

An outcome in a snapshot or a report names its check by id and has no header. Whoever judges it asks
here for the role, and knows no check by name. The headers of the checks say the same.
"""

from __future__ import annotations

from enum import Enum


class Role(Enum):
    """What doctor asks of a check beyond its verdict.

    The check that proves torch imports it and proves each device alive. It runs before everything
    that needs torch, and the devices that answered are the devices of all later checks.
    """

    NONE = ""
    PROVES_TORCH = "proves-torch"
    PROVES_JAX = "proves-jax"
    PROVES_ONNXRUNTIME = "proves-onnxruntime"
    LOADS_EXTENSIONS = "loads-extensions"
    IMPORTS_PACKAGES = "imports-packages"
    RUNS_CANDLE = "runs-candle"


CHECKS: dict[Role, tuple[str, ...]] = {
    Role.PROVES_TORCH: ("torch-runtime",),
    Role.PROVES_JAX: ("jax-devices",),
    Role.PROVES_ONNXRUNTIME: ("onnxruntime-devices",),
    Role.LOADS_EXTENSIONS: ("extension-imports",),
    Role.IMPORTS_PACKAGES: ("module-imports",),
    Role.RUNS_CANDLE: (
        "candle-cross-device-add",
        "candle-flash-attn-build",
        "candle-noncontiguous-matmul",
    ),
}


def has_role(check: str, role: Role) -> bool:
    """Say whether the check of an id has a role."""
    return check in CHECKS[role]


def check_of(role: Role) -> str:
    """Return the id of the first check with a role."""
    return CHECKS[role][0]
