"""What analyzers of Python packages say of a text, with nothing but that text known."""

from __future__ import annotations

import importlib

from doctor.analyzers.case import Case, Explanation
from doctor.events.reading import events_of
from doctor.events.surroundings import context_of
from doctor.logs.log import log_facts
from doctor.model.observation import Log
from tests.analyzers.explained import catalog


def case_of(text: str) -> Case:
    """Return the case of a text."""
    log = Log(source="log", lines=tuple(text.strip("\n").split("\n")))
    return Case(log, events_of(log), context_of(log), log_facts(log), catalog())


def explained(analyzer: str, text: str) -> list[Explanation]:
    """Return what one analyzer explains of a text."""
    module = importlib.import_module(f"doctor.analyzers.{analyzer}")
    return list(module.explain(case_of(text)))


def told(analyzer: str, text: str) -> Explanation:
    """Return the only explanation of a text."""
    found = explained(analyzer, text)
    assert len(found) == 1, [one.detection.title for one in found]
    return found[0]


def installs(found: Explanation) -> list[tuple[str, ...]]:
    """Return what each recipe of an explanation installs."""
    return [
        tuple(one for step in recipe.steps for one in step.install)
        for recipe in found.detection.recipes
    ]


def hostile(analyzer: str, words: tuple[str, ...]) -> None:
    """Run an analyzer on texts that nobody meant to print; it neither fails nor writes them."""
    tails = (
        "",
        "'" * 300,
        "{python.executable}",
        "$(reboot)",
        "; rm -rf ~",
        "\u202e\x1b[31m",
        "9" * 900,
    )
    for word in words:
        for tail in tails:
            text = (
                f'Traceback (most recent call last):\n  File "{tail}", line 1\n{word}{tail}\'{tail}'
            )
            for found in explained(analyzer, text):
                for recipe in found.detection.recipes:
                    for step in recipe.steps:
                        written = (*step.install, *step.run)
                        assert not any("reboot)" in one or "rm -rf" in one for one in written)
