"""Lines of a log that quote source code, and report nothing.

A here-document writes a file (POSIX.1-2017, Shell Command Language, 2.7.4). `cat` and `grep` show
one. rustc quotes the lines that it warns about.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

_PROMPT = re.compile(
    r"(?:\([\w.-]{1,40}\) ?)?(?:[\w.-]{1,40}@[\w.-]{1,60}[: ]\S{0,200}?[$#]|\$|>) (?=\S)"
)
_HERE = re.compile(
    r"\b(?:cat|tee)\b[^<\n]{0,300}<<-?\s?(?P<mark>['\"]?)(?P<end>[A-Za-z_]\w{0,40})(?P=mark)"
)
_SOURCE = r"(?:py|pyx|rs|cu|cuh|cc?|cpp|cxx|hh?|hpp|m|mm|metal|js|ts|go|java|sh|md|ya?ml|toml)"
_SHOWS = re.compile(rf"(?:cat|head|tail|less|more|bat|sed|nl)\b.{{0,300}}\.{_SOURCE}(?:$|[\s|;])")
_SEARCHES = re.compile(r"(?:git grep|[ef]?grep|rg|ag|ack)\s")
_FOUND = re.compile(rf"(?:[\w./@~^-]{{1,200}}:)?[\w./+-]{{1,300}}\.{_SOURCE}[:-]\d{{1,7}}[:-]")
_WARNED = re.compile(r"warning(?:\[|:)")
_PLACE = re.compile(r"\s{0,12}(?:-->|:::) \S{1,300}:\d{1,7}:\d{1,7}$")
_QUOTED = re.compile(r"\s{0,8}(?:\d{1,7}|\.{3})? {0,4}\|")
_LONGEST = 400
_MOST = 2000
"""Lines of one file that are left out."""


def without_quotations(lines: Sequence[str]) -> tuple[str, ...]:
    """Return lines with those emptied that quote source code; their number stays."""
    quoted = {at for found in (_files, _found, _warned) for at in found(lines)}
    if not quoted:
        return tuple(lines)
    return tuple("" if at in quoted else line for at, line in enumerate(lines))


def _files(lines: Sequence[str]) -> Iterator[int]:
    """Yield the lines of files that a command writes or shows, where its end is seen."""
    last = 0
    for at, line in enumerate(lines):
        if at < last:
            continue
        end = None
        if "<<" in line and (here := _HERE.search(line[:_LONGEST])):
            end = next((row for row in _below(lines, at) if lines[row].strip() == here["end"]), 0)
        elif (prompt := _PROMPT.match(line[:_LONGEST])) and _SHOWS.match(
            line[prompt.end() : _LONGEST]
        ):
            end = next((row for row in _below(lines, at) if _PROMPT.match(lines[row][:300])), 0)
        if end:
            yield from range(at + 1, end)
            last = end


def _below(lines: Sequence[str], at: int) -> range:
    return range(at + 1, min(at + _MOST, len(lines)))


def _found(lines: Sequence[str]) -> Iterator[int]:
    """Yield the commands that search sources, and the lines that they find."""
    searching = False
    for at, line in enumerate(lines):
        if prompt := _PROMPT.match(line[:_LONGEST]):
            searching = _SEARCHES.match(line[prompt.end() : _LONGEST]) is not None
            if searching:
                yield at
        elif searching and _FOUND.match(line[:_LONGEST]):
            yield at


def _warned(lines: Sequence[str]) -> Iterator[int]:
    """Yield the lines of source that rustc quotes below a warning."""
    for at, line in enumerate(lines):
        if "--> " not in line or not at or not _PLACE.match(line[:_LONGEST]):
            continue
        if not _WARNED.match(lines[at - 1].lstrip()):
            continue
        for row in range(at + 1, min(at + 60, len(lines))):
            if not _QUOTED.match(lines[row][:20]):
                break
            yield row
