"""Find the events of a log."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import accumulate, islice
from typing import Any, NamedTuple

import msgspec

from doctor.base.patterns import compile_pattern
from doctor.events.forms import ANYBODY, Form
from doctor.events.normal import NormalLine, folded, is_mild, is_supposed, is_title, normal
from doctor.events.tracebacks import CAUSE, HANDLING, HEADER, Traceback, tracebacks
from doctor.events.translations import ENGLISH
from doctor.events.voices import voices
from doctor.model.events import Event, Level
from doctor.model.observation import Log

_OFTEN = 20
"""Events of one form from the beginning of a log, and as many from its end."""
_TRIES = 20_000
"""Lines that are searched for one form, from each end of a log."""
_MOST = 2000
"""Events of one log."""
_SHOWN = 300
_PYTHON = "Python"
_STATEMENT = "raise-statement"
_PLACE = re.compile(r"\s{0,80}File \"[^\"]{1,600}\", line \d{1,7}, in ")
_EXCEPTION = (
    r"^\s{0,80}(?P<type>[A-Za-z_][\w.]{1,200})(?:\[[\w., ]{1,80}\])?(?:: (?P<message>.{1,500}))?"
)


class _Forms(NamedTuple):
    """All forms with their speakers, the words to look for, and which forms each word calls."""

    forms: tuple[tuple[str, Form], ...]
    words: tuple[str, ...]
    called: tuple[tuple[int, ...], ...]
    automaton: Any


class _Last(NamedTuple):
    """The log that was read last, its events, and the lines with candidates."""

    log: Log
    events: tuple[Event, ...]


_last: list[_Last] = []


def words() -> frozenset[str]:
    """Return lower-case texts: each line that holds an event holds one of them in some case."""
    # The blank may stand before the colon too.
    own = (
        word.removesuffix(": ") if word.endswith(": ") and len(word) > 5 else word
        for word in _forms().words
    )
    foreign = (text.lower() for others in ENGLISH.values() for text in others)
    return frozenset((*own, *foreign, HEADER, CAUSE, HANDLING))


@lru_cache(maxsize=1)
def _forms() -> _Forms:
    import ahocorasick_rs  # only logs are read with it

    forms = tuple((voice.speaker, form) for voice in voices() for form in voice.forms)
    called: dict[str, list[int]] = {HEADER: []}
    for number, (_, form) in enumerate(forms):
        for word in form.words:
            called.setdefault(word, []).append(number)
    texts = tuple(sorted(called))
    return _Forms(
        forms,
        texts,
        tuple(tuple(called[text]) for text in texts),
        ahocorasick_rs.BytesAhoCorasick(
            [text.encode() for text in texts],
            implementation=ahocorasick_rs.Implementation.ContiguousNFA,
        ),
    )


def events_of(log: Log) -> tuple[Event, ...]:
    """Return the events of a log in the order of its lines.

    Where one line has a specific event, its general ones are left out. Of one form that occurs very
    often, the first and the last events are returned.
    """
    if not _last or _last[0].log is not log:
        _last[:] = [_Last(log, _read(log))]
    return _last[0].events


def _read(log: Log) -> tuple[Event, ...]:
    lines = folded(log.lines)
    calls, starts = _candidates(lines)
    found = _Found(log, lines)
    order = sorted(calls)
    found.look((at, calls[at]) for at in order)
    found.look_back((at, calls[at]) for at in reversed(order))
    blocks = tracebacks(lines, starts)
    found.drop(_quoted(lines, blocks))
    found.without_title()
    for block in blocks:
        found.add_exception(block)
    return tuple(_placed(found.events(), blocks))


def _quoted(lines: Sequence[str], blocks: Sequence[Traceback]) -> Iterator[int]:
    """Yield the lines of source below the frames of tracebacks: nobody printed what they hold."""
    for block in blocks:
        for at in range(block.start + 2, block.exception):
            if _PLACE.match(normal(lines[at - 1]).text) and not _PLACE.match(lines[at]):
                yield at


def _candidates(lines: Sequence[str]) -> tuple[dict[int, frozenset[int]], list[int]]:
    """Return the forms to try on each line that holds a word of one, and where tracebacks begin."""
    forms = _forms()
    encoded = [line.encode("utf-8", "replace").lower() for line in lines]
    places = list(accumulate((len(line) + 1 for line in encoded), initial=0))
    calls: dict[int, set[int]] = {}
    starts: dict[int, None] = {}
    header = forms.words.index(HEADER)
    for word, start, _ in forms.automaton.find_matches_as_indexes(
        b"\n".join(encoded), overlapping=True
    ):
        at = bisect_right(places, start) - 1
        if word == header:
            starts[at] = None
        else:
            calls.setdefault(at, set()).update(forms.called[word])
    return {at: frozenset(numbers) for at, numbers in calls.items()}, list(starts)


class _Found:
    """The events of a log by their lines and forms."""

    def __init__(self, log: Log, lines: Sequence[str]) -> None:
        self._log = log
        self._lines = lines
        self._events: dict[int, dict[int, Event]] = {}
        self._reached: dict[int, int] = {}

    def look(self, candidates: Iterable[tuple[int, frozenset[int]]]) -> None:
        """Find the first events of each form."""
        count: Counter[int] = Counter()
        tries: Counter[int] = Counter()
        for at, numbers in candidates:
            open_ones = [one for one in numbers if count[one] < _OFTEN and tries[one] < _TRIES]
            for number in open_ones:
                tries[number] += 1
                if tries[number] == _TRIES:
                    self._reached[number] = at
            for number in self._here(at, open_ones):
                count[number] += 1
                if count[number] == _OFTEN:
                    self._reached[number] = at

    def look_back(self, candidates: Iterable[tuple[int, frozenset[int]]]) -> None:
        """Find the last events of each form that occurs often."""
        left = dict.fromkeys(self._reached, _OFTEN)
        tries: Counter[int] = Counter()
        for at, numbers in candidates:
            open_ones = [
                one
                for one in numbers
                if left.get(one) and at > self._reached[one] and tries[one] < _TRIES
            ]
            tries.update(open_ones)
            for number in self._here(at, open_ones):
                left[number] -= 1
            if not any(left.values()):
                break

    def _here(self, at: int, numbers: Sequence[int]) -> Iterator[int]:
        """Yield which forms match a line."""
        if not numbers:
            return
        line = normal(self._lines[at])
        if is_supposed(line.text) or is_title(line.text):
            return
        for number in numbers:
            if (event := self._event(number, at, line)) is not None:
                self._events.setdefault(at, {})[number] = event
                yield number

    def _event(self, number: int, at: int, line: NormalLine) -> Event | None:
        speaker, form = _forms().forms[number]
        text = line.text
        if form.joined and at + 1 < len(self._lines):
            text = f"{text.rstrip()} {normal(self._lines[at + 1]).text.strip()}"
        match = compile_pattern(form.pattern).search(text)
        if match is None:
            return None
        level = form.level
        if level is Level.FAILURE and is_mild(self._lines[at]):
            level = Level.WARNING
        return self._made(speaker, form.kind, at, line, level, match.groups, general=form.general)

    def _made(
        self,
        speaker: str,
        kind: str,
        at: int,
        line: NormalLine,
        level: Level,
        groups: Mapping[str, str],
        *,
        general: bool,
    ) -> Event:
        return Event(
            speaker=speaker,
            kind=kind,
            text=self._log.lines[at].strip()[:_SHOWN],
            source=self._log.source,
            at=at,
            line=self._log.number(at),
            level=level,
            objects={name: value.strip() for name, value in groups.items() if value},
            general=general,
            process=line.process,
        )

    def drop(self, quoted: Iterable[int]) -> None:
        """Leave out the events of lines of source, but for what they raise."""
        for at in quoted:
            if at in self._events:
                here = self._events[at]
                self._events[at] = {
                    number: event for number, event in here.items() if event.kind == _STATEMENT
                }

    def without_title(self) -> None:
        """Leave out what the first line says, where it is a title of what stands below in full."""
        at = next((at for at, line in enumerate(self._lines) if line.strip()), 0)
        if at not in self._events or any(map(str.strip, self._lines[at + 1 : at + 2])):
            return
        below = [
            event
            for place, here in self._events.items()
            if place > at
            for event in here.values()
            if event.level is not Level.WRAPPER
        ]
        here = self._events[at]
        self._events[at] = {
            number: event
            for number, event in here.items()
            if not any(_repeats(event, other) for other in below)
        }

    def add_exception(self, block: Traceback) -> None:
        """Add the exception of a traceback whose line holds no other event."""
        here = self._events.setdefault(block.exception, {})
        if here:
            return
        line = normal(self._lines[block.exception])
        match = compile_pattern(_EXCEPTION).search(line.text)
        groups = match.groups if match else {}
        here[-1] = self._made(
            _PYTHON, "exception", block.exception, line, Level.FAILURE, groups, general=True
        )

    def events(self) -> Iterator[Event]:
        """Yield the events in the order of their lines, of each line the most specific ones."""
        for at in sorted(self._events):
            here = [self._events[at][number] for number in sorted(self._events[at])]
            if not here:
                continue
            yield from _most_specific(here)


def _repeats(title: Event, other: Event) -> bool:
    """Say whether a title reports what another line reports, and names nothing beyond it."""
    return title.kind == other.kind and all(
        any(value in known or known in value for known in other.objects.values())
        for value in title.objects.values()
    )


def _most_specific(here: Sequence[Event]) -> Sequence[Event]:
    """Return the specific events of a line, else a report about another failure, else one event."""
    specific = [one for one in here if not one.general]
    if specific:
        return specific
    known = [one for one in here if one.speaker != ANYBODY] or here
    return known[:1]


def _placed(events: Iterable[Event], blocks: Sequence[Traceback]) -> Iterator[Event]:
    """Yield events, those of tracebacks with the lines and the chain of these."""
    of_process: dict[str, list[Traceback]] = {}
    for block in blocks:
        of_process.setdefault(block.process, []).append(block)
    starts = {name: [one.start for one in own] for name, own in of_process.items()}
    for event in islice(events, _MOST):
        which = bisect_right(starts.get(event.process, ()), event.at) - 1
        placed = of_process[event.process][which] if which >= 0 else None
        if placed is None or event.at > placed.end:
            yield event
        else:
            yield msgspec.structs.replace(
                event, first=placed.start, last=placed.end, chain=placed.chain
            )
