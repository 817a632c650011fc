"""What the analyzers explain of a text, for the tests of each of them."""

from __future__ import annotations

from functools import cache

from doctor.analyzers import explanations
from doctor.analyzers.case import Case, Explanation
from doctor.catalog import loading
from doctor.events.context import Context
from doctor.events.reading import events_of
from doctor.model.catalog import Catalog
from doctor.model.facts import Fact, present
from doctor.model.observation import Log


@cache
def catalog() -> Catalog:
    """Return the catalog, loaded once."""
    return loading.load()


def case_of(text: str, *, os: str = "", **facts: object) -> Case:
    """Return the case of a text; facts are given by their names with _ for the dot."""
    log = Log(source="log", lines=tuple(text.split("\n")))
    known: dict[str, Fact] = {
        name.replace("_", ".", 1): present(value, "test") for name, value in facts.items()
    }
    return Case(log, events_of(log), Context(os=os), known, catalog())


def explained(text: str, *, os: str = "", **facts: object) -> list[Explanation]:
    """Return all explanations of a text."""
    return list(explanations(case_of(text, os=os, **facts), strict=True))


def said(text: str, *, os: str = "", **facts: object) -> list[tuple[str, str]]:
    """Return the id and the title of each finding for a text."""
    return [
        (one.detection.id.removeprefix("failure/"), one.detection.title)
        for one in explained(text, os=os, **facts)
    ]
