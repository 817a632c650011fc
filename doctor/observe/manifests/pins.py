"""What a line asks for: a requirement as pip, uv and conda write it."""

from __future__ import annotations

import re
import string
from collections.abc import Iterator
from enum import Enum
from typing import NamedTuple

_LONGEST, _MOST = 2000, 100_000
_BRACKETS = re.compile(r"\s{0,20}\(\s{0,20}([=<>!~][^()]{0,200}?)\s{0,20}\)")
_NAMED = re.compile(
    r"([A-Za-z0-9](?:[\w.-]{0,98}[A-Za-z0-9])?)(?:\s{0,4}\[[\w., -]{0,200}\])?\s{0,40}(@|[=<>!~]"
    r"|(?=[;#,\s\\]|$))"
)
_WHEEL = re.compile(r"(?:^|[/\\])([A-Za-z0-9][A-Za-z0-9_.]{0,98})-\d[^/\s]{0,300}\.whl\b")
_EGG = re.compile(r"#egg=([A-Za-z0-9][\w.-]{0,98})")
# Up to a marker, a comment, a quote or the mark of a line that goes on.
_VERSION = re.compile(r"[^;#\"'\\@()\[\]]{0,300}")
CONDA = {"pytorch": "torch", "pytorch-gpu": "torch", "pytorch-cpu": "torch"}
"""What conda and images call a distribution of the package index."""


class Syntax(Enum):
    """How a version is written where a manifest names one."""

    PYTHON = "python"
    POETRY = "poetry"
    CONDA = "conda"
    CARGO = "cargo"
    VERSION = "version"
    TAG = "tag"


class Span(NamedTuple):
    """Where a text says which version of a package it wants: `text[start:end]`.

    Both are the same place after the name where the text says nothing of a version.
    """

    start: int
    end: int
    syntax: Syntax


class Pin(NamedTuple):
    """A package that a line, from 1, asks for, as the file spells it.

    `firm` where the line says which version. `span` is None where no edit can change the version:
    for an address, a lock, or a table without one. `table` is where a file of tables has it,
    `project.optional-dependencies/gpu`.
    """

    name: str
    line: int
    firm: bool
    span: Span | None = None
    table: str = ""


class Line(NamedTuple):
    """A line of a file without its end; `start` is its place in the text."""

    number: int
    text: str
    start: int


def lines(text: str) -> Iterator[Line]:
    """Yield the lines of a file, but for very long ones; a byte order mark is no part of them."""
    start = 0
    for number, line in enumerate(text.split("\n", _MOST)[:_MOST], 1):
        mark = number == 1 and line.startswith("\ufeff")
        if len(line) <= _LONGEST:
            yield Line(number, line[mark:].rstrip("\r"), start + mark)
        start += len(line) + 1


def pin_in(text: str, number: int, start: int, syntax: Syntax = Syntax.PYTHON) -> Pin | None:
    """Read a requirement that begins at `start` of its file; None where the text is none."""
    bare = text.strip()
    start += len(text) - len(text.lstrip())
    if address := _WHEEL.search(bare) or _EGG.search(bare):
        return Pin(address[1], number, firm=True)
    found = _NAMED.match(bare)
    if found is None:
        return None
    if found[2] == "@":
        return Pin(found[1], number, firm=True)
    begin = start + len(bare[: found.start(2) if found[2] else found.end()].rstrip())
    return Pin(
        found[1],
        number,
        firm=bool(found[2]),
        span=_span(bare[begin - start :], begin, syntax),
    )


def _span(rest: str, start: int, syntax: Syntax) -> Span:
    """Return where the version stands in what follows a name; `rest` begins at `start`.

    Poetry writes it in brackets, `torch (==2.13.0)`, as the older grammar does.
    """
    if syntax is Syntax.PYTHON and (inside := _BRACKETS.match(rest)):
        return Span(start + inside.start(1), start + inside.end(1), syntax)
    found = _VERSION.match(rest)
    told = (found[0] if found else "").partition(" --")[0].rstrip()
    # The name of an extra, a second requirement or anything else is no version.
    if told.strip()[:1] not in {*"=<>!~", *(string.digits if syntax is Syntax.CONDA else "")}:
        told = ""
    blank = len(told) - len(told.lstrip())
    return Span(start + blank, start + len(told), syntax)
