"""What was found, with its evidence and what to do about it."""

from __future__ import annotations

from enum import Enum

import msgspec

from doctor.model.fixes import Fix
from doctor.model.issues import Recipe
from doctor.model.scales import Confidence, Severity


class EvidenceKind(Enum):
    """Where a piece of evidence comes from."""

    FACT = "fact"
    LOG = "log"
    OUTCOME = "outcome"
    COMPAT = "compat"


class Evidence(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that speaks for a finding.

    `line` counts from 1 in the log named by `source`, `fact` is the name of a fact.
    """

    kind: EvidenceKind
    text: str
    source: str = ""
    line: int | None = None
    fact: str = ""


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """The location of a fix: a file, relative to the project, and a line, from 1."""

    path: str
    line: int = 1


class Suppression(msgspec.Struct, frozen=True, kw_only=True):
    """Why a finding does not count: `by` is `ignore` or `baseline`.

    An ignore has its reason and the day until which it holds.
    """

    by: str
    reason: str = ""
    until: str = ""


class Detection(msgspec.Struct, frozen=True, kw_only=True):
    """A problem as it was judged, before its fixes are planned.

    It carries its own words, so that a report can be read without the catalog. `recipes` are the
    fixes of its author, `captures` fill their placeholders. `missing_facts` are facts that would
    decide whether it is true.
    """

    id: str
    target: str
    title: str
    severity: Severity
    confidence: Confidence
    message: str
    evidence: tuple[Evidence, ...] = ()
    recipes: tuple[Recipe, ...] = ()
    captures: dict[str, str] = msgspec.field(default_factory=dict)
    references: tuple[str, ...] = ()
    symptoms: tuple[str, ...] = ()
    missing_facts: tuple[str, ...] = ()


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """A problem to act on: a detection with its fixes, its location and its suppression.

    `symptoms` are the ids of findings that it explains.
    """

    id: str
    target: str
    title: str
    severity: Severity
    confidence: Confidence
    message: str
    evidence: tuple[Evidence, ...] = ()
    fixes: tuple[Fix, ...] = ()
    references: tuple[str, ...] = ()
    symptoms: tuple[str, ...] = ()
    missing_facts: tuple[str, ...] = ()
    place: Place | None = None
    suppressed: Suppression | None = None
