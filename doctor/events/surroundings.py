"""Read the context of a log."""

from __future__ import annotations

from doctor.events.context import Context
from doctor.model.observation import Log


def context_of(log: Log) -> Context:
    """Return what a log shows of where it was printed."""
    del log
    return Context()
