"""What stays of a report where there is no room for all of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple


class Part(NamedTuple):
    """A part of a report: its text, its name, and its turn; the lowest turn gets room first."""

    text: str
    name: str
    turn: int


def fitted(
    parts: Sequence[Part], most: int, size: Callable[[str], int] = len
) -> tuple[list[Part], list[str]]:
    """Return the parts for which there is room, in their order, and the names of the others.

    Each costs two more than its size.
    """
    kept, room = set(), most
    for number, part in sorted(enumerate(parts), key=lambda item: item[1].turn):
        if (needed := size(part.text) + 2) <= room:
            kept.add(number)
            room -= needed
    lost = [part.name for number, part in enumerate(parts) if number not in kept]
    return [part for number, part in enumerate(parts) if number in kept and part.text], lost


def names_of_lost(lost: Sequence[str], most: int = 10) -> str:
    """Name what was left out in few words."""
    return ", ".join(lost[:most]) + (f" and {len(lost) - most} more" if len(lost) > most else "")
