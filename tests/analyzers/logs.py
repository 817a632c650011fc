"""What analyzers make of a text."""

from __future__ import annotations

import io
from collections.abc import Mapping

from doctor.analyzers.case import Case, Explanation
from doctor.events.reading import events_of
from doctor.events.surroundings import context_of
from doctor.model.facts import present
from doctor.pipeline.logs import observation_from_logs, read_log
from tests.analyzers.explained import catalog


def case_of(text: str, facts: Mapping[str, object] | None = None) -> Case:
    """Return the case of a log, with what it says of its machine and more facts."""
    log = read_log("log", io.BytesIO(text.encode()), catalog())
    known = dict(observation_from_logs([log]).facts)
    known |= {name: present(value, "test") for name, value in (facts or {}).items()}
    return Case(log, events_of(log), context_of(log), known, catalog())


def all_texts(explanation: Explanation) -> str:
    """Return the title, the cause and the titles of the fixes of an explanation."""
    found = explanation.detection
    return "\n".join([found.title, found.message, *(recipe.title for recipe in found.recipes)])
