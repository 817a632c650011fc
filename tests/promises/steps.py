"""How many steps `re` may take for a pattern, by the pattern's structure.

A proof for the patterns that doctor itself brings.

`re` tries a pattern at each place of a text, and where a part can end at several places, what comes
behind it once for each of them. So the steps from one place are bounded by a product over the parts
that leave a choice. A repetition leaves none where what comes behind it begins with a character
that it cannot take: given back, a character is refused at once. What remains is constant (a bounded
repetition), or grows with the text (an endless one): each such choice, and each endless repetition
that many places begin to read anew, is a degree. Degree 1 is linear time. All bounds are upper
ones: a pattern may be refused that is harmless, never the other way round.
"""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

_parser = importlib.import_module("re._parser" if sys.version_info >= (3, 11) else "sre_parse")

_END = -1
"""Stands for the end of the text among the characters that a part may begin with."""
_ALPHABET = frozenset([*range(256), 0x2028, 0x4E2D, 0xFF11])
_ANYTHING = _ALPHABET | {_END}
_ENDLESS = 1 << 16
_MOST_WAYS = 500
_WORD = frozenset(code for code in _ALPHABET if re.match(r"\w", chr(code)))
_CATEGORIES = {"DIGIT": r"\d", "SPACE": r"\s", "WORD": r"\w"}

Chars = frozenset[int]
Part = tuple[Any, Any]


class Cost(NamedTuple):
    """An upper bound: `constant` times the length of the text to the power of `degree`."""

    degree: int
    constant: int

    def times(self, other: Cost) -> Cost:
        """Return the bound of something done once for each step of another."""
        return Cost(self.degree + other.degree, min(self.constant * other.constant, 1 << 62))

    def plus(self, other: Cost) -> Cost:
        """Return the bound of one after the other."""
        return Cost(max(self.degree, other.degree), self.constant + other.constant)


ONCE = Cost(0, 1)
HOPELESS = Cost(99, 1)


def steps(
    pattern: str | bytes, flags: int = 0, *, anchored: bool = False, whole: bool = False
) -> Cost:
    """Bound the steps of `search`, `match` (`anchored`) or `fullmatch` (`whole`) in any text."""
    parsed = _parser.parse(pattern, flags)
    reading = _Reading(int(parsed.state.flags))
    if whole:
        return reading.sequence(list(parsed), frozenset({_END}))[1]
    if anchored:
        return reading.sequence(reading.may_fail(list(parsed)), None)[1].plus(Cost(1, 1))
    total = Cost(1, 0)
    for way in reading.unfolded(list(parsed)):
        total = total.plus(reading.search(reading.may_fail(way)))
    return total


def _name(part: Part) -> str:
    return str(part[0])


class _Reading:
    def __init__(self, flags: int) -> None:
        self.flags = flags

    def search(self, parts: list[Part]) -> Cost:
        """Bound the search for a sequence that is tried at each place."""
        one = self.sequence(parts, None)[1]
        first = str(parts[0][1]) if parts and _name(parts[0]) == "AT" else ""
        if first == "AT_BEGINNING_STRING" or (
            first == "AT_BEGINNING" and not self.flags & re.MULTILINE
        ):
            return one.plus(Cost(1, 1))
        return one if one.degree == 1 and self.begins_apart(parts) else one.times(Cost(1, 1))

    def unfolded(self, parts: list[Part]) -> list[list[Part]]:
        """Return the sequences that a pattern stands for, one per first alternative."""
        for number, part in enumerate(parts):
            kind, value = _name(part), part[1]
            before, behind = parts[:number], parts[number + 1 :]
            if kind == "SUBPATTERN":
                return self.unfolded([*before, *value[3], *behind])
            if kind == "BRANCH":
                ways = [way for one in value[1] for way in self.unfolded([*before, *one, *behind])]
                return ways if len(ways) <= _MOST_WAYS else [parts]
        return [parts]

    def sequence(self, parts: Sequence[Part], behind: Chars | None) -> tuple[Cost, Cost]:
        """Return how often what comes behind is tried, and all steps of the parts.

        `behind` begins it, None where nothing has to come.
        """
        tried, spent = ONCE, Cost(0, 1)
        for number, part in enumerate(parts):
            after = self.begin(parts[number + 1 :], behind, before=part)
            ways, cost = self._part(part, after)
            spent = spent.plus(tried.times(cost))
            tried = tried.times(ways)
        return tried, spent

    def begin(
        self, parts: Sequence[Part], behind: Chars | None, before: Part | None = None
    ) -> Chars | None:
        """Return the characters that a sequence, and what comes behind it, can begin with.

        None where it may be nothing at all.
        """
        found: Chars = frozenset()
        for number, part in enumerate(parts):
            name, value = part
            kind = str(name)
            if kind == "AT":
                rest = self.begin(parts[number + 1 :], behind)
                allowed = self._edge(str(value), before if number == 0 else None)
                return found | (allowed if rest is None else allowed & rest or allowed)
            if kind in ("ASSERT", "ASSERT_NOT") and value[0] > 0:
                return found | self._ahead(
                    kind, list(value[1]), self.begin(parts[number + 1 :], behind)
                )
            if kind in ("ASSERT", "ASSERT_NOT"):
                continue
            found |= self._first(part)
            if not self._empty(part):
                return found
        return None if behind is None else found | behind

    def _ahead(self, kind: str, inner: list[Part], rest: Chars | None) -> Chars:
        if kind == "ASSERT":
            first = self.begin(inner, None)
            return _ANYTHING if first is None else first
        if len(inner) == 1 and (taken := self.chars(inner[0])) is not None:
            return (_ANYTHING if rest is None else rest) - taken
        return _ANYTHING if rest is None else rest

    def _edge(self, kind: str, before: Part | None) -> Chars:
        if kind == "AT_END_STRING":
            return frozenset({_END})
        if kind == "AT_END":
            return frozenset({_END, ord("\n")})
        if (
            kind == "AT_BOUNDARY"
            and before is not None
            and (taken := self._repeated(before)) is not None
            and taken <= _WORD
        ):
            return _ANYTHING - _WORD
        return _ANYTHING

    def _repeated(self, part: Part) -> Chars | None:
        if _name(part) in ("MAX_REPEAT", "MIN_REPEAT"):
            body = list(part[1][2])
            return self.chars(body[0]) if len(body) == 1 else None
        return self.chars(part)

    def _first(self, part: Part) -> Chars:
        kind, value = _name(part), part[1]
        if (taken := self.chars(part)) is not None:
            return taken
        if kind == "SUBPATTERN":
            return self.begin(list(value[3]), frozenset()) or frozenset()
        if kind == "BRANCH":
            return frozenset().union(
                *(self.begin(list(one), frozenset()) or frozenset() for one in value[1])
            )
        if kind in ("MAX_REPEAT", "MIN_REPEAT"):
            return self.begin(list(value[2]), frozenset()) or frozenset()
        return _ANYTHING

    def _empty(self, part: Part) -> bool:
        kind, value = _name(part), part[1]
        if kind == "SUBPATTERN":
            return all(self._empty(one) for one in value[3])
        if kind == "BRANCH":
            return any(all(self._empty(one) for one in branch) for branch in value[1])
        if kind in ("MAX_REPEAT", "MIN_REPEAT"):
            return value[0] == 0 or all(self._empty(one) for one in value[2])
        return kind in ("AT", "ASSERT", "ASSERT_NOT", "GROUPREF")

    def _part(self, part: Part, after: Chars | None) -> tuple[Cost, Cost]:
        kind, value = _name(part), part[1]
        if kind == "AT" or self.chars(part) is not None:
            return ONCE, ONCE
        if kind == "SUBPATTERN":
            return self.sequence(list(value[3]), after)
        if kind == "BRANCH":
            return self._branch([list(one) for one in value[1]], after)
        if kind in ("MAX_REPEAT", "MIN_REPEAT"):
            return self._repeat(int(value[0]), int(value[1]), list(value[2]), after)
        if kind in ("ASSERT", "ASSERT_NOT"):
            return ONCE, self.sequence(list(value[1]), _ANYTHING)[1]
        if kind == "GROUPREF":
            return ONCE, Cost(1, 1)
        return HOPELESS, HOPELESS

    def _branch(self, branches: list[list[Part]], after: Chars | None) -> tuple[Cost, Cost]:
        read = [self.sequence(branch, after) for branch in branches]
        firsts = [self.begin(branch, after) for branch in branches]
        apart = all(
            one is not None and other is not None and not one & other
            for number, one in enumerate(firsts)
            for other in firsts[number + 1 :]
        )
        ways = Cost(
            max(each.degree for each, _ in read),
            (max if apart else sum)(each.constant for each, _ in read),
        )
        return ways, Cost(
            max(cost.degree for _, cost in read), sum(cost.constant for _, cost in read)
        )

    def _repeat(
        self, least: int, most: int, body: list[Part], after: Chars | None
    ) -> tuple[Cost, Cost]:
        endless = most > _ENDLESS
        begins = self.begin(body, frozenset()) or frozenset()
        follows = after if most == 1 else begins if after is None else begins | after
        ways, cost = self.sequence(body, follows)
        rounds = Cost(1, 1) if endless else Cost(0, max(most, 1))
        single = len(body) == 1 and self.chars(body[0]) is not None
        decided = after is None or not begins & after
        if single and (decided or least == most):
            return ONCE, rounds
        if all(self._empty(part) for part in body) or (ways != ONCE and endless):
            return HOPELESS, HOPELESS
        if ways != ONCE:
            total = Cost(ways.degree * most, min(ways.constant**most, 1 << 62))
            return total, total.times(cost)
        # Each round reads on where the last one ended, so that all rounds together read the text
        # once.
        spent = rounds.times(
            Cost(cost.degree - 1, cost.constant)
            if endless and cost.degree and not self._looks(body)
            else cost
        )
        if (decided or least == most) and ways == ONCE:
            return ONCE, spent
        return rounds if endless else Cost(0, most - least + 1), spent

    def chars(self, part: Part) -> Chars | None:
        """Return the characters that a part for one character takes; None for any other part."""
        kind, value = _name(part), part[1]
        if kind == "LITERAL":
            return self._folded({value})
        if kind == "NOT_LITERAL":
            return _ALPHABET - self._folded({value})
        if kind == "ANY":
            return _ALPHABET if self.flags & re.DOTALL else _ALPHABET - {ord("\n")}
        if kind == "IN":
            return self._set(value)
        if kind == "SUBPATTERN" and len(value[3]) == 1:
            return self.chars(value[3][0])
        return None

    def _folded(self, codes: Iterable[int]) -> Chars:
        codes = frozenset(codes)
        if not self.flags & re.IGNORECASE:
            return codes
        return codes | {
            ord(other)
            for code in codes
            for other in (chr(code).lower(), chr(code).upper())
            if len(other) == 1
        }

    def _set(self, members: Sequence[Part]) -> Chars:
        found: set[int] = set()
        for name, value in members:
            kind = str(name)
            if kind == "LITERAL":
                found.add(value)
            elif kind == "RANGE":
                found |= {code for code in _ALPHABET if value[0] <= code <= value[1]}
            elif kind == "CATEGORY":
                words = str(value).removeprefix("CATEGORY_")
                inside = {
                    code
                    for code in _ALPHABET
                    if re.match(_CATEGORIES[words.removeprefix("NOT_")], chr(code))
                }
                found |= _ALPHABET - inside if words.startswith("NOT_") else inside
        folded = self._folded(found)
        return _ALPHABET - folded if members and str(members[0][0]) == "NEGATE" else folded

    def _looks(self, parts: Iterable[Part]) -> bool:
        """Say whether any part looks at text without taking it."""
        return "ASSERT" in str(list(parts)) or "GROUPREF" in str(list(parts))

    def may_fail(self, parts: list[Part]) -> list[Part]:
        """Leave out what ends a pattern and cannot fail any more.

        A start that comes so far is a match, and what it read is read once.
        """
        kept = list(parts)
        while (
            kept and _name(kept[-1]) not in ("AT", "ASSERT", "ASSERT_NOT") and self._empty(kept[-1])
        ):
            kept.pop()
        if not kept:
            return kept
        kind, value = _name(kept[-1]), kept[-1][1]
        if kind in ("MAX_REPEAT", "MIN_REPEAT") and int(value[1]) > int(value[0]):
            least = (kept[-1][0], (value[0], value[0], value[2]))
            return (
                self.may_fail([*kept[:-1], *value[2]])
                if int(value[0]) == 1
                else [*kept[:-1], least]
            )
        if kind == "SUBPATTERN":
            return [*kept[:-1], *self.may_fail(list(value[3]))]
        return kept

    def begins_apart(self, parts: list[Part]) -> bool:
        """Say whether no place is read by many starts of the endless repetitions.

        A beginning is what stands before the first endless repetition. Where it needs a character
        that none of these takes, what they have read holds no whole beginning. A line's start comes
        behind a line's end, the edge of a word is none within a word, and what must not come behind
        certain characters does not begin within a run of them.
        """
        taken = self._endless(parts)
        if parts and _name(parts[0]) == "AT":
            kind = str(parts[0][1])
            if (kind == "AT_BEGINNING" and ord("\n") not in taken) or (
                kind == "AT_BOUNDARY" and taken <= _WORD
            ):
                return True
        for part in parts:
            kind, value = _name(part), part[1]
            if (
                kind == "ASSERT_NOT"
                and value[0] < 0
                and len(value[1]) == 1
                and taken <= (self.chars(value[1][0]) or frozenset())
            ):
                return True
            if self._endless([part]):
                return False
            least = value[0] if kind in ("MAX_REPEAT", "MIN_REPEAT") else 0
            single = self._repeated(part) if least else self.chars(part)
            if single is not None and not single & taken:
                return True
        return False

    def _endless(self, parts: Iterable[Part]) -> Chars:
        taken: Chars = frozenset()
        for part in parts:
            kind, value = _name(part), part[1]
            if kind in ("MAX_REPEAT", "MIN_REPEAT"):
                taken |= (
                    self._all_chars(value[2])
                    if int(value[1]) > _ENDLESS
                    else self._endless(value[2])
                )
            elif kind == "SUBPATTERN":
                taken |= self._endless(value[3])
            elif kind == "BRANCH":
                taken |= frozenset().union(*(self._endless(one) for one in value[1]))
            elif kind in ("ASSERT", "ASSERT_NOT"):
                taken |= self._endless(value[1])
        return taken

    def _all_chars(self, parts: Iterable[Part]) -> Chars:
        taken: Chars = frozenset()
        for part in parts:
            kind, value = _name(part), part[1]
            if (single := self.chars(part)) is not None:
                taken |= single
            elif kind == "SUBPATTERN":
                taken |= self._all_chars(value[3])
            elif kind == "BRANCH":
                taken |= frozenset().union(*(self._all_chars(one) for one in value[1]))
            elif kind in ("MAX_REPEAT", "MIN_REPEAT"):
                taken |= self._all_chars(value[2])
        return taken
