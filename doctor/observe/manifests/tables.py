"""Read manifests and locks in TOML line by line.

`tomllib` does not tell on which line a name stands.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from doctor.observe.manifests.pins import CONDA, Pin, lines, pin_in

_HEADER = re.compile(r"\s*\[{1,2}([^\]]{1,200})\]")
_KEY = re.compile(
    r"""\s*(?:"([^"]{1,100})"|'([^']{1,100})'|([\w-]{1,100}))(?:\.[\w-]{1,50}){0,3}\s*=(?!=)\s*(.*)"""
)
_QUOTED = re.compile(r"""["']([^"']{1,300})["']""")
_RENAMED = re.compile(r"""\bpackage\s*=\s*["']([\w-]{1,100})["']""")
_LOOSE = re.compile(r"""["']\*["']|\{[^}]{0,500}\bworkspace\s{0,8}=\s{0,8}true|true\b|\{\s*$""")
_LOCKED = re.compile(r'name = "([\w.-]{1,100})"$')


class _Shape(NamedTuple):
    """The dependency lists of a file: tables whose keys are names, and lists in tables."""

    tables: str
    lists: str = r"(?!)"


_PYPROJECT = _Shape(
    r"tool\.poetry\.(?:group\.[\w-]{1,100}\.)?(?:dev-)?dependencies"
    r"|tool\.pixi\.(?:[\w.-]{1,100}\.)?(?:pypi-)?dependencies",
    r"project/dependencies|project\.optional-dependencies/.*|dependency-groups/.*"
    r"|tool\.pdm\.dev-dependencies/.*"
    r"|tool\.uv/(?:constraint|override|dev)-dependencies"
    r"|tool\.hatch\.envs\.[\w.-]{1,200}/(?:extra-)?dependencies",
)
_PIPFILE = _Shape(r"(?:dev-)?packages")
_PIXI = _Shape(r"(?:[\w.-]{1,100}\.)?(?:pypi-)?dependencies")
_CARGO = _Shape(r"(?:.{1,120}\.)?(?:dev-|build-)?dependencies|patch\..+")


def pyproject(text: str) -> Iterator[Pin]:
    """Yield what a pyproject.toml asks for, in any of the dialects of its tools."""
    return _asked_by(text, _PYPROJECT)


def pipfile(text: str) -> Iterator[Pin]:
    """Yield what a Pipfile asks for."""
    return _asked_by(text, _PIPFILE)


def pixi(text: str) -> Iterator[Pin]:
    """Yield what a pixi.toml asks for."""
    return (pin._replace(name=CONDA.get(pin.name, pin.name)) for pin in _asked_by(text, _PIXI))


def cargo(text: str) -> Iterator[Pin]:
    """Yield the crates that a Cargo.toml asks for, patches of them included."""
    return _asked_by(text, _CARGO)


def lock(text: str) -> Iterator[Pin]:
    """Yield the packages of a lock, each on the line of its name."""
    begun = False
    for number, line in lines(text):
        if line[:1] == "[":
            begun = line.startswith("[[package]]")
        elif begun and (found := _LOCKED.match(line)):
            begun = False
            yield Pin(found[1], number, firm=True)


def _asked_by(text: str, shape: _Shape) -> Iterator[Pin]:
    tables, lists = re.compile(shape.tables), re.compile(shape.lists)
    table, key, depth = "", "", 0
    for number, line in lines(text):
        if not depth and (header := _HEADER.match(line)):
            table = header[1].strip()
            yield from _of_header(table, number, tables)
            continue
        found = None if depth else _KEY.match(line)
        rest = found[4] if found else line
        if found:
            key = found[1] or found[2] or found[3]
            if tables.fullmatch(table):
                yield _of_key(key, rest, number)
        elif not depth:
            continue
        if lists.fullmatch(f"{table}/{key}"):
            yield from (
                pin for each in _QUOTED.findall(_code(rest)) if (pin := pin_in(each, number))
            )
        depth = max(depth + _nesting(rest), 0)


def _code(value: str) -> str:
    """Return a line without its comment; a `#` in a quoted address is part of it."""
    return "" if value.lstrip().startswith("#") else value.partition(" #")[0]


def _nesting(value: str) -> int:
    """Return how many lists begin in a line less those that end.

    Brackets within quotes are extras.
    """
    bare = _QUOTED.sub("", _code(value))
    return bare.count("[") - bare.count("]")


def _of_header(table: str, number: int, tables: re.Pattern[str]) -> Iterator[Pin]:
    """Yield the package that has a table of its own, `[dependencies.candle-core]`."""
    parent, _, name = table.rpartition(".")
    if parent and tables.fullmatch(parent):
        yield Pin(name.strip("\"' "), number, firm=True)


def _of_key(name: str, value: str, number: int) -> Pin:
    renamed = _RENAMED.search(value)
    return Pin(renamed[1] if renamed else name, number, firm=not _LOOSE.match(value))
