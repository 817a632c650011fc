"""An edit of a text file, and its unified diff.

The diff is what `git apply` and `patch -p1` take:
https://www.gnu.org/software/diffutils/manual/html_node/Detailed-Unified.html
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

import msgspec

_CONTEXT = 3
_ESCAPES = {"\t": "\\t", "\n": "\\n", "\r": "\\r", '"': '\\"', "\\": "\\\\"}


class Replacement(msgspec.Struct, frozen=True, order=True):
    """Put `text` in the place of `before_text[start:end]`."""

    start: int
    end: int
    text: str


class FileEdit(msgspec.Struct, frozen=True, kw_only=True):
    """One file of the project before and after, and each of its replacements in order.

    `path` starts at the root of the project, with `/` between folders.
    """

    path: str
    before_text: str
    after_text: str
    replacements: tuple[Replacement, ...] = ()


def edited(path: str, text: str, replacements: Sequence[Replacement]) -> FileEdit | None:
    """Return the edit of a file; None where nothing changes or two replacements overlap."""
    ordered = sorted({one for one in replacements if text[one.start : one.end] != one.text})
    if not ordered or any(one.end > two.start for one, two in pairwise(ordered)):
        return None
    parts, end = [], 0
    for one in ordered:
        parts += [text[end : one.start], one.text]
        end = one.end
    after = "".join((*parts, text[end:]))
    return FileEdit(path=path, before_text=text, after_text=after, replacements=tuple(ordered))


def unified_diff(files: Sequence[FileEdit]) -> str:
    """Return the edits of files as one unified diff; lines end as they do in the files."""
    return "".join(line for file in files for line in _of_file(file))


def _of_file(file: FileEdit) -> Iterator[str]:
    yield f"--- {_name('a', file.path)}\n"
    yield f"+++ {_name('b', file.path)}\n"
    lines, shift = _lines(file.before_text), 0
    for group in _hunks(file, lines):
        yield from _hunk(group, lines, shift)
        shift += sum(len(new) - (last - first) for first, last, new in group)


def _name(side: str, path: str) -> str:
    """Return a name as git writes it: quoted with control characters, ended with blanks in it."""
    name = f"{side}/{path}"
    if any(letter in _ESCAPES or letter < " " or letter == "\x7f" for letter in name):
        inside = "".join(
            _ESCAPES.get(letter)
            or (f"\\{ord(letter):03o}" if letter < " " or letter == "\x7f" else letter)
            for letter in name
        )
        return f'"{inside}"'
    return f"{name}\t" if " " in name else name


def _lines(text: str) -> list[str]:
    """Split at line feeds alone, as git and patch do."""
    parts = text.split("\n")
    return [f"{part}\n" for part in parts[:-1]] + ([parts[-1]] if parts[-1] else [])


_Change = tuple[int, int, list[str]]
"""The lines from the first to before the last, from 0, and what comes in their place."""


def _changes(file: FileEdit, lines: Sequence[str]) -> Iterator[_Change]:
    """Yield which lines change; replacements that share a line are one change."""
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    number, waiting = 0, list(file.replacements)[::-1]
    while waiting:
        one = waiting.pop()
        while starts[number + 1] <= one.start and number + 1 < len(lines):
            number += 1
        parts = [file.before_text[starts[number] : one.start], one.text]
        last, end = number + 1, one.end
        while True:
            # Lines that follow each other change together, as diff writes them; and a line whose
            # end is removed goes on with the next one.
            while starts[last] < end:
                last += 1
            if waiting and waiting[-1].start < starts[min(last + 1, len(lines))]:
                one = waiting.pop()
                parts += [file.before_text[end : one.start], one.text]
                end = one.end
                continue
            after = "".join((*parts, file.before_text[end : starts[last]]))
            if not after or after.endswith("\n") or last == len(lines):
                break
            last += 1
        yield number, last, _lines(after)
        number = min(last, len(lines) - 1)


def _hunks(file: FileEdit, lines: Sequence[str]) -> Iterator[list[_Change]]:
    group: list[_Change] = []
    for change in _changes(file, lines):
        if group and change[0] - group[-1][1] > 2 * _CONTEXT:
            yield group
            group = []
        group.append(change)
    if group:
        yield group


def _hunk(group: Sequence[_Change], lines: Sequence[str], shift: int) -> Iterator[str]:
    first, last = max(group[0][0] - _CONTEXT, 0), min(group[-1][1] + _CONTEXT, len(lines))
    old = last - first
    new = old + sum(len(each) - (end - start) for start, end, each in group)
    yield f"@@ -{_range(first, old)} +{_range(first + shift, new)} @@\n"
    at = first
    for start, end, after in group:
        yield from (_marked(" ", line) for line in lines[at:start])
        yield from (_marked("-", line) for line in lines[start:end])
        yield from (_marked("+", line) for line in after)
        at = end
    yield from (_marked(" ", line) for line in lines[at:last])


def _range(first: int, count: int) -> str:
    return f"{first + 1 if count else first},{count}"


def _marked(sign: str, line: str) -> str:
    ending = "" if line.endswith("\n") else "\n\\ No newline at end of file\n"
    return f"{sign}{line}{ending}"
