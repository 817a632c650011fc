"""Names that people type, and names that other tools took."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from doctor.base.suggestions import suggest
from doctor.host import read_regular

__all__ = ["shadow", "suggest"]

_START = 64 << 10
"""Bytes of a script in which it imports what it starts."""


def shadow() -> str | None:
    """Return the path of another tool's `doctor` that comes before ours on PATH.

    None where `doctor` is ours, or nobody's.
    """
    first = shutil.which("doctor")
    if (
        first is None
        or Path(first).parent.resolve()
        == (Path(sys.prefix) / ("Scripts" if sys.platform == "win32" else "bin")).resolve()
    ):
        return None
    start = read_regular(first, _START)
    return None if start is None or b"canary_doctor" in start or b"doctor.cli" in start else first
