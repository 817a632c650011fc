"""Compile a regular expression when it is first used: most runs need few of what modules name."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, AnyStr, Generic


class Pattern(Generic[AnyStr]):
    """A regular expression, compiled when it is first used; methods as of `re.Pattern`."""

    __slots__ = ("_compiled", "_flags", "_text")

    def __init__(self, text: AnyStr, flags: int = 0) -> None:
        self._text: AnyStr = text
        self._flags = flags
        self._compiled: re.Pattern[AnyStr] | None = None

    def _compile(self) -> re.Pattern[AnyStr]:
        self._compiled = re.compile(self._text, self._flags)
        return self._compiled

    @property
    def groups(self) -> int:
        """How many groups it has."""
        return (self._compiled or self._compile()).groups

    @property
    def pattern(self) -> AnyStr:
        """Its text."""
        return self._text

    def match(self, text: AnyStr, start: int = 0) -> re.Match[AnyStr] | None:
        """Match where `start` is."""
        return (self._compiled or self._compile()).match(text, start)

    def fullmatch(self, text: AnyStr) -> re.Match[AnyStr] | None:
        """Match the whole text."""
        return (self._compiled or self._compile()).fullmatch(text)

    def search(
        self, text: AnyStr, start: int = 0, end: int | None = None
    ) -> re.Match[AnyStr] | None:
        """Return the first match between two places."""
        return (self._compiled or self._compile()).search(
            text, start, len(text) if end is None else end
        )

    def finditer(
        self, text: AnyStr, start: int = 0, end: int | None = None
    ) -> Iterator[re.Match[AnyStr]]:
        """Yield every match between two places."""
        return (self._compiled or self._compile()).finditer(
            text, start, len(text) if end is None else end
        )

    def findall(self, text: AnyStr) -> list[Any]:
        """Return every match, or of a pattern with groups what they hold."""
        return (self._compiled or self._compile()).findall(text)

    def sub(self, change: AnyStr | Callable[[re.Match[AnyStr]], AnyStr], text: AnyStr) -> AnyStr:
        """Return a text with every match replaced."""
        return (self._compiled or self._compile()).sub(change, text)
