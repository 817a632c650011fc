"""Names that people type, and names that other tools took."""

from __future__ import annotations

import sys
from pathlib import Path

from doctor.base.suggestions import suggest
from doctor.cli.console import say
from doctor.host import read_regular
from doctor.host.which import which

__all__ = ["called", "shadow", "suggest", "warn_of_shadow"]

_UV_CACHE = "archive-v0"
"""The folder of uv's cache in which `uvx` makes its environments."""
_START = 64 << 10
"""Bytes of a script in which it imports what it starts."""


def called() -> tuple[str, ...]:
    """Return the words that start this doctor here.

    Its name, where PATH leads to this one; `uvx canary-doctor`, `pipx run canary-doctor`,
    `python -m doctor` for starts that leave no command; else its path.
    """
    started = sys.orig_argv
    if "-m" in started[1:] and "doctor" in started[started.index("-m") :][1:2]:
        return (started[0], "-m", "doctor")
    path = Path(sys.argv[0])
    parts = path.resolve().parts
    if _UV_CACHE in parts:
        return ("uvx", "canary-doctor")
    if "pipx" in parts and ".cache" in parts:
        return ("pipx", "run", "canary-doctor")
    for name in ("doctor", "canary-doctor"):
        found = which(name)
        if found and Path(found).parent.resolve() == path.parent.resolve():
            return (name,)
    return (sys.argv[0],) if path.is_file() else ("canary-doctor",)


def shadow() -> str | None:
    """Return the path of another tool's `doctor` that comes before ours on PATH.

    None where `doctor` is ours, or nobody's.
    """
    first = which("doctor")
    if (
        first is None
        or Path(first).parent.resolve()
        == (Path(sys.prefix) / ("Scripts" if sys.platform == "win32" else "bin")).resolve()
    ):
        return None
    start = read_regular(first, _START)
    return None if start is None or b"canary_doctor" in start or b"doctor.cli" in start else first


def warn_of_shadow() -> None:
    """Say that `doctor` is another tool on this PATH, where it is."""
    if (other := shadow()) is not None:
        say(f"doctor: on this PATH `doctor` is another tool, {other}; call this one canary-doctor")
