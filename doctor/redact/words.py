"""The lists of words that rules lean on, as data: `words.json` says what each is for."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import msgspec


class _List(msgspec.Struct, frozen=True, rename={"about": "is"}):
    about: str
    words: tuple[str, ...]


@lru_cache(maxsize=1)
def _lists() -> dict[str, _List]:
    return msgspec.json.decode(
        (Path(__file__).parent / "words.json").read_bytes(), type=dict[str, _List]
    )


@lru_cache(maxsize=16)
def words(name: str) -> frozenset[str]:
    """Return the words of a list."""
    return frozenset(" ".join(_lists()[name].words).split())
