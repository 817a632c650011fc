"""Find the smallest part of a change that makes a test fail: delta debugging and bisection.

The algorithm is ddmin of Zeller and Hildebrandt, "Simplifying and Isolating Failure-Inducing
Input", IEEE TSE 28 (2002): https://doi.org/10.1109/32.988498. A part that cannot be tested is
unresolved, as with `git bisect skip`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from typing import Generic, NamedTuple, TypeVar

T = TypeVar("T")


class Answer(Enum):
    """What came of a test."""

    GOOD = "good"
    BAD = "bad"
    UNRESOLVED = "unresolved"


def smallest(items: Sequence[T], test: Callable[[tuple[T, ...]], Answer]) -> tuple[T, ...]:
    """Return a part of `items` that is bad, and is no longer bad without any one of its items.

    All items together have to be bad. `test` is asked once for each part.
    """
    left, parts = tuple(items), 2
    while len(left) > 1:
        pieces = _split(left, parts)
        others = [tuple(one for one in left if one not in {*piece}) for piece in pieces]
        if bad := _first(pieces, test):
            left, parts = bad, 2
        elif len(pieces) > 2 and (bad := _first(others, test)):
            left, parts = bad, max(parts - 1, 2)
        elif parts < len(left):
            parts = min(2 * parts, len(left))
        else:
            break
    return left


def _first(
    parts: Sequence[tuple[T, ...]], test: Callable[[tuple[T, ...]], Answer]
) -> tuple[T, ...]:
    return next((part for part in parts if test(part) is Answer.BAD), ())


def _split(items: tuple[T, ...], parts: int) -> list[tuple[T, ...]]:
    """Split into parts of nearly the same size; none is empty."""
    size, more = divmod(len(items), parts)
    pieces, at = [], 0
    for number in range(parts):
        end = at + size + (number < more)
        pieces.append(items[at:end])
        at = end
    return [piece for piece in pieces if piece]


class Edge(NamedTuple, Generic[T]):
    """Where a sequence turns from good to bad; `unknown` lie between and cannot be tested."""

    good: T
    bad: T
    unknown: tuple[T, ...]


def turn(items: Sequence[T], test: Callable[[T], Answer]) -> Edge[T]:
    """Return where a sequence turns bad: its first item is good, its last one bad.

    Where items cannot be tested, their neighbours are, the nearest to the middle first.
    """
    low, high = 0, len(items) - 1
    unknown: set[int] = set()
    while inside := [place for place in range(low + 1, high) if place not in unknown]:
        middle = (low + high) / 2
        place = min(inside, key=lambda one: (abs(one - middle), one))
        match test(items[place]):
            case Answer.GOOD:
                low = place
            case Answer.BAD:
                high = place
            case Answer.UNRESOLVED:
                unknown.add(place)
    between = tuple(items[place] for place in range(low + 1, high))
    return Edge(items[low], items[high], between)


def closure(items: Sequence[T], needs: Mapping[T, frozenset[T]]) -> frozenset[T]:
    """Return the items with all that they need, directly or not."""
    found: set[T] = set()
    waiting = list(items)
    while waiting:
        one = waiting.pop()
        if one not in found:
            found.add(one)
            waiting += needs.get(one, frozenset())
    return frozenset(found)


def smallest_closed(
    items: Sequence[T], needs: Mapping[T, frozenset[T]], test: Callable[[tuple[T, ...]], Answer]
) -> frozenset[T]:
    """Return a bad part that has all that its items need, and none of which can be left out.

    Without an item, and without those that need it, the part is no longer bad.
    """

    def ordered(part: frozenset[T]) -> tuple[T, ...]:
        return tuple(one for one in items if one in part)

    found = closure(smallest(items, lambda part: test(ordered(closure(part, needs)))), needs)
    while True:
        parts = [
            frozenset(other for other in found if one not in closure([other], needs))
            for one in ordered(found)
        ]
        smaller = next((one for one in parts if one and test(ordered(one)) is Answer.BAD), None)
        if smaller is None:
            return found
        found = smaller


def roots(part: frozenset[T], needs: Mapping[T, frozenset[T]]) -> tuple[T, ...]:
    """Return the items of a part that bring all others; of those that need each other, one."""
    found = set(part)
    for one in sorted(part, key=str):
        if one in closure([other for other in found if other != one], needs):
            found.discard(one)
    return tuple(sorted(found, key=str))
