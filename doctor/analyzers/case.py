"""What an analyzer is given, and what it returns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import IntEnum
from typing import NamedTuple, Protocol

import msgspec

from doctor.events.context import Context
from doctor.model.catalog import Catalog
from doctor.model.events import Event, Level
from doctor.model.facts import Facts
from doctor.model.findings import Detection, Evidence, EvidenceKind
from doctor.model.issues import Recipe
from doctor.model.observation import Log
from doctor.model.scales import Confidence, Severity

_LONGEST_TITLE = 300
"""Characters of a title; objects of a log can be of any length."""
PREFIX = "failure/"
"""The ids of findings that an analyzer makes begin with it."""


class Case(NamedTuple):
    """One log with its events, its context, the facts, and the catalog."""

    log: Log
    events: tuple[Event, ...]
    context: Context
    facts: Facts
    catalog: Catalog

    def of(self, *kinds: str) -> Iterator[Event]:
        """Yield the events of these kinds."""
        return (event for event in self.events if event.kind in kinds)


class Precision(IntEnum):
    """How much an explanation knows.

    `GUESS` only says whose code failed, and `ADVICE` what the message itself advises; both count
    where nothing else explains the log.
    `EXACT` names the cause by data or by the log's own numbers ("built for torch 2.4; 2.6 is
    installed"). `FAMILY` names the mechanism and what to check first.
    """

    GUESS = -2
    ADVICE = -1
    FAMILY = 0
    EXACT = 1


class Explanation(msgspec.Struct, frozen=True, kw_only=True):
    """An event that an analyzer explains, and the finding for it.

    `contradicts` are patterns of ids of known issues that this log rules out, although their text
    matches: `torch/extension-built-for-other-torch` for a symbol that belongs to no torch.
    """

    event: Event
    detection: Detection
    precision: Precision = Precision.FAMILY
    contradicts: tuple[str, ...] = ()


class Analyzer(Protocol):
    """The function `explain` of a module of this package."""

    def __call__(self, case: Case) -> Iterator[Explanation]:
        """Yield the explanations of the events that this analyzer knows."""


def detection(
    event: Event,
    title: str,
    cause: str,
    *,
    recipes: tuple[Recipe, ...] = (),
    severity: Severity = Severity.ERROR,
    confidence: Confidence = Confidence.MEDIUM,
    name: str = "",
    captures: Mapping[str, str] | None = None,
    references: tuple[str, ...] = (),
) -> Detection:
    """Return the finding for an event: its id is `failure/` and the kind, or `name`.

    A failure of the program, which no installation mends, has the severity NOTE. What the log calls
    a warning is no error.
    """
    is_mild = event.level is Level.WARNING
    return Detection(
        id=PREFIX + (name or event.kind),
        target="",
        title=title if len(title) <= _LONGEST_TITLE else f"{title[: _LONGEST_TITLE - 1]}…",
        severity=Severity.WARNING if is_mild and severity is Severity.ERROR else severity,
        confidence=confidence,
        message=cause,
        evidence=(
            Evidence(kind=EvidenceKind.LOG, text=event.text, source=event.source, line=event.line),
        ),
        recipes=recipes,
        captures={"event": event.text, **event.objects, **(captures or {})},
        references=references,
    )
