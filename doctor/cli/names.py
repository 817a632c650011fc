"""Names that people type, and names that other tools took."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterable
from pathlib import Path


def near(word: str, known: Iterable[str], otherwise: str = "; doctor list shows them") -> str:
    """Return the end of a sentence that names the id most like a mistyped one, or says where they are to be found."""
    from difflib import get_close_matches

    close = get_close_matches(word, list(known), n=1)
    return f"; did you mean {close[0]}?" if close else otherwise


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
