"""What a line asks for: a requirement as pip, uv and conda write it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

_LONGEST, _MOST = 2000, 100_000
_NAMED = re.compile(
    r"([A-Za-z0-9](?:[\w.-]{0,98}[A-Za-z0-9])?)(?:\s{0,4}\[[\w., -]{0,200}\])?\s{0,40}(@|[=<>!~]"
    r"|(?=[;#,\s\\]|$))"
)
_WHEEL = re.compile(r"(?:^|[/\\])([A-Za-z0-9][A-Za-z0-9_.]{0,98})-\d[^/\s]{0,300}\.whl\b")
_EGG = re.compile(r"#egg=([A-Za-z0-9][\w.-]{0,98})")
CONDA = {"pytorch": "torch", "pytorch-gpu": "torch", "pytorch-cpu": "torch"}
"""What conda and images call a distribution of the package index."""


class Pin(NamedTuple):
    """A package that a line, from 1, asks for, as the file spells it.

    `firm` where the line says which version.
    """

    name: str
    line: int
    firm: bool


def lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield the lines of a file with their numbers, but for very long ones."""
    return (
        (number, line.rstrip("\r"))
        for number, line in enumerate(text.split("\n", _MOST)[:_MOST], 1)
        if len(line) <= _LONGEST
    )


def pin_in(text: str, number: int) -> Pin | None:
    """Read a requirement; None where the text is none."""
    text = text.strip()
    if address := _WHEEL.search(text) or _EGG.search(text):
        return Pin(address[1], number, firm=True)
    found = _NAMED.match(text)
    return Pin(found[1], number, firm=bool(found[2])) if found else None
