"""Private keys of many lines, in PEM (RFC 7468) and its kin; also where their line ends are escaped, or where the log cuts them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from doctor.scrub.pattern import Pattern
from doctor.scrub.values import Span

_BEGIN = Pattern(r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|Private-Lines: \d{1,3}")
_END = Pattern(r"-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|Private-MAC:")
_LONGEST = 16 << 10
_LINE = Pattern(r"""[^\n]{0,120}?(?:[A-Za-z0-9+/=]{16,}|: |Proc-Type|DEK-Info)[^\n]{0,120}$|\s{0,40}$""", re.MULTILINE)
_RUN = Pattern(r"""(?:(?:\\{1,3}[nr]|[ \t"']){0,4}[A-Za-z0-9+/=]{8,})*""")
_BODY = Pattern(r"[^\n]{0,80}?[A-Za-z0-9+/]{20,76}={0,2}[^\n]{0,4}\n")


def private(text: str, places: Sequence[Span]) -> Iterator[Span]:
    """Yield the bodies of private keys, whose `-----BEGIN`, or `-----END` where the log begins within one, stands at `places`."""
    done = 0
    for place, _ in places:
        if place < done:
            continue
        if (begin := _BEGIN.match(text, place)) is not None:
            end = _end(text, begin.end())
            done = end.start() if end else _end_of_body(text, begin.end())
            yield begin.end(), done
        elif (end := _END.match(text, place)) is not None:
            yield _start_of_body(text, place, done), place


def _end(text: str, start: int) -> re.Match[str] | None:
    for mark in ("-----END", "Private-MAC:"):
        if (place := text.find(mark, start, start + _LONGEST)) >= 0:
            return _END.match(text, place)
    return None


def _end_of_body(text: str, start: int) -> int:
    """Return where what looks like the lines of a key ends: nobody says so, for the log was cut."""
    line = _RUN.match(text, start)
    end = line.end() if line else start
    while (following := text.find("\n", end)) >= 0 and following - end < 8 and (body := _LINE.match(text, following + 1)) is not None:
        if body.end() == following or end - start > _LONGEST:
            break
        end = body.end()
    return end


def _start_of_body(text: str, end: int, least: int) -> int:
    """Return where the lines of a key begin that end at a place: the log, or its kept part, begins within it."""
    start = text.rfind("\n", least, end) + 1 or least
    for _ in range(_LONGEST // 64):
        before = text.rfind("\n", least, max(start - 1, least)) + 1 or least
        if before >= start or not _BODY.match(text[before:start]):
            break
        start = before
    return start
