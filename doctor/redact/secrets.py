"""Blank out credentials. Every text passes here before it is cut or printed."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache, partial
from itertools import accumulate
from typing import Any, TypeAlias

import msgspec

from doctor.base.lazy_pattern import Pattern
from doctor.redact import addresses, commands, forms, keys, names, shapes
from doctor.redact.values import HIDDEN, Span, looks_random

_SHORTEST = 6
"""Characters that the shortest secret has together with what tells it."""
_BLANKED = HIDDEN.strip("[]")
_Finds: TypeAlias = Callable[[str, Sequence[Span]], Iterator[Span]]
_SEAM = Pattern(r"[\w+/=.~%-]\n[\w+/=.~%-]")
_NARROW, _AROUND = 40, 200
"""Least length of a line that a terminal wrapped, and characters examined on each side."""


class _Rules(msgspec.Struct, frozen=True):
    """All rules: the automaton of keywords, the rules of each keyword, and their functions."""

    automaton: Any
    woken: tuple[tuple[int, ...], ...]
    finds: tuple[_Finds, ...]


@lru_cache(maxsize=1)
def _rules() -> _Rules:
    import ahocorasick_rs  # what writes nothing loads nothing

    told: list[tuple[Iterable[str], _Finds]] = [
        (names.WORDS, forms.assigned),
        (forms.HEADERS, forms.headers),
        (("://",), addresses.credentials),
        (("@",), addresses.pairs),
        (("-----begin", "-----end", "private-lines:", "private-mac:"), keys.private),
        *((shape.keywords, partial(shapes.find_shape, shape)) for shape in shapes.shapes()),
        *((carrier.keywords, partial(commands.carried, carrier)) for carrier in commands.CARRIERS),
    ]
    woken: dict[str, list[int]] = {}
    for number, (texts, _) in enumerate(told):
        for text in texts:
            woken.setdefault(text, []).append(number)
    automaton = ahocorasick_rs.AhoCorasick(
        list(woken), implementation=ahocorasick_rs.Implementation.ContiguousNFA
    )
    return _Rules(automaton, tuple(map(tuple, woken.values())), tuple(find for _, find in told))


def load_rules() -> None:
    """Load the rules: two milliseconds that may pass while something else is waited for."""
    _rules()


def without_secrets(text: str) -> str:
    """Return a text with every secret in it blanked; lines stay lines."""
    if len(text) < _SHORTEST:
        return text
    spans = _find_spans(text)
    if len(text) > _NARROW and "\n" in text:
        spans = [*spans, *_wrapped(text)]
    return _blanked(text, spans) if spans else text


def texts_with_keywords(texts: Sequence[str]) -> Iterator[int]:
    """Yield the numbers of the texts that may hold a secret: one look at thousands of short ones.

    A name may be wrapped in a longer one.
    """
    starts = [0, *accumulate(len(text) + 1 for text in texts)]
    hits = _rules().automaton.find_matches_as_indexes(_small("\n".join(texts)))
    named = {bisect_right(starts, start) - 1 for _, start, _ in hits}
    yield from sorted(
        named
        | {number for number, text in enumerate(texts) if len(text) > _NARROW and "\n" in text}
    )


def _find_spans(text: str) -> list[Span]:
    rules = _rules()
    places: dict[int, list[Span]] = {}
    for which, start, end in rules.automaton.find_matches_as_indexes(
        _small(text), overlapping=True
    ):
        for number in rules.woken[which]:
            places.setdefault(number, []).append((start, end))
    spans = [span for number, here in places.items() for span in rules.finds[number](text, here)]
    return [
        (start, end)
        for start, end in spans
        if start < end and text[start:end].strip("[]") != _BLANKED
    ]


def _small(text: str) -> str:
    """Return a text in small letters, each where it stood: there are letters that become two.

    The automaton speaks UTF-8. A byte of a name that is no UTF-8 is half a surrogate pair for
    Python, and a question mark here.
    """
    small = text.lower()
    if len(small) != len(text):
        small = "".join(one if len(one := char.lower()) == 1 else char for char in text)
    try:
        small.encode()
    except UnicodeEncodeError:
        return small.encode("utf-8", "replace").decode()
    return small


def _wrapped(text: str) -> Iterator[Span]:
    """Yield the halves of secrets that a terminal wrapped.

    Such a secret is found where the line end is taken out.
    """
    seams = [
        (start, place, end)
        for start, place, end in map(partial(_around, text), _SEAM.finditer(text))
        if place - start >= _NARROW
    ]
    joined = [text[start:place] + text[place + 1 : end] for start, place, end in seams]
    for number in texts_with_keywords(joined):
        start, place, _ = seams[number]
        for first, last in _find_spans(joined[number]):
            if start + first < place < start + last and _goes_on(
                text, start, place, start + last + 1
            ):
                yield start + first, place
                yield place + 1, start + last + 1


def _goes_on(text: str, start: int, place: int, end: int) -> bool:
    """Say whether a secret continues behind a line end.

    It does where it is none without the next line, or that line looks like its rest.
    """
    whole = any(last == place - start for _, last in _find_spans(text[start:place]))
    return not whole or looks_random(text[place + 1 : end], 4)


def _around(text: str, seam: re.Match[str]) -> tuple[int, int, int]:
    """Return where the line above a line end begins, its end, and where the line below ends.

    Of long ones what is near.
    """
    place = seam.start() + 1
    end = text.find("\n", place + 1)
    start = max(text.rfind("\n", 0, place) + 1, place - _AROUND)
    return start, place, min(end if end >= 0 else len(text), place + 1 + _AROUND)


def _blanked(text: str, spans: Iterable[Span]) -> str:
    parts, at = [], 0
    for start, end in _merged(spans):
        parts += [
            text[at:start],
            "\n".join(HIDDEN if line.strip() else line for line in text[start:end].split("\n")),
        ]
        at = end
    return "".join((*parts, text[at:]))


def _merged(spans: Iterable[Span]) -> Iterator[Span]:
    begun, done = -1, -1
    for start, end in sorted(spans):
        if start > done:
            if done >= 0:
                yield begun, done
            begun, done = start, end
        done = max(done, end)
    if done >= 0:
        yield begun, done
