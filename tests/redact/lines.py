"""Lines with made-up secrets. The text between « and » must not come out.

`<a20>` stands for twenty random characters of a kind: a letters of either case, l small letters, u
capitals, w letters and digits, h hex digits, d digits, b base64, v capitals and digits. So no file
here holds anything that a scanner takes for a secret.
"""

from __future__ import annotations

import random
import re
import string
from collections.abc import Iterable, Iterator
from typing import NamedTuple

_KINDS = {
    "a": string.ascii_letters,
    "l": string.ascii_lowercase,
    "u": string.ascii_uppercase,
    "w": string.ascii_letters + string.digits,
    "h": "0123456789abcdef",
    "d": string.digits,
    "b": string.ascii_letters + string.digits + "+/",
    "v": string.ascii_uppercase + "234567",
}
_HOLE = re.compile(r"<([aluwhdbv])(\d{1,3})>")
_SECRET = re.compile(r"«([^»]*)»")
_WINDOW = 8
"""Characters of a secret in a row that nobody may see."""


class Line(NamedTuple):
    """A line of a log, or several, and the secrets in it."""

    name: str
    text: str
    secrets: tuple[str, ...]

    def left(self, shown: str) -> list[str]:
        """Return the pieces of the secrets that stand in what is shown."""
        return [piece for secret in self.secrets for piece in pieces(secret) if piece in shown]


def pieces(secret: str) -> Iterator[str]:
    """Yield the telling parts of a secret: every eight characters, or all of a shorter one."""
    parts = [part for part in re.split(r"[\s\\]+", secret) if len(part) >= _WINDOW] or [secret]
    for part in parts:
        yield from (
            part[start : start + _WINDOW] for start in range(max(len(part) - _WINDOW, 0) + 1)
        )


def made(templates: Iterable[tuple[str, str]]) -> tuple[Line, ...]:
    """Return the lines of templates, each a name and a text; the same in every run."""
    return tuple(_line(name, text) for name, text in templates)


def _line(name: str, template: str) -> Line:
    chance = random.Random(name)
    filled = _HOLE.sub(
        lambda found: "".join(chance.choice(_KINDS[found[1]]) for _ in range(int(found[2]))),
        template,
    )
    return Line(name, _SECRET.sub(r"\1", filled), tuple(_SECRET.findall(filled)))
