"""Read a mangled name from left to right, within bounds."""

from __future__ import annotations

import re
from typing import NamedTuple

_MOST_TEXT = 1 << 20
_LONGEST_TEXT = 1 << 15
_DEEPEST = 64
MOST_ARGUMENTS = 512

_NUMBER = re.compile(r"n?[0-9]{1,9}")


class Unreadable(Exception):
    """A name that does not follow the grammar, or is larger than anybody's."""


class Part(NamedTuple):
    """A type, in two halves around the place where a name would stand in a declaration."""

    left: str
    right: str = ""
    is_function: bool = False

    @property
    def text(self) -> str:
        """The type as a whole."""
        return self.left + self.right


class Name(NamedTuple):
    """A name; a template's own name takes a return type, a constructor's does not."""

    text: str
    takes_return_type: bool = False
    qualifiers: str = ""


class Cursor:
    """A place in a mangled name. It never goes back, so its steps are those of the text."""

    def __init__(self, text: str) -> None:
        self._text, self._at, self._depth, self._amount = text, 0, 0, 0

    @property
    def rest(self) -> str:
        """What was not read."""
        return self._text[self._at :]

    def _enter(self) -> None:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise Unreadable

    def _bounded(self, text: str) -> str:
        self._amount += len(text)
        if len(text) > _LONGEST_TEXT or self._amount > _MOST_TEXT:
            raise Unreadable
        return text

    def _bounded_part(self, part: Part) -> Part:
        self._bounded(part.left)
        self._bounded(part.right)
        return part

    def _peek(self, count: int = 1) -> str:
        return self._text[self._at : self._at + count]

    def _take(self, count: int) -> str:
        taken = self._text[self._at : self._at + count]
        if len(taken) < count:
            raise Unreadable
        self._at += count
        return taken

    def _accept(self, text: str) -> bool:
        if not self._text.startswith(text, self._at):
            return False
        self._at += len(text)
        return True

    def _expect(self, text: str) -> None:
        if not self._accept(text):
            raise Unreadable

    def _match(self, pattern: re.Pattern[str]) -> str:
        match = pattern.match(self._text, self._at)
        if match is None:
            raise Unreadable
        self._at = match.end()
        return match[0]

    def _number(self) -> str:
        return self._match(_NUMBER).replace("n", "-")

    def _source_name(self) -> str:
        size = int(self._number())
        if size <= 0:
            raise Unreadable
        return self._take(size)
