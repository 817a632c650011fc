"""A doctor for the GPU stack of another interpreter or Cargo workspace."""

from __future__ import annotations

TYPE_CHECKING = (
    False  # importing `typing` costs more than the rest, and PYTHONPATH may hold another one
)
if TYPE_CHECKING:
    from typing import Any

    from doctor.api import check, diagnose, diff, fix, to_json
    from doctor.base.errors import DoctorError, UsageError
    from doctor.model.report import Report

__all__ = [
    "DoctorError",
    "Report",
    "UsageError",
    "__version__",
    "check",
    "diagnose",
    "diff",
    "fix",
    "to_json",
]

__version__ = "0.1.0"

_HOMES = {
    **dict.fromkeys(("check", "diagnose", "diff", "fix", "to_json"), "doctor.api"),
    **dict.fromkeys(("DoctorError", "UsageError"), "doctor.base.errors"),
    "Report": "doctor.model.report",
}


def __getattr__(name: str) -> Any:
    """Import what is asked for when it is asked for.

    `import doctor` alone costs next to nothing.
    """
    if name not in _HOMES:
        raise AttributeError(f"module 'doctor' has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(_HOMES[name]), name)
