"""Explain a Python that is older than all wheels of a distribution without sources."""

from __future__ import annotations

import msgspec
from packaging.version import Version

from doctor.analyzers import offers
from doctor.analyzers.case import Case, Explanation
from doctor.analyzers.findings import explanation
from doctor.analyzers.inventory import Inventory, is_version
from doctor.model.events import Event
from doctor.model.facts import value_of

_OLDEST, _TAKEN = "3.9", "3.12"
"""The Python below which these distributions have no wheels today, and one that all serve."""


def before_wheels(case: Case, event: Event, name: str, system: str) -> Explanation | None:
    """Explain a Python that is older than the wheels of a distribution for its system."""
    python = str(value_of(case.facts, "python.version") or Inventory(case).python() or "")
    if not is_version(python) or Version(python) >= Version(_OLDEST):
        return None
    python = ".".join(python.split(".")[:2])
    where = f" on {_SYSTEMS[system]}" if system in _SYSTEMS else ""
    windows = system == "windows"
    return explanation(
        event,
        f"{name} has no wheel for Python {python}{where}",
        f"The index answered, and offers {name} only as wheels, none of which is for this Python"
        + (
            ". Early releases had wheels for Linux and macOS alone, so that an old Python has none "
            "on Windows."
            if windows
            else f". Its wheels of today begin at Python {_OLDEST} or later."
        ),
        (
            msgspec.structs.replace(
                offers.new_environment(_TAKEN),
                note=f"Install {name} into it, with a 64-bit Python."
                + (" WSL 2 serves as well, with the wheels for Linux." if windows else ""),
            ),
        ),
        name="no-wheel-at-all",
    )


_SYSTEMS = {"windows": "Windows", "linux": "Linux", "macos": "macOS"}
