"""Lines of a log that report nothing of its program: quoted sources, and pip's own builds.

Sources stand in here-documents, in files that a command shows, in differences and messages of git,
and in texts that are nothing but a source.

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
_HUNK = re.compile(r"@@ -\d{1,7}(?:,(\d{1,6}))? \+\d{1,7}(?:,(\d{1,6}))? @@")
"""Where a part of a unified difference begins, with how many lines it has of each file."""
_COMMITS = re.compile(r"git\b.{0,200}\b(?:commit|log|show|tag|rebase|cherry-pick|shortlog)\b")
_SUBJECT = re.compile(
    r"\[[\w./ ()-]{1,100} [0-9a-f]{7,40}\] |[* |\\/]{0,12}[0-9a-f]{7,40} |Author: |Date: |commit "
    r"| {4}"
)
"""What git prints of messages: after a commit, and in its log."""
_BARE_HEADING = re.compile(r"#{2,6} \w{1,60}$")
_STATEMENTS = (
    *("def ", "async def ", "class ", "if ", "elif ", "else", "for ", "while ", "try:", "except"),
    *("finally:", "with ", "return", "import ", "from ", "raise", "assert ", "pass", "continue"),
    *("break", "yield", "@", "#", "//", "/*", "*", "fn ", "func ", "let ", "pub ", "use ", "impl "),
    *("struct ", "enum ", "namespace ", "template", "static ", "const ", "void ", "auto "),
    *("global ", "nonlocal ", "del ", "lambda ", "'", '"', "f'", 'f"', 'r"'),
)
"""How lines of sources begin, in Python, C++, Rust and Go."""
_OPEN_ENDS = tuple("{}()[],;:\\")
_ASSIGNED = re.compile(r"[\w.]{1,80} {0,2}(?:\[|:|[-+*/|&]?= )")
_STRUCTURE = re.compile(
    r"\s{0,80}(?:(?:async )?def \w{1,80}\(|class \w{1,80}\b.{0,200}:$|return\b"
    r"|(?:el)?if .{1,300}:$|else:$|try:$|except\b.{0,200}:$|for .{1,200}:$|fn \w|func \w"
    r"|namespace \w|template ?<|[})];?$)"
)
_PRINTED = re.compile(
    r"\s{0,3}(?:Traceback \(most recent call last\)|\$ \S|>>> |(?:[\w.]{0,80}(?:Error|Exception)"
    r"|(?i:error|fatal|warning|panic))(?:\[\w{1,9}\])?: |\[?\d{4}-\d\d-\d\d|\S{1,200}:\d{1,6}:)"
)
"""What a program prints, and no source holds at the beginning of a line."""
_LEAST, _SHARE, _STRUCTURES = 12, 0.85, 4
"""Lines that a source has at least, the share of them that reads like code, and statements."""
_LONGEST = 400
_MOST = 2000
"""Lines of one file that are left out."""
_MISSED = 50
"""Files without an end after which no more are looked for."""


def without_quotations(lines: Sequence[str]) -> tuple[str, ...]:
    """Return lines with those emptied that report nothing; their number stays."""
    if _is_source(lines):
        return ("",) * len(lines)
    finders = (_files, _found, _warned, _filled, _differences, _messages)
    quoted = {at for found in finders for at in found(lines)}
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


def _is_source(lines: Sequence[str]) -> bool:
    """Say whether a text is nothing but a part of a source, with no line that a program printed."""
    if len(lines) > _MOST:
        return False
    written = [line[:_LONGEST].rstrip() for line in lines if line.strip()]
    if len(written) < _LEAST or any(map(_PRINTED.match, written)):
        return False
    structures = sum(_STRUCTURE.match(line) is not None for line in written)
    code = sum(map(_is_code, written))
    return structures >= _STRUCTURES and code >= _SHARE * len(written)


def _is_code(line: str) -> bool:
    text = line.strip()
    return (
        text.startswith(_STATEMENTS)
        or text.endswith(_OPEN_ENDS)
        or _ASSIGNED.match(text) is not None
    )


def _differences(lines: Sequence[str]) -> Iterator[int]:
    """Yield the lines of unified differences, as many as their headings count."""
    last = 0
    for at, line in enumerate(lines):
        if at < last or "@@ -" not in line or not (hunk := _HUNK.match(line[:_LONGEST].lstrip())):
            continue
        old, new = (int(number or 1) for number in hunk.groups())
        yield at
        last = at + 1
        while last < len(lines) and (old > 0 or new > 0):
            sign = lines[last][:1]
            if sign not in ("", " ", "+", "-", "\\"):
                break
            old -= sign in ("", " ", "-")
            new -= sign in ("", " ", "+")
            yield last
            last += 1


def _messages(lines: Sequence[str]) -> Iterator[int]:
    """Yield commands of git that hold or list messages of commits, these, and bare headings."""
    listing = False
    for at, line in enumerate(lines):
        if prompt := _PROMPT.match(line[:_LONGEST]):
            listing = _COMMITS.match(line[prompt.end() : _LONGEST]) is not None
            if listing:
                yield at
        elif (listing and _SUBJECT.match(line[:_LONGEST])) or (
            line.startswith("##") and _BARE_HEADING.match(line[:_LONGEST].rstrip())
        ):
            yield at
