"""Join the lines that Windows PowerShell 5 wraps at the width of its window.

It shows what a program writes to standard error as a record of its own, in which `At line:` and
`+ CategoryInfo` follow the text (about_Redirection, NativeCommandError).
"""

from __future__ import annotations

import re
from collections.abc import Sequence

_PLACE = re.compile(r"At (?:line:\d|[A-Za-z]:\\)")
_RECORD = "+ CategoryInfo"
_NARROW = 70
"""Columns below which a line of an error is wrapped several times."""
_MOST = 60
"""Lines of one text."""


def unwrapped(lines: Sequence[str]) -> tuple[str, ...]:
    """Return lines with each wrapped text joined in its first one; their number stays."""
    joined = list(lines)
    for at, line in enumerate(lines):
        if _RECORD in line:
            _join_record(joined, at)
    return tuple(joined)


def _join_record(lines: list[str], category: int) -> None:
    place = next(
        (at for at in range(category, max(category - _MOST, -1), -1) if _PLACE.match(lines[at])), -1
    )
    if place < 1:
        return
    width = max(len(lines[at]) for at in range(place, category))
    if width >= _NARROW:
        return
    first = place - 1
    while first > max(place - _MOST, 0) and 0 < len(lines[first - 1]) <= width:
        first -= 1
    _join(lines, first, place)
    below = next((at for at in range(category, len(lines)) if not lines[at].strip()), -1)
    start = below + 1
    if below < 0 or below - category > _MOST:
        return
    end = start
    while end < min(start + _MOST, len(lines)) and 0 < len(lines[end]) <= width:
        end += 1
    if end > start + 2:
        _join(lines, start, end)


def _join(lines: list[str], first: int, end: int) -> None:
    """Join a text; a blank at the end of a line stands where it was wrapped between words."""
    part = lines[first:end]
    blank = "" if any(one.endswith(" ") for one in part) else " "
    lines[first:end] = [blank.join(part), *("" for _ in part[1:])]
