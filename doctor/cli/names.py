"""Names that people type, and names that other tools took."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from doctor.near import near

__all__ = ["near", "shadow"]


def shadow() -> str | None:
    """Return the path of another tool's `doctor` that comes before ours on PATH; None where `doctor` is ours, or nobody's."""
    first = shutil.which("doctor")
    if first is None or Path(first).parent.resolve() == (Path(sys.prefix) / ("Scripts" if sys.platform == "win32" else "bin")).resolve():
        return None
    try:
        ours = b"doctor.cli" in Path(first).read_bytes()[:65536]
    except OSError:
        return None
    return None if ours else first
