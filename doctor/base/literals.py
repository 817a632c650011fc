"""Find the literals that each match of a regular expression contains.

A search for them comes first. It makes hundreds of expressions affordable.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable
from functools import lru_cache
from itertools import pairwise

from doctor.base.lazy_pattern import Pattern

_SHORTEST = 3
_PIECE = Pattern(
    r"\\(?:x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|N\{[^}]{0,100}\}|[0-7]{1,3}|.)"
    r"|\[\^?\]?(?:\\.|[^\]\\]){0,1000}\]"
    r"|\((?:\?:|\?P<\w+>)?|[)|.^$]|[*+?]\??|\{\d{0,9},?\d{0,9}\}\??|[^\\\[()|.^$*+?{]",
    re.DOTALL,
)
_OPTIONAL = ("*", "?", "{")


@lru_cache(maxsize=8192)
def required_literals(pattern: str) -> tuple[str, ...]:
    """Return texts one of which stands in everything that a pattern matches.

    Empty where there are none to be sure of.
    """
    pieces = deque(_PIECE.findall(pattern))
    special = any(piece == "(" and following[0] == "?" for piece, following in pairwise(pieces))
    if special or sum(map(len, pieces)) != len(pattern):
        return ()
    return _either(pieces)


def literals_in(texts: Iterable[str], body: str) -> frozenset[str]:
    """Return which of many texts stand in a body, in one pass."""
    import ahocorasick_rs  # short bodies are searched without it

    wanted = sorted(set(texts))
    automaton = ahocorasick_rs.AhoCorasick(
        wanted, implementation=ahocorasick_rs.Implementation.ContiguousNFA
    )
    return frozenset(
        wanted[which] for which, _, _ in automaton.find_matches_as_indexes(body, overlapping=True)
    )


def _either(pieces: deque[str]) -> tuple[str, ...]:
    """Read alternatives up to the end of their group; each of them has to offer something."""
    branches = [_sequence(pieces)]
    while pieces and pieces[0] == "|":
        pieces.popleft()
        branches.append(_sequence(pieces))
    return (
        tuple(dict.fromkeys(text for branch in branches for text in branch))
        if all(branches)
        else ()
    )


def _sequence(pieces: deque[str]) -> tuple[str, ...]:
    """Read one alternative, and return the literals that it requires.

    That is the longest run of plain text, or the texts of a group.
    """
    offers: list[tuple[str, ...]] = []
    run = ""
    while pieces and pieces[0] not in ("|", ")"):
        piece = pieces.popleft()
        inner = _group(pieces) if piece[0] == "(" else ()
        following = pieces[0] if pieces else ""
        letter = _letter(piece)
        if letter and not following.startswith(_OPTIONAL):
            run += letter
            if following[:1] != "+":
                continue
        offers.append((run,))
        run = ""
        if inner and not following.startswith(_OPTIONAL):
            offers.append(inner)
    best = max([*offers, (run,)], key=_worth)
    return best if _worth(best) >= _SHORTEST else ()


def _group(pieces: deque[str]) -> tuple[str, ...]:
    inner = _either(pieces)
    if pieces:
        pieces.popleft()
    return inner


def _worth(texts: tuple[str, ...]) -> int:
    return min(map(len, texts))


def _letter(piece: str) -> str:
    """Return the one character that a piece stands for.

    Empty for a class, an anchor, a group or a quantifier.
    """
    if piece.startswith("\\"):
        return "" if piece[1].isalnum() else piece[1]
    return "" if piece[0] in "[()|.^$*+?{" else piece
