"""The text that a regular expression cannot match without: looking for it first is what makes a hundred expressions affordable."""

from __future__ import annotations

import re
from functools import lru_cache

_SHORTEST = 4
_PIECE = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|[()|.^$]|[*+?]\??|\{\d*,?\d*\}\??|[^\\\[()|.^$*+?{]", re.DOTALL)
_OPTIONAL = ("*", "?", "{")


@lru_cache(maxsize=8192)
def needed(pattern: str) -> str:
    """Return the longest literal text that stands in everything a pattern matches; empty where there is none to be sure of."""
    if "(?i" in pattern or pattern.count("{") != len(re.findall(r"\{\d*,?\d*\}|\\\{", pattern)):
        return ""
    runs, run, depth = [], "", 0
    pieces = _PIECE.findall(pattern)
    for piece, following in zip(pieces, [*pieces[1:], ""], strict=True):
        depth += {"(": 1, ")": -1}.get(piece, 0)
        letter = _letter(piece) if depth == 0 else ""
        if piece == "|" and depth == 0:
            return ""
        if letter and not following.startswith(_OPTIONAL):
            run += letter
            if not following.startswith("+"):
                continue
        runs.append(run)
        run = ""
    longest = max([*runs, run], key=len)
    return longest if len(longest) >= _SHORTEST else ""


def _letter(piece: str) -> str:
    """Return the one character that a piece stands for; empty for a class, an anchor or a quantifier."""
    if piece.startswith("\\"):
        return "" if piece[1].isalnum() else piece[1]
    return "" if piece[0] in "[()|.^$*+?{" else piece
