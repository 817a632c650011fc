"""A regular expression as an automaton that reads each character of a text once.

For machines without a wheel of RE2.

What it may match is followed at all places at once, in the order in which a search that goes back
would try them (Pike's machine, https://swtch.com/~rsc/regexp/regexp2.html), so a text costs at most
its length times that of the pattern, in time, whatever both hold.
"""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple, TypeAlias

from doctor.base.patterns import PatternError, PatternMatch

_parser = importlib.import_module("re._parser" if sys.version_info >= (3, 11) else "sre_parse")
_MOST = 20_000
"""Steps of an automaton: a pattern that unfolds into more is refused."""
_MOST_REPEATED = 1000
_ENDLESS = 1 << 16

_Test: TypeAlias = Callable[[str], bool]
_Places: TypeAlias = tuple[int, ...]


class _Step(NamedTuple):
    """One instruction of the automaton.

    It reads a character that passes `test`, stores the offset in `slot`, asserts the position `at`,
    or forks to each of `ways`.
    """

    test: _Test | None = None
    slot: int = -1
    at: str = ""
    ways: tuple[int, ...] = ()


_END = _Step()
_EDGES: dict[str, Callable[[str, int], bool]] = {
    "AT_BEGINNING": lambda text, place: place == 0 or text[place - 1] == "\n",
    "AT_BEGINNING_STRING": lambda _text, place: place == 0,
    "AT_END": lambda text, place: place == len(text) or text[place] == "\n",
    "AT_END_STRING": lambda text, place: place == len(text),
}
_CATEGORIES = {
    "CATEGORY_DIGIT": re.compile(r"\d").match,
    "CATEGORY_NOT_DIGIT": re.compile(r"\D").match,
    "CATEGORY_SPACE": re.compile(r"\s").match,
    "CATEGORY_NOT_SPACE": re.compile(r"\S").match,
    "CATEGORY_WORD": re.compile(r"\w").match,
    "CATEGORY_NOT_WORD": re.compile(r"\W").match,
}


def _edge(text: str, place: int) -> bool:
    before, behind = text[max(place - 1, 0) : place], text[place : place + 1]
    return bool(re.match(r"\w", before)) != bool(re.match(r"\w", behind))


_EDGES |= {"AT_BOUNDARY": _edge, "AT_NON_BOUNDARY": lambda text, place: not _edge(text, place)}


class Automaton:
    """A pattern that is searched for; lines are told apart.

    Raises PatternError for what an automaton cannot do.
    """

    def __init__(self, pattern: str) -> None:
        """Parse and unfold a pattern."""
        try:
            parsed = _parser.parse(pattern, re.MULTILINE)
        except (re.error, RecursionError, OverflowError) as error:
            raise PatternError(f"{pattern!r}: {error}") from None
        self._pattern = pattern
        self._flags = int(parsed.state.flags)
        self._names: dict[str, int] = parsed.state.groupdict
        self._slots = 2 * parsed.state.groups
        self._steps: list[_Step] = []
        try:
            self._all(parsed)
        except RecursionError as error:
            raise PatternError(f"{pattern!r}: {error}") from None
        self._add(_END)

    def search(self, text: str) -> PatternMatch | None:
        """Return the first match."""
        threads: list[tuple[int, _Places]] = []
        seen: set[int] = set()
        best: _Places | None = None
        nowhere = (-1,) * self._slots
        for place in range(len(text) + 1):
            if best is None:
                self._follow(0, (place, *nowhere[1:]), text, place, threads, seen)
            elif not threads:
                break
            char = text[place : place + 1]
            going: list[tuple[int, _Places]] = []
            seen = set()
            for number, places in threads:
                step = self._steps[number]
                if step is _END:
                    best = (places[0], place, *places[2:])
                    break  # what comes after this one would have been tried later
                if char and step.test is not None and step.test(char):
                    self._follow(number + 1, places, text, place + 1, going, seen)
            threads = going
        return None if best is None else self._as_match(text, best)

    def _as_match(self, text: str, places: _Places) -> PatternMatch:
        spans = {
            name: (places[2 * number], places[2 * number + 1])
            for name, number in self._names.items()
        }
        groups = {name: text[start:end] for name, (start, end) in spans.items() if 0 <= start < end}
        return PatternMatch(places[0], text[places[0] : places[1]], groups)

    def _follow(
        self,
        number: int,
        places: _Places,
        text: str,
        place: int,
        threads: list[tuple[int, _Places]],
        seen: set[int],
    ) -> None:
        """Add what can be read next from a step on, in the order of preference."""
        waiting = [(number, places)]
        while waiting:
            number, places = waiting.pop()
            if number in seen:
                continue
            seen.add(number)
            step = self._steps[number]
            if step.ways:
                waiting += [(way, places) for way in reversed(step.ways)]
            elif step.slot >= 0:
                waiting.append(
                    (number + 1, (*places[: step.slot], place, *places[step.slot + 1 :]))
                )
            elif step.at:
                if _EDGES[step.at](text, place):
                    waiting.append((number + 1, places))
            else:
                threads.append((number, places))

    def _add(self, step: _Step) -> int:
        if len(self._steps) >= _MOST:
            raise PatternError(f"{self._pattern!r}: too long once its repetitions are unfolded")
        self._steps.append(step)
        return len(self._steps) - 1

    def _all(self, parts: Iterable[tuple[Any, Any]]) -> None:
        for kind, value in parts:
            self._part(str(kind), value)

    def _part(self, kind: str, value: Any) -> None:
        if kind == "AT" and str(value) in _EDGES:
            self._add(_Step(at=str(value)))
        elif kind in ("MAX_REPEAT", "MIN_REPEAT"):
            self._repeat(*value, greedy=kind == "MAX_REPEAT")
        elif kind == "BRANCH":
            self._branch(value[1])
        elif kind == "SUBPATTERN":
            number, more, less, body = value
            flags, self._flags = self._flags, (self._flags | more) & ~less
            self._group(number, body)
            self._flags = flags
        else:
            self._add(_Step(test=self._test(kind, value)))

    def _group(self, number: int | None, body: Any) -> None:
        if number is None:
            self._all(body)
            return
        self._add(_Step(slot=2 * number))
        self._all(body)
        self._add(_Step(slot=2 * number + 1))

    def _branch(self, branches: list[Any]) -> None:
        fork, ways, ends = self._add(_END), [], []
        for branch in branches:
            ways.append(len(self._steps))
            self._all(branch)
            ends.append(self._add(_END))
        self._steps[fork] = _Step(ways=tuple(ways))
        for end in ends:
            self._steps[end] = _Step(ways=(len(self._steps),))

    def _repeat(self, least: int, most: Any, body: Any, *, greedy: bool) -> None:
        endless = int(most) > _ENDLESS
        if least > _MOST_REPEATED or (int(most) > _MOST_REPEATED and not endless):
            raise PatternError(f"{self._pattern!r}: a repetition above {_MOST_REPEATED}")
        for _ in range(least):
            self._all(body)
        forks = []
        for _ in range(1 if endless else int(most) - least):
            forks.append(self._add(_END))
            self._all(body)
        if endless:
            self._add(_Step(ways=(forks[0],)))
        for fork in forks:
            ways = (fork + 1, len(self._steps))
            self._steps[fork] = _Step(ways=ways if greedy else ways[::-1])

    def _test(self, kind: str, value: Any) -> _Test:
        tests = list(self._members([(kind, value)]))
        if not self._flags & re.IGNORECASE:
            return tests[0]
        return lambda char: any(tests[0](one) for one in {char, char.lower(), char.upper()})

    def _members(self, parts: Iterable[tuple[Any, Any]]) -> Iterator[_Test]:
        for kind, value in parts:
            name = str(kind)
            if name in ("LITERAL", "NOT_LITERAL"):
                letter, is_it = chr(value), name == "LITERAL"
                yield lambda char, letter=letter, is_it=is_it: (char == letter) is is_it  # type: ignore[misc]
            elif name == "RANGE":
                first, last = map(chr, value)
                yield lambda char, first=first, last=last: first <= char <= last  # type: ignore[misc]
            elif name == "CATEGORY":
                category = _CATEGORIES[str(value)]
                yield lambda char, category=category: category(char) is not None  # type: ignore[misc]
            elif name == "ANY":
                dot_all = bool(self._flags & re.DOTALL)
                yield lambda char, dot_all=dot_all: dot_all or char != "\n"  # type: ignore[misc]
            elif name == "IN":
                yield self._set(value)
            else:
                raise PatternError(
                    f"{self._pattern!r}: {name.lower().replace('_', '-')} needs an engine that "
                    f"goes back"
                )

    def _set(self, parts: list[tuple[Any, Any]]) -> _Test:
        negated = str(parts[0][0]) == "NEGATE"
        tests = tuple(self._members(parts[1:] if negated else parts))
        known: dict[str, bool] = {}

        def test(char: str) -> bool:
            if (said := known.get(char)) is None:
                said = known[char] = any(one(char) for one in tests) is not negated
            return said

        return test
