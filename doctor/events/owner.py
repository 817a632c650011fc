"""Find the event that owns a failure: the one that the others report about."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from doctor.events.forms import ANYBODY
from doctor.model.events import Event, Level

_LOOKUPS = frozenset(
    {
        "AttributeError",
        "ImportError",
        "IndexError",
        "KeyError",
        "LookupError",
        "ModuleNotFoundError",
        "StopIteration",
        "TypeError",
    }
)
"""What programs raise and catch to find out whether something is there."""
_WENT_ON = 6
"""Lines after a traceback that show that its program went on."""
_FINAL = frozenset({"killed", "terminated", "interpreter-error", "panic", "compiler-killed"})
"""Kinds of events after which a program does nothing more."""
_BUILD = frozenset({"compile-error", "link-error", "configure-error", "install-error"})
_HARMLESS = "harmless"
"""What looks like a failure, and is none wherever it stands."""
_STATEMENT = "raise-statement"
"""The line of a program that raises: the exception tells more, where it stands."""
_BEFORE = 4
_AFTER = 3
"""Lines around an event without a traceback that belong to it."""


def owning_event(events: Sequence[Event]) -> Event | None:
    """Return the event that most likely owns the failure of a log.

    A failure counts for more than a warning, and that for more than the report about another
    program's failure. Of the failures, one that names an object counts for more, and the last
    traceback of a process for more than those that it survived. Among equals the first one counts:
    programs report in layers, each below the one that it reports about, and of several processes
    the others fail because the first one did.
    """
    events = [event for event in events if event.kind != _HARMLESS]
    failures = [event for event in events if event.level is Level.FAILURE]
    failures = [one for one in failures if not _is_shown_below(one, failures)]
    units = _units(failures)
    if units:
        ends = {unit[-1].process: index for index, unit in enumerate(units) if unit[0].first >= 0}
        scores = [
            _score(unit, units[index + 1 :], is_last=ends.get(unit[-1].process) == index)
            for index, unit in enumerate(units)
        ]
        scores[0] += 1
        return _cause(units[scores.index(max(scores))])
    for level in (Level.WARNING, Level.WRAPPER):
        others = [event for event in events if event.level is level]
        if others:
            return next((event for event in others if not event.general), others[0])
    return None


def _is_shown_below(event: Event, failures: Sequence[Event]) -> bool:
    """Say whether the exception of a line that raises stands in one of the next lines."""
    return event.kind == _STATEMENT and any(
        0 < other.at - event.at <= _AFTER and other.kind != _STATEMENT for other in failures
    )


def failure_lines(events: Sequence[Event], owner: Event) -> range:
    """Return the indices of the lines that report the failure of an owning event.

    They are those of its traceback and of the ones that are chained to it, else a few around it.
    """
    for unit in _units(event for event in events if event.first >= 0):
        if any(event.at == owner.at for event in unit):
            first = min(event.first for event in unit)
            return range(first, max(event.last for event in unit) + 1)
    return range(max(owner.at - _BEFORE, 0), owner.at + _AFTER + 1)


def _units(events: Iterable[Event]) -> list[list[Event]]:
    """Return the events of chained tracebacks together, and each other event alone.

    The tracebacks of several processes may be printed line by line in turns.
    """
    units: list[list[Event]] = []
    open_units: dict[str, list[Event]] = {}
    for event in events:
        unit = open_units.get(event.process)
        if (
            unit is None
            or event.first < 0
            or unit[-1].first < 0
            or (event.first != unit[-1].first and not event.chain)
        ):
            unit = open_units[event.process] = []
            units.append(unit)
        unit.append(event)
    return units


def _cause(unit: Sequence[Event]) -> Event:
    """Return the event that the others of chained tracebacks follow from.

    What was raised while a failed lookup was handled is the failure; the lookup was a question.
    """
    shown = [event for event in unit if event.kind != _STATEMENT] or unit
    specific = [event for event in shown if not event.general] or shown
    first, last = specific[0], specific[-1]
    if last.chain == "handling" and first.first != last.first:
        name = first.objects.get("type", first.text.partition(":")[0]).rpartition(".")[2]
        return last if name in _LOOKUPS else first
    return first


def _score(unit: Sequence[Event], later: Sequence[Sequence[Event]], *, is_last: bool) -> int:
    event = _cause(unit)
    score = 0 if event.general else 3
    if event.first >= 0:
        score += 3 if is_last else 0
        if not is_last and _went_on(unit, later):
            score -= 3
    elif event.kind in _FINAL or event.kind in _BUILD:
        score += 2
    elif event.speaker != ANYBODY and event.kind != _STATEMENT:
        score += 1
    return score


def _went_on(unit: Sequence[Event], later: Sequence[Sequence[Event]]) -> bool:
    """Say whether a program printed more after a traceback, and then another traceback."""
    end = unit[-1].last
    following = [
        other[0].first
        for other in later
        if other[0].first >= 0 and other[0].process == unit[-1].process
    ]
    return bool(following) and following[0] - end > _WENT_ON
