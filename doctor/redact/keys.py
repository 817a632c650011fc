"""Private keys of many lines, in PEM (RFC 7468) and its kin.

Also where their line ends are escaped, or where the log cuts them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from doctor.base.lazy_pattern import Pattern
from doctor.redact.values import Span

_BEGIN = Pattern(r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|Private-Lines: \d{1,3}")
_END = Pattern(r"-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|Private-MAC:")
_LONGEST = 16 << 10
_WIDEST = 200
"""Characters at the end of a line in which a line of a key is looked for."""
_LINE = Pattern(
    r"""[^\n]{0,120}?(?:[A-Za-z0-9+/=]{16,}|: |Proc-Type|DEK-Info)[^\n]{0,120}$|\s{0,40}$""",
    re.MULTILINE,
)
_RUN = Pattern(r"""(?:(?:\\{1,3}[nr]|[ \t"']){0,4}[A-Za-z0-9+/=]{8,})*""")
_BODY = Pattern(r"([A-Za-z0-9+/=]{20,200})[^\n\w]{0,4}$")


def private(text: str, places: Sequence[Span]) -> Iterator[Span]:
    """Yield the bodies of private keys, whose `-----BEGIN` or `-----END` stands at `places`.

    Only the end is there where the log begins within a key.
    """
    done = 0
    for place, _ in places:
        if place < done:
            continue
        if (begin := _BEGIN.match(text, place)) is not None:
            end = _end(text, begin.end())
            done = end.start() if end else _end_of_body(text, begin.end())
            yield begin.end(), done
        elif (end := _END.match(text, place)) is not None:
            yield from _lines_above(text, place, done)


def _end(text: str, start: int) -> re.Match[str] | None:
    for mark in ("-----END", "Private-MAC:"):
        if (place := text.find(mark, start, start + _LONGEST)) >= 0:
            return _END.match(text, place)
    return None


def _end_of_body(text: str, start: int) -> int:
    """Return where what looks like the lines of a key ends: nobody says so, for the log was cut."""
    line = _RUN.match(text, start)
    end = line.end() if line else start
    while (
        (following := text.find("\n", end)) >= 0
        and following - end < 8
        and (body := _LINE.match(text, following + 1)) is not None
    ):
        if body.end() == following or end - start > _LONGEST:
            break
        end = body.end()
    return end


def _lines_above(text: str, end: int, least: int) -> Iterator[Span]:
    """Yield the lines of a key that end at a place: the log, or its kept part, begins within it."""
    start = text.rfind("\n", least, end) + 1 or least
    for _ in range(_LONGEST // 64):
        if start <= least:
            break
        before = text.rfind("\n", least, start - 1) + 1 or least
        near = max(before, start - 1 - _WIDEST)
        if (body := _BODY.search(text[near : start - 1])) is None:
            break
        yield near + body.start(1), near + body.end(1)
        start = before
