"""Lines of a log that report nothing of its program: quoted sources, and pip's own builds.

A here-document writes a file (POSIX.1-2017, Shell Command Language, 2.7.4). `cat` and `grep` show
one. rustc quotes the lines that it warns about. `pip -v` shows how it fills the environment in
which it builds a package, and compares that with the packages outside of it.
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
_BUILDS = re.compile(
    r"\s{0,8}(?:Running command .{0,40}|Installing )(?:build|backend) dependencies"
    r"(?!: finished)"
)
_FILLED = re.compile(
    r"\s{0,8}Installing (?:build|backend) dependencies: finished with status 'done'"
)
_OUTSIDE = re.compile(
    r"\s{1,8}(?:ERROR: pip's dependency resolver|Successfully installed "
    r"|[\w.-]{1,80} \d\S{0,40} requires .{1,300}, but you (?:have|do not))"
)
_LONGEST = 400
_MOST = 2000
"""Lines of one file that are left out."""
_MISSED = 50
"""Files without an end after which no more are looked for."""


def without_quotations(lines: Sequence[str]) -> tuple[str, ...]:
    """Return lines with those emptied that report nothing; their number stays."""
    quoted = {at for found in (_files, _found, _warned, _filled) for at in found(lines)}
    if not quoted:
        return tuple(lines)
    return tuple("" if at in quoted else line for at, line in enumerate(lines))


def _files(lines: Sequence[str]) -> Iterator[int]:
    """Yield the lines of files that a command writes or shows, where its end is seen."""
    last = missed = 0
    for at, line in enumerate(lines):
        if at < last or missed >= _MISSED:
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
        elif end == 0:
            missed += 1


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


def _filled(lines: Sequence[str]) -> Iterator[int]:
    """Yield what pip says of its build environment, where that was filled."""
    start = -1
    for at, line in enumerate(lines):
        if "dependencies" not in line:
            continue
        if start >= 0 and _FILLED.match(line[:_LONGEST]):
            yield from (row for row in range(start, at) if _OUTSIDE.match(lines[row][:_LONGEST]))
            start = -1
        elif start < 0 and _BUILDS.match(line[:_LONGEST]):
            start = at


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
