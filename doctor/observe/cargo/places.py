"""Where a workspace's own Rust opens a Metal device."""

from __future__ import annotations

import os
import re
from collections import deque
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from doctor.host import read_regular

_SKIPPED = frozenset({"target", "tests", "benches", "node_modules", "vendor"})
_MOST_FILES, _LARGEST, _MOST_BYTES = 4000, 1 << 20, 64 << 20
_MOST_PLACES, _MOST_GIVERS = 100, 20
_OPENS = re.compile(
    r"\bDevice\s*::\s*(?:new_metal"
    r"|metal_if_available)\s*\(|\bMetalDevice\s*::\s*new\s*\(|\bcandle_examples\s*::\s*device\s*\("
)
_OPENERS = (b"new_metal", b"metal_if_available", b"MetalDevice", b"candle_examples")
"""What stands in every opening: reading Rust properly is for files that hold one of these."""
_OPAQUE = re.compile(r"""//|/\*|\bb?r(\#*)"|"|'(?:\\.[^'\n]{0,9}|[^'\\\n])'""")
_COMMENT_MARK = re.compile(r"/\*|\*/")
_STRING_MARK = re.compile(r'\\.|"', re.DOTALL)
_FUNCTION = re.compile(r"\bfn\s+(\w+)")
_RETURNS_DEVICE = re.compile(r"->[^{;]{0,200}\bDevice\b")
_EVERYWHERE = frozenset({"new", "default", "from", "main", "try_from", "build", "init"})


class _File(NamedTuple):
    name: str
    data: bytes

    @property
    def code(self) -> str:
        return _code(self.data)


class _Opening(NamedTuple):
    file: _File
    at: int
    within: str


def metal_places(root: Path, members: Iterable[Path]) -> tuple[str, ...]:
    """Return the places, `src/main.rs:12`, where programs open a Metal device.

    Tests of these members do not count.

    A function that opens a device and returns it stands for the places that call it.
    """
    files = list(_sources(root, members))
    found = (
        (file, match.start())
        for file in _holding(_OPENERS, files)
        for match in _OPENS.finditer(file.code)
    )
    openings = [
        _Opening(file, at, _giver(file.code, at)) for file, at in islice(found, _MOST_PLACES)
    ]
    givers = sorted({opening.within for opening in openings} - {""})[:_MOST_GIVERS]
    calls = {name: list(islice(_calls(name, files), _MOST_PLACES)) for name in givers}
    places = [(opening.file, opening.at) for opening in openings if not calls.get(opening.within)]
    places += [place for called in calls.values() for place in called]
    return tuple(
        f"{name}:{line}"
        for name, line in sorted(
            {(file.name, file.code.count("\n", 0, at) + 1) for file, at in places}
        )
    )


def _sources(root: Path, members: Iterable[Path]) -> Iterator[_File]:
    """Yield the members' Rust files, bounded in number and in bytes."""
    left = _MOST_BYTES
    for path in dict.fromkeys(path for member in members for path in _rust_files(member)):
        data = read_regular(Path(path), _LARGEST) or b""
        left -= len(data)
        if left < 0:
            return
        yield _File(os.path.relpath(path, root), data)


def _holding(words: Iterable[bytes], files: Iterable[_File]) -> Iterator[_File]:
    wanted = tuple(words)
    return (file for file in files if any(word in file.data for word in wanted))


@lru_cache(maxsize=64)
def _code(data: bytes) -> str:
    return blank_comments(data.decode("utf-8", "replace"))


def _rust_files(folder: Path) -> Iterator[str]:
    count, root = 0, str(folder)
    for where, folders, names in os.walk(root):
        inside = where != root and "Cargo.toml" in names
        folders[:] = (
            []
            if inside
            else sorted(
                name for name in folders if name not in _SKIPPED and not name.startswith(".")
            )
        )
        for name in () if inside else sorted(names):
            if name.endswith(".rs") and name != "build.rs":
                count += 1
                yield str(Path(where, name))
        if count > _MOST_FILES:
            return


def blank_comments(code: str) -> str:
    """Blank out comments, strings and characters of Rust code, keeping its lines.

    Each character is looked at a bounded number of times.
    """
    parts, at = [], 0
    while found := _OPAQUE.search(code, at):
        end = _end(code, found)
        parts += [code[at : found.start()], "\n" * code.count("\n", found.start(), end)]
        at = end
    return "".join((*parts, code[at:]))


def _end(code: str, found: re.Match[str]) -> int:
    match found[0]:
        case "//":
            end = code.find("\n", found.end())
        case "/*":
            end = _end_of_comment(code, found.end())
        case '"':
            end = _end_of_string(code, found.end())
        case token if token.endswith('"'):
            mark = '"' + found[1]
            end = code.find(mark, found.end())
            end = end + len(mark) if end >= 0 else end
        case _:
            end = found.end()
    return end if end >= 0 else len(code)


def _end_of_comment(code: str, at: int) -> int:
    depth = 1
    for found in _COMMENT_MARK.finditer(code, at):
        depth += 1 if found[0] == "/*" else -1
        if depth == 0:
            return found.end()
    return -1


def _end_of_string(code: str, at: int) -> int:
    for found in _STRING_MARK.finditer(code, at):
        if found[0] == '"':
            return found.end()
    return -1


def _giver(code: str, at: int) -> str:
    """Return the function around a place, if it returns a device and has a unique name."""
    found = next(iter(deque(_FUNCTION.finditer(code, max(0, at - 20_000), at), maxlen=1)), None)
    if found is None or found[1] in _EVERYWHERE:
        return ""
    head, opened, _ = code[found.end() : at].partition("{")
    return found[1] if opened and _RETURNS_DEVICE.search(head) else ""


def _calls(name: str, files: Iterable[_File]) -> Iterator[tuple[_File, int]]:
    call = re.compile(rf"(?<!fn )\b{name}\s*\(")
    return (
        (file, found.start())
        for file in _holding([name.encode()], files)
        for found in call.finditer(file.code)
    )
