"""Find the event that owns a failure: the one that the others report about."""

from __future__ import annotations

from collections.abc import Sequence

from doctor.model.events import Event, Level


def owning_event(events: Sequence[Event]) -> Event | None:
    """Return the event that most likely owns the failure of a log.

    A specific failure counts for more than a general one, a failure for more than the report about
    another program's failure, whether it stands before or after it. Among equals the first one
    counts: programs report in layers, each below the one that it reports about.
    """
    failures = [event for event in events if event.level is Level.FAILURE]
    for candidates in (
        [event for event in failures if not event.general],
        failures,
        [event for event in events if event.level is Level.WRAPPER],
    ):
        if candidates:
            return candidates[0]
    return None
