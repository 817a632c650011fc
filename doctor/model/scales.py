"""How bad a thing would be, how sure doctor is, and what a check may cost."""

from __future__ import annotations

from enum import Enum
from functools import total_ordering


@total_ordering
class _Scale(Enum):
    """An enum in order: its members are written from the greatest to the least.

    `rank` counts from 0, the greatest, so that what is sorted by it has the greatest first.
    """

    rank: int

    def __init__(self, _value: str) -> None:
        self.rank = len(type(self).__members__)

    def __lt__(self, other: object) -> bool:
        if not isinstance(other, type(self)):
            return NotImplemented
        return self.rank > other.rank

    __hash__ = Enum.__hash__


class Severity(_Scale):
    """What it costs if it is true: an error is greater than a note.

    It is written by the author of an issue.
    """

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


class Confidence(_Scale):
    """How sure the evidence makes doctor; computed, never written."""

    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"


class Tier(Enum):
    """What a check may cost: `quick` is seconds, `deep` is minutes."""

    QUICK = "quick"
    DEEP = "deep"
