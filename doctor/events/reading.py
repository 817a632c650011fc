"""Find the events of a log."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import accumulate
from typing import Any, NamedTuple

from doctor.base.patterns import compile_pattern
from doctor.events.forms import Form
from doctor.events.voices import voices
from doctor.model.events import Event
from doctor.model.observation import Log

_LONGEST = 2000
"""Characters of a line that are searched."""
_OFTEN = 40
"""Events of one form in one log: what stands in every line tells nothing more."""
_MOST = 2000
"""Events of one log."""


class _Forms(NamedTuple):
    """All forms with their speakers, the words to look for, and which forms each word calls."""

    forms: tuple[tuple[str, Form], ...]
    words: tuple[str, ...]
    called: tuple[tuple[int, ...], ...]
    automaton: Any


def words() -> frozenset[str]:
    """Return lower-case texts: each line that holds an event holds one of them in some case."""
    return frozenset(_forms().words)


@lru_cache(maxsize=1)
def _forms() -> _Forms:
    import ahocorasick_rs  # only logs are read with it

    forms = tuple((voice.speaker, form) for voice in voices() for form in voice.forms)
    called: dict[str, list[int]] = {}
    for number, (_, form) in enumerate(forms):
        for word in form.words:
            called.setdefault(word, []).append(number)
    texts = tuple(sorted(called))
    return _Forms(
        forms,
        texts,
        tuple(tuple(called[text]) for text in texts),
        ahocorasick_rs.BytesAhoCorasick([text.encode() for text in texts]),
    )


def events_of(log: Log) -> tuple[Event, ...]:
    """Return the events of a log in the order of its lines.

    Where one line has a specific event, its general ones are left out.
    """
    found: list[Event] = []
    seen: Counter[int] = Counter()
    for at, numbers in _candidates(log.lines):
        here = [
            (number, event)
            for number in numbers
            if seen[number] < _OFTEN and (event := _event(number, log, at)) is not None
        ]
        seen.update(number for number, _ in here)
        events = [event for _, event in here]
        found += [one for one in events if not one.general] or events[:1]
        if len(found) >= _MOST:
            break
    return tuple(found[:_MOST])


def _candidates(lines: Sequence[str]) -> Iterator[tuple[int, tuple[int, ...]]]:
    """Yield each line that holds a word of a form, with the numbers of these forms."""
    forms = _forms()
    encoded = [line[:_LONGEST].encode("utf-8", "replace").lower() for line in lines]
    starts = list(accumulate((len(line) + 1 for line in encoded), initial=0))
    calls: dict[int, set[int]] = {}
    for word, start, _ in forms.automaton.find_matches_as_indexes(
        b"\n".join(encoded), overlapping=True
    ):
        calls.setdefault(bisect_right(starts, start) - 1, set()).update(forms.called[word])
    for at in sorted(calls):
        yield at, tuple(sorted(calls[at]))


def _event(number: int, log: Log, at: int) -> Event | None:
    speaker, form = _forms().forms[number]
    line = log.lines[at][:_LONGEST]
    if form.joined and at + 1 < len(log.lines):
        line = f"{line} {log.lines[at + 1][:_LONGEST].strip()}"
    match = compile_pattern(form.pattern).search(line)
    if match is None:
        return None
    return Event(
        speaker=speaker,
        kind=form.kind,
        text=log.lines[at].strip()[:300],
        source=log.source,
        at=at,
        line=log.number(at),
        level=form.level,
        objects={name: value for name, value in match.groups.items() if value},
        general=form.general,
    )
