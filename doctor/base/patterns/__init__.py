"""Search for the patterns of a catalog in linear time.

RE2 does it, and our own automaton where RE2 has no wheel.

Both simulate an automaton and never go back, so that no text, and no pattern of somebody's catalog,
costs more than the product of their lengths (https://swtch.com/~rsc/regexp/regexp1.html). What
needs to go back (look-around, back-references, atomic groups) is refused.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Protocol

import msgspec

from doctor.base.errors import DoctorError
from doctor.base.lazy_pattern import Pattern

_PIECE = Pattern(r"\\u[0-9a-fA-F]{4}|\\U[0-9a-fA-F]{8}|\\.|\[\^?\]?|\{,(?=\d{1,9}\})|.", re.DOTALL)
_WORD = (
    r"\w\x{AA}\x{B5}\x{BA}\x{C0}-\x{D6}\x{D8}-\x{F6}\x{F8}-\x{1FFF}\x{2C00}-\x{2DFF}\x{3040}-\x{D7FF}"
    r"\x{F900}-\x{FDFF}\x{FE70}-\x{FEFC}\x{FF10}-\x{FF19}\x{FF21}-\x{FF3A}\x{FF41}-\x{FF5A}\x{FF66}-\x{FFDC}\x{10000}-\x{1EFFF}\x{20000}-\x{3FFFF}"
)
"""ASCII's letters, and those of other scripts by their blocks: home folders have people's names.

RE2's own classes would do, but a hundred repetitions of `[\\pL\\pN_]` take it a tenth of a second
to compile.
"""
_BLANK = r"\t-\r\x1c-\x20\x{85}\pZ"
"""What Python calls a blank; RE2's own `\\s` is six characters of ASCII."""
_NOT_MORE = "{,"
"""Up to so many; RE2 reads it as text where the nought is left out."""
_CLASSES = {"w": _WORD, "s": _BLANK}
_PLAIN = Pattern(r"[^*+{]*")
_CHOICES = 3


class PatternError(DoctorError):
    """A pattern is no regular expression, or needs a backtracking engine."""


class PatternMatch(msgspec.Struct, frozen=True):
    """The first match of a pattern: its offset in characters, its text and its named groups."""

    start: int
    text: str
    groups: Mapping[str, str]


class Searcher(Protocol):
    """A pattern that is ready to be searched for.

    Lines are told apart (`^` and `$` stand for theirs).
    """

    def search(self, text: str) -> PatternMatch | None:
        """Return the first match."""


@lru_cache(maxsize=8192)
def compile_pattern(pattern: str) -> Searcher:
    """Return what searches for a pattern.

    Raises PatternError for one that is not searched in linear time.
    """
    try:
        import re2
    except ImportError:
        from doctor.base.patterns.automaton import Automaton

        return Automaton(pattern)
    options = re2.Options()
    options.log_errors = False
    try:
        return _Re2(re2.compile(f"(?m){to_re2(pattern)}", options=options))
    except re2.error as error:
        raise PatternError(f"{pattern!r}: {_words(error)}") from None


@lru_cache(maxsize=8192)
def compile_for_fact(pattern: str) -> Searcher:
    """Return a searcher for the value of a fact.

    `re` does for a pattern without repetition, so that the check of files loads no engine.

    Without repetition, and with no more than three choices, each place of a text is left again
    after a number of steps that the pattern alone decides.
    """
    if (
        _PLAIN.fullmatch(pattern)
        and pattern.count("(") + pattern.replace("(?:", "").count("?") <= _CHOICES
    ):
        try:
            return _Re(re.compile(pattern, re.MULTILINE))
        except re.error as error:
            raise PatternError(f"{pattern!r}: {error}") from None
    return compile_pattern(pattern)


def pattern_error(pattern: str) -> str:
    """Say why a pattern cannot be used; empty where it can.

    `re`, by whose rules authors write, and the engine must both accept it.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter(
                "error", FutureWarning
            )  # "[[" may come to mean a set within a set
            re.compile(pattern)
    except (re.error, FutureWarning, RecursionError, OverflowError) as error:
        return f"{pattern!r} is no regular expression: {error}"
    try:
        compile_pattern(pattern)
    except PatternError as error:
        return (
            f"{error} (a pattern is searched in linear time: no look-around, back-reference or "
            f"repetition above 1000)"
        )
    return ""


def to_re2(pattern: str) -> str:
    r"""Translate a pattern of Python's into RE2's syntax.

    `\w` and `\s` reach as far as Python's, and `\Z` becomes `\z`.
    """
    parts, inside = [], False
    for piece in _PIECE.findall(pattern):
        if piece[0] == "[" and not inside:
            inside = True
        elif piece == "]":
            inside = False
        if piece[0] == "\\":
            parts.append(_escape(piece, inside=inside))
        else:
            parts.append("{0," if piece == _NOT_MORE and not inside else piece)
    return "".join(parts)


def _escape(piece: str, *, inside: bool) -> str:
    letter = piece[1:2]  # none behind a backslash that ends the pattern
    if len(piece) > 2:
        return f"\\x{{{piece[2:]}}}"
    if letter == "Z":
        return r"\z"
    if (members := _CLASSES.get(letter.lower())) is None:
        return piece
    if letter.islower():
        return members if inside else f"[{members}]"
    return piece if inside else f"[^{members}]"


def _words(error: Exception) -> str:
    said = error.args[0] if error.args else error
    return said.decode("utf-8", "replace") if isinstance(said, bytes) else str(said)


class _Re2:
    """RE2 speaks UTF-8, which has no halves of a surrogate pair.

    In their place it sees a question mark.
    """

    def __init__(self, pattern: Any) -> None:
        self._pattern = pattern

    def search(self, text: str) -> PatternMatch | None:
        """Return the first match."""
        try:
            found = self._pattern.search(text)
        except UnicodeEncodeError:
            found = self._pattern.search(text.encode("utf-8", "replace").decode())
        return _as_match(found)


class _Re:
    def __init__(self, pattern: re.Pattern[str]) -> None:
        self._pattern = pattern

    def search(self, text: str) -> PatternMatch | None:
        """Return the first match."""
        return _as_match(self._pattern.search(text))


def _as_match(match: Any) -> PatternMatch | None:
    if match is None:
        return None
    return PatternMatch(
        match.start(), match[0], {name: value for name, value in match.groupdict().items() if value}
    )
