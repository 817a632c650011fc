"""Texts of plain values as Python writes them, looked at before its parser is."""

from __future__ import annotations

_BETWEEN = str.maketrans("{}[]():,", "        ")
_PLAIN = frozenset({"True", "False", "None"})
_MOST_DIGITS = 4
_MOST_OUTSIDE = 64 << 10


def is_plain_literal(text: str) -> bool:
    """Say whether a text is made of texts, numbers, brackets and words alone.

    Python's own parser takes a gigabyte for `a.a.a…` and some of its releases crash over `1+1+1…`.
    """
    outside: list[str] = []
    quote, escaped = "", False
    for char in text:
        if not quote:
            quote = char if char in "\"'" else ""
            outside.append(" " if quote else char)
        elif escaped or char == "\\":
            escaped = not escaped
        elif char == quote:
            quote = ""
    words = "".join(outside).translate(_BETWEEN).split()
    fit = all(word in _PLAIN or (word.isdecimal() and len(word) <= _MOST_DIGITS) for word in words)
    return fit and not quote and len(outside) <= _MOST_OUTSIDE
