"""What doctor needs and no wheel for browsers has: ahocorasick_rs, in plain Python.

It looks for each text by itself, which is slower and finds the same. A page has a limited text.
"""

from __future__ import annotations

import sys
import types
from collections.abc import Iterable
from typing import Any


class _Automaton:
    def __init__(self, texts: Iterable[Any], **_how: object) -> None:
        self._texts = list(texts)

    def find_matches_as_indexes(
        self, body: Any, *, overlapping: bool = False
    ) -> list[tuple[int, int, int]]:
        """Return (which, start, end) of every text, or of those that do not overlap."""
        found = []
        for which, text in enumerate(self._texts):
            start = body.find(text)
            while start >= 0:
                found.append((which, start, start + len(text)))
                start = body.find(text, start + 1)
        found.sort(key=lambda one: (one[2], one[1]))
        if overlapping:
            return found
        kept, end = [], 0
        for one in found:
            if one[1] >= end:
                kept.append(one)
                end = one[2]
        return kept


class _Implementation:
    DFA = ContiguousNFA = NoncontiguousNFA = None


def install() -> None:
    """Take the place of the module."""
    module: Any = types.ModuleType("ahocorasick_rs")
    module.AhoCorasick = module.BytesAhoCorasick = _Automaton
    module.Implementation = _Implementation
    sys.modules["ahocorasick_rs"] = module
