"""Find the tracebacks of Python in a log: where they begin and end, and how they hang together."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from doctor.events.normal import NormalLine, normal

HEADER = "traceback (most recent call last)"
CAUSE = "direct cause of the following exception"
HANDLING = "another exception occurred"
_LONGEST = 3000
"""Lines of one traceback, those of other processes between them included."""
_MOST = 400
"""Tracebacks of one log that are read: the first and the last of them."""
_MESSAGE = 12
"""Lines that the message of an exception goes on after its first one, at most."""
_APART = 6
"""Lines between two tracebacks of one chain."""
_ENDING = re.compile(r"[A-Za-z_][\w.]{1,200}(?:\[[\w., ]{1,80}\])?(?::|$)")
_FRAME = re.compile(r"File \"|File <|Cell In|\[Previous line repeated|\^|~|\.\.\. \d{1,6} more|-->")


class Traceback(NamedTuple):
    """One traceback: the indices of its first line, its exception and its last line.

    `chain` tells how it follows from the one above: "cause" or "handling", else empty.
    """

    start: int
    exception: int
    end: int
    process: str
    chain: str


def tracebacks(lines: Sequence[str], starts: Sequence[int]) -> list[Traceback]:
    """Return the tracebacks whose headers stand in lines, folded already, at some indices."""
    chosen = [*starts[: _MOST // 2], *starts[max(_MOST // 2, len(starts) - _MOST // 2) :]]
    found: list[Traceback] = []
    for start in chosen:
        if (one := _traceback(lines, start, _chain(lines, start, found))) is not None:
            found.append(one)
    return found


def _traceback(lines: Sequence[str], start: int, chain: str) -> Traceback | None:
    header = normal(lines[start])
    indent = _indent(header.text)
    boxed = "\u2500" in lines[start]
    numbered = header.text.lstrip()[:1] not in ("T", "t")
    exception = None
    at = start + 1
    for at in range(start + 1, min(len(lines), start + _LONGEST)):
        line = normal(lines[at])
        if line.process != header.process:
            if not line.process and not header.process:
                break
            continue
        text = line.text.rstrip()
        if HEADER in text.lower():
            break
        if boxed and not text.lstrip().startswith(("\u2570", "\u256f")):
            continue
        boxed = False
        if not text or _indent(text) > indent or _FRAME.match(text.strip()):
            continue
        # A frame of IPython has no File, and stands as far left as the exception.
        if _ENDING.match(text.strip()) and not (numbered and " in " in text[:200]):
            exception = at
            break
        if not numbered and text.strip()[:1].isalpha():
            break
    if exception is None:
        return None
    return Traceback(start, exception, _end(lines, exception, header), header.process, chain)


def _end(lines: Sequence[str], exception: int, header: NormalLine) -> int:
    """Return the index of the last line of the message of an exception."""
    end = exception
    for at in range(exception + 1, min(len(lines), exception + 1 + _MESSAGE)):
        line = normal(lines[at])
        if line.process != header.process:
            continue
        text = line.text.lower()
        if not text.strip() or HEADER in text or CAUSE in text or HANDLING in text:
            break
        end = at
    return end


def _chain(lines: Sequence[str], start: int, found: Sequence[Traceback]) -> str:
    """Return how a traceback follows from the one above it."""
    first = max(found[-1].exception if found else 0, start - _APART)
    between = "\n".join(lines[first:start]).lower()
    return "cause" if CAUSE in between else "handling" if HANDLING in between else ""


def _indent(text: str) -> int:
    return len(text) - len(text.lstrip())
