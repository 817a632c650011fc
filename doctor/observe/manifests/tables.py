"""Read manifests and locks in TOML line by line.

`tomllib` does not tell on which line a name stands.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from doctor.observe.manifests.pins import CONDA, Line, Pin, Span, Syntax, lines, pin_in

_HEADER = re.compile(r"\s*\[{1,2}([^\]]{1,200})\]")
_KEY = re.compile(
    r"""\s*(?:"([^"]{1,100})"|'([^']{1,100})'|([\w-]{1,100}))((?:\.[\w-]{1,50}){0,3})\s*=(?!=)\s*(.*)"""
)
_QUOTED = re.compile(r"""["']([^"']{1,300})["']""")
_PLAIN = re.compile(r"""["']([^"'\\]{0,300})["']""")
_IN_TABLE = re.compile(r"""[{,]\s{0,20}version\s{0,8}=\s{0,8}["']([^"'\\]{0,300})["']""")
_RENAMED = re.compile(r"""\bpackage\s*=\s*["']([\w-]{1,100})["']""")
_LOOSE = re.compile(r"""["']\*["']|\{[^}]{0,500}\bworkspace\s{0,8}=\s{0,8}true|true\b|\{\s*$""")
_LOCKED = re.compile(r'name = "([\w.-]{1,100})"$')


class _Shape(NamedTuple):
    """The dependency lists of a file: tables whose keys are names, and lists in tables."""

    tables: str
    lists: str = r"(?!)"
    syntax: Syntax = Syntax.PYTHON


# A Pipfile has PEP 440 in its values; Poetry adds `^`, `~` and a version without an operator.
_PYPROJECT = _Shape(
    r"tool\.poetry\.(?:group\.[\w-]{1,100}\.)?(?:dev-)?dependencies"
    r"|tool\.pixi\.(?:[\w.-]{1,100}\.)?(?:pypi-)?dependencies",
    r"project/dependencies|project\.optional-dependencies/.*|dependency-groups/.*"
    r"|tool\.pdm\.dev-dependencies/.*"
    r"|tool\.uv/(?:constraint|override|dev)-dependencies"
    r"|tool\.hatch\.envs\.[\w.-]{1,200}/(?:extra-)?dependencies",
    Syntax.POETRY,
)
_PIPFILE = _Shape(r"(?:dev-)?packages")
_PIXI = _Shape(r"(?:[\w.-]{1,100}\.)?(?:pypi-)?dependencies", syntax=Syntax.CONDA)
_CARGO = _Shape(r"(?:.{1,120}\.)?(?:dev-|build-)?dependencies|patch\..+", syntax=Syntax.CARGO)


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
    for number, line, _ in lines(text):
        if line[:1] == "[":
            begun = line.startswith("[[package]]")
        elif begun and (found := _LOCKED.match(line)):
            begun = False
            yield Pin(found[1], number, firm=True)


def _asked_by(text: str, shape: _Shape) -> Iterator[Pin]:
    tables, lists = re.compile(shape.tables), re.compile(shape.lists)
    reader = _Reader(tables, lists, shape.syntax)
    for line in lines(text):
        yield from reader.read(line)
    yield from reader.table_pin()


class _Reader:
    """Reads a file line by line; remembers the table, the key, and how deep in lists it is."""

    def __init__(self, tables: re.Pattern[str], lists: re.Pattern[str], syntax: Syntax) -> None:
        self._tables, self._lists, self._plain = tables, lists, syntax
        self._table, self._key, self._depth = "", "", 0
        self._pin: Pin | None = None

    def read(self, line: Line) -> Iterator[Pin]:
        """Yield the pins of the next line."""
        if not self._depth and (header := _HEADER.match(line.text)):
            yield from self.table_pin()
            self._table = header[1].strip()
            name = self._own_table()
            self._pin = Pin(name, line.number, firm=True) if name else None
            return
        found = None if self._depth else _KEY.match(line.text)
        rest, start = (found[5], line.start + found.start(5)) if found else (line.text, line.start)
        if found:
            self._key = found[1] or found[2] or found[3]
            yield from self._of_key(found[4], rest, line.number, start)
        elif not self._depth:
            return
        lists = self._lists
        if lists.fullmatch(f"{self._table}/{self._key}"):
            for each in _QUOTED.finditer(_code(rest)):
                if pin := pin_in(each[1], line.number, start + each.start(1)):
                    yield pin._replace(table=f"{self._table}/{self._key}")
        self._depth = max(self._depth + _nesting(rest), 0)

    def table_pin(self) -> Iterator[Pin]:
        """Yield the package of a table that has ended without a version."""
        if self._pin:
            yield self._pin
        self._pin = None

    def _own_table(self) -> str:
        """Return the package that the table is of, `[dependencies.candle-core]`; else nothing."""
        tables, (parent, _, name) = self._tables, self._table.rpartition(".")
        return name.strip("\"' ") if parent and tables.fullmatch(parent) else ""

    def _of_key(self, part: str, value: str, number: int, start: int) -> Iterator[Pin]:
        """Yield the package of a key, `torch = "2.13"`, or of the table in which it stands.

        `part` is what follows in a dotted key, `.version`.
        """
        table, tables = self._table, self._tables
        if tables.fullmatch(table):
            renamed = _RENAMED.search(value)
            told = part in ("", ".version")
            yield Pin(
                renamed[1] if renamed else self._key,
                number,
                firm=not _LOOSE.match(value),
                span=_version(value, start, self._syntax(table)) if told else None,
                table=table,
            )
        elif self._key == "version" and not part and (name := self._own_table()):
            self._pin, parent = None, table.rpartition(".")[0]
            span = _version(value, start, self._syntax(parent))
            yield Pin(name, number, firm=True, span=span, table=parent)

    def _syntax(self, table: str) -> Syntax:
        """Return how versions are written in a table; pixi keeps both kinds."""
        if table.endswith("pypi-dependencies"):
            return Syntax.PYTHON
        return Syntax.CONDA if table.startswith("tool.pixi.") else self._plain


def _version(value: str, start: int, syntax: Syntax) -> Span | None:
    """Return the place of the version in a value, `"^2.5"` or `{ version = "^2.5", … }`."""
    found = _IN_TABLE.search(value) if value[:1] == "{" else _PLAIN.match(value)
    return Span(start + found.start(1), start + found.end(1), syntax) if found else None


def _code(value: str) -> str:
    """Return a line without its comment; a `#` in a quoted address is part of it."""
    return "" if value.lstrip().startswith("#") else value.partition(" #")[0]


def _nesting(value: str) -> int:
    """Return how many lists begin in a line less those that end.

    Brackets within quotes are extras.
    """
    bare = _QUOTED.sub("", _code(value))
    return bare.count("[") - bare.count("]")
