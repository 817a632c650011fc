"""Find known issues that resemble a failure which none of them explains."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from math import log as logarithm

from doctor.events.owner import owning_event
from doctor.events.reading import events_of
from doctor.logs.endings import ended_well
from doctor.model.events import Event, Level
from doctor.model.issues import KnownIssue
from doctor.model.observation import Observation
from doctor.model.report import LookAlike

_SHOWN = 3
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]{3,60}")
_PLAIN = re.compile(r"[a-z_][a-z0-9_]{1,60}")
_PATH = re.compile(r"(?:[A-Za-z]:)?[\w.~+-]{0,80}[/\\](?:[\w.+@~-]{1,100}[/\\]){0,40}")
_MOST_WORDS = 40
_RARE = 0.02
"""Share of the known issues in which a word may stand that says something."""
_TELLING = 2
"""Rare words that a look-alike shares with the failure, at least; one suffices that hardly any
other issue has."""
_HARDLY_ANY = 3
_ENOUGH = 0.12
"""Share of what the words of the failure tell that a look-alike has to have."""


def look_alikes(
    observation: Observation, issues: Mapping[str, KnownIssue]
) -> tuple[LookAlike, ...]:
    """Return the known issues, three at most, that share rare words with the owning failure.

    They are no findings: their text does not stand in the log.
    """
    event = _failure(observation)
    if event is None:
        return ()
    words = _words(event)
    texts = {name: _text(issue) for name, issue in issues.items()}
    holders = {word: [name for name, text in texts.items() if word in text] for word in words}
    total = max(len(issues), 1)
    weights = {word: logarithm((total + 1) / (len(names) + 1)) for word, names in holders.items()}
    everything = sum(weights.values())
    shared: dict[str, list[str]] = {}
    for word, names in holders.items():
        if len(names) <= max(_HARDLY_ANY, _RARE * total):
            for name in names:
                shared.setdefault(name, []).append(word)
    close = [
        (sum(weights[word] for word in own), name, own)
        for name, own in shared.items()
        if len(own) >= _TELLING or len(holders[own[0]]) <= _HARDLY_ANY
    ]
    best = sorted(
        (one for one in close if one[0] >= _ENOUGH * everything), key=lambda one: (-one[0], one[1])
    )
    return tuple(
        LookAlike(id=name, title=issues[name].title, shares=tuple(own))
        for _, name, own in best[:_SHOWN]
    )


def _failure(observation: Observation) -> Event | None:
    """Return the first failure of the logs; of a warning alone nobody asks what it resembles."""
    for log in observation.logs:
        event = None if ended_well(log.lines) else owning_event(events_of(log))
        if event is not None and event.level is Level.FAILURE:
            return event
    return None


def _words(event: Event) -> Sequence[str]:
    """Return the words of a failure and its pairs of words, without folders, in lower case."""
    text = _PATH.sub(" ", " ".join((event.text, *event.objects.values())))
    single = [word.lower() for word in _WORD.findall(text)]
    pairs = [f"{one} {two}" for one, two in pairwise(_PLAIN.findall(text.lower()))]
    return list(dict.fromkeys([*single[:_MOST_WORDS], *pairs[:_MOST_WORDS]]))


def _text(issue: KnownIssue) -> str:
    """Return what an issue looks like: its title, its cause and its signatures."""
    patterns = (
        pattern
        for signature in issue.signatures
        for pattern in (signature.pattern, *signature.also)
    )
    return "\n".join((issue.title, issue.cause, *patterns)).replace("\\", "").lower()
