"""Find where a script hung or crashed: the innermost frame, the native library, what it printed.

faulthandler prints the stacks, before the time limit and on fatal signals
(https://docs.python.org/3/library/faulthandler.html).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from doctor.base.bundled import bundled

_START = re.compile(r"^(?:Timeout \(|Fatal Python error|Windows fatal exception)", re.MULTILINE)
_BLOCK, _FIRST = ("Current thread 0x", "Thread 0x"), "(most recent call first):"
_FRAME = re.compile(r'^  File "([^"\n]{1,500})", line (\d{1,7}) in ([^\n]{1,200})$')
_BINARY = re.compile(r'^  Binary file "([^"\n]{1,500})"')
_LEFT_OUT = re.compile(r"(\d{1,20}) bytes left out")
_NOT_TELLING = re.compile(
    r"(?:^|/)(?:libc|libpthread|ld-linux|libpython|python)[\d.-]{0,20}(?:[a-z][\w.-]{0,40})?$"
)
"""Libraries through which every signal passes."""
_LONGEST = 40_000
_MUCH = 1 << 20


def place(log: str) -> str:
    """Say where a script was when faulthandler printed its stack; empty if it did not.

    `in torch/__init__.py:2 (<module>)`, then the native library of a crash where Python 3.14 or
    newer names it.
    """
    dumps = list(_START.finditer(log))
    if not dumps:
        return ""
    dump = log[dumps[-1].start() :][:_LONGEST]
    frame = next(_frames(dump), "")
    library = _library(dump)
    return ", ".join(filter(None, (f"in {frame}" if frame else "", library)))


def printed(log: str) -> str:
    """Say how much a script printed, if that is more than anybody reads."""
    found = _LEFT_OUT.search(log)
    size = int(found[1]) if found else 0
    if size < _MUCH:
        return ""
    return f"it printed {size / 1e9:.0f} GB" if size >= 1e9 else f"it printed {size / 1e6:.0f} MB"


def _frames(dump: str) -> Iterator[str]:
    """Yield the frames of the thread in question that are not doctor's, the innermost first."""
    blocks = _blocks(dump)
    current = [block for head, block in blocks if head.startswith("Current")]
    # Before the time limit all threads are printed, and the main one is the last.
    for line in current[0] if current else blocks[-1][1] if blocks else []:
        frame = _FRAME.match(line)
        if frame and not frame[1].startswith("<") and not frame[1].startswith(str(_CHECKS)):
            yield f"{_short(frame[1])}:{frame[2]} ({frame[3]})"


def _blocks(dump: str) -> list[tuple[str, list[str]]]:
    blocks: list[tuple[str, list[str]]] = []
    for line in dump.splitlines():
        if line.startswith(_BLOCK) and line.endswith(_FIRST):
            blocks.append((line, []))
        elif blocks and line.startswith("  File "):
            blocks[-1][1].append(line)
    return blocks


def _short(path: str) -> str:
    """Return the path of a file within the folder of packages, or the whole path."""
    flat = path.replace("\\", "/")
    for folder in ("/site-packages/", "/dist-packages/"):
        if folder in flat:
            return flat.rpartition(folder)[2]
    return path


def _library(dump: str) -> str:
    for line in dump.splitlines():
        found = _BINARY.match(line)
        if found and not _NOT_TELLING.search(found[1].replace("\\", "/")):
            return f"in the library {_short(found[1])}"
    return ""


_CHECKS = bundled("checks")
