"""Compile a regular expression when it is first used: most reports need none of these.

They are searched near keywords that an automaton found, in parts of the text that do not overlap,
and each bounds what it repeats before a text that has to be there: so the time grows with the text
alone, and Python's own engine, which is there already, is the fastest.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator


class Pattern:
    """A regular expression, compiled when it is first used."""

    __slots__ = ("_compiled", "_flags", "_text")

    def __init__(self, text: str, flags: int = 0) -> None:
        self._text, self._flags = text, flags
        self._compiled: re.Pattern[str] | None = None

    def _compile(self) -> re.Pattern[str]:
        self._compiled = re.compile(self._text, self._flags)
        return self._compiled

    @property
    def groups(self) -> int:
        """How many groups it has."""
        return (self._compiled or self._compile()).groups

    def match(self, text: str, start: int = 0) -> re.Match[str] | None:
        """Match where `start` is."""
        return (self._compiled or self._compile()).match(text, start)

    def search(self, text: str, start: int = 0, end: int | None = None) -> re.Match[str] | None:
        """Return the first match between two places."""
        return (self._compiled or self._compile()).search(
            text, start, len(text) if end is None else end
        )

    def finditer(
        self, text: str, start: int = 0, end: int | None = None
    ) -> Iterator[re.Match[str]]:
        """Yield every match between two places."""
        return (self._compiled or self._compile()).finditer(
            text, start, len(text) if end is None else end
        )

    def sub(self, change: str | Callable[[re.Match[str]], str], text: str) -> str:
        """Return a text with every match replaced."""
        return (self._compiled or self._compile()).sub(change, text)
