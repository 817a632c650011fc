"""Read what the lists of a project ask for, and where they let packages come from.

These are the lists of the working folder, those beside the program, and those that PIP_CONSTRAINT
and its like name. A line that nobody can read is passed over: the others still count.
https://pip.pypa.io/en/stable/reference/requirements-file-format/
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from packaging.utils import InvalidWheelFilename, parse_wheel_filename

from doctor.base.requirements import (
    InvalidRequirement,
    applies,
    normalize_name,
    read_line,
)
from doctor.host import UnreadableFile
from doctor.host.reading import SOURCE, read_regular
from doctor.observe.manifests import kind_of
from doctor.observe.manifests.specifiers import MAIN_TABLES, specifier_in

_OF_OTHERS = re.compile(
    r"(?:^|[^a-z])(?:dev|tests?|testing|lint|docs?|ci|build|baselines?|examples?|legacy|old"
    r"|tools?|typing|bench(?:mark)?s?|optional|extras?)(?:[^a-z]|$)"
)
_OPTION = re.compile(
    r"(?:-(?P<short>[rcf])[ =]{0,4}|--(?P<long>requirement|constraint|find-links)[ =]{1,4})"
    r"[\"']?(?P<value>[^\s\"']{1,1000})"
)
_SKIPPED = re.compile(r"#|$|-")
_TABLES = (*MAIN_TABLES, "tool.uv/constraint-dependencies", "tool.uv/override-dependencies")
_CONSTRAINTS = ("PIP_CONSTRAINT", "UV_CONSTRAINT", "UV_OVERRIDE")
_LISTS, _TABLED = (".txt", ".in"), ("pyproject.toml", "setup.cfg", "Pipfile")
_BESIDE = ("requirements", "docs", "doc", "tests", "test")
"""Folders of a project with lists; one whose name speaks of something else does not lead."""
_DEPTH, _MOST_LINES, _MOST_FILES, _MOST_NAMES = 5, 2000, 12, 20_000


class Bound(NamedTuple):
    """What a line asks of a package: a specifier, and where it stands; `leads`: it decides.

    `forced`: a variable names the list, so that installers refuse everything else.
    """

    name: str
    specifier: str
    source: str
    leads: bool
    forced: bool = False


class Lists(NamedTuple):
    """What the lists of a project ask for, and the folders and pages of wheels that they name."""

    bounds: tuple[Bound, ...]
    links: tuple[str, ...]


def lists_of(
    folders: Iterable[Path], env: Mapping[str, str], markers: Mapping[str, str] | None
) -> Lists:
    """Read the lists of folders, and those that variables name; the folders' own come first.

    A line counts whose marker holds by `markers`; where these are not known, every line.
    """
    reader = _Reader(markers)
    for folder in folders:
        for path in _files(folder):
            shown = os.path.relpath(path, folder).replace(os.sep, "/")
            leads = not _OF_OTHERS.search(shown.lower())
            reader.file(path, shown, leads=leads)
    reader.forced = True
    for name in _CONSTRAINTS:
        for word in env.get(name, "").split():
            reader.file(Path(word), f"{word} (in {name})", leads=True)
    return Lists(tuple(reader.bounds), tuple(dict.fromkeys(reader.links)))


def _files(folder: Path) -> Iterator[Path]:
    found = []
    for place in (folder, *(folder / name for name in _BESIDE)):
        with suppress(OSError):
            paths = sorted(place.iterdir())[:_MOST_NAMES]
            found += [path for path in paths if _is_list(place.name, path.name)]
    yield from [path for path in found if path.is_file()][:_MOST_FILES]


def _is_list(folder: str, name: str) -> bool:
    listed = name.endswith((*_LISTS, ".yml", ".yaml")) or name in _TABLED
    return listed and kind_of(folder, name) is not None


class _Reader:
    """Reads lists, each once."""

    def __init__(self, markers: Mapping[str, str] | None) -> None:
        self._markers = markers
        self.bounds = list[Bound]()
        self.links = list[str]()
        self.forced = False
        self._known = set[tuple[Path, bool, bool]]()

    def file(self, path: Path, shown: str, *, leads: bool, depth: int = _DEPTH) -> None:
        """Read a list and what it includes."""
        text = ""
        with suppress(UnreadableFile, OSError, ValueError):
            text = (read_regular(path, SOURCE) or b"").decode("utf-8", "replace")
        key = (path.absolute(), leads, self.forced)
        if not text or not depth or key in self._known:
            return
        self._known.add(key)
        if path.name.endswith(_LISTS):
            self._requirements(text, path, shown, leads=leads, depth=depth)
        else:
            self._tabled(text, path, shown, leads=leads)

    def _requirements(self, text: str, path: Path, shown: str, *, leads: bool, depth: int) -> None:
        joined = text.removeprefix("\ufeff").replace("\\\n", " ")
        for number, line in enumerate(joined.split("\n")[:_MOST_LINES], 1):
            bare = line.split(" #")[0].split(" --hash")[0].strip()
            source = f"{shown}:{number}"
            if option := _OPTION.match(bare):
                value = option["value"]
                if (option["short"] or option["long"][0]) == "f":
                    self.links.append(_place(value, path))
                else:
                    other = path.parent / value
                    inner = os.path.join(os.path.dirname(shown), value)  # noqa: PTH118, PTH120
                    self.file(other, inner, leads=leads, depth=depth - 1)
            elif not _SKIPPED.match(bare):
                self._line(bare, path, source, leads=leads)

    def _line(self, bare: str, path: Path, source: str, *, leads: bool) -> None:
        if (wheel := _wheel(bare)) is not None:
            place = _place(wheel, path)
            with suppress(InvalidWheelFilename):
                name, version, *_ = parse_wheel_filename(Path(place).name)
                self._add(name, f"=={version}", source, leads=leads)
                self.links.append(str(Path(place).parent))
            return
        with suppress(InvalidRequirement):
            line = read_line(bare)
            if self._markers is None or applies(line.marker, self._markers):
                self._add(line.name, line.specifier, source, leads=leads)

    def _add(self, name: str, specifier: str, source: str, *, leads: bool) -> None:
        bound = Bound(normalize_name(name), specifier, source, leads, self.forced)
        self.bounds.append(bound)

    def _tabled(self, text: str, path: Path, shown: str, *, leads: bool) -> None:
        kind = kind_of(path.parent.name, path.name)
        for pin in kind.read(text) if kind is not None else ():
            specifier = specifier_in(text, pin)
            first = leads and (not pin.table or pin.table in _TABLES)
            source = f"{shown}:{pin.line}"
            self._add(pin.name, specifier, source, leads=first)


def _wheel(bare: str) -> str | None:
    """Return the path of a wheel that a line names, `./a.whl` or `a @ file:///b/a.whl`."""
    words = bare.partition(";")[0].split()
    place = words[-1] if words and (len(words) == 1 or words[-2:-1] == ["@"]) else ""
    address = urlsplit(place)
    if address.scheme == "file":
        place = unquote(address.path)
    elif "://" in place:
        return None
    return place if place.partition("#")[0].endswith(".whl") else None


def _place(value: str, path: Path) -> str:
    """Return a folder or page of wheels; what lies beside the list goes by its whole path."""
    if "://" in value and not value.startswith("file:"):
        return value
    value = unquote(urlsplit(value).path) if value.startswith("file:") else value
    beside = path.parent.absolute() / value
    return os.path.normpath(beside) if beside.exists() else value
