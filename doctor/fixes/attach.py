"""Attach fixes to detections, and locate each finding in the project."""

from __future__ import annotations

from collections.abc import Iterable

from doctor.fixes.locations import location
from doctor.fixes.prescribe import fixes_for, is_done
from doctor.model.facts import Facts
from doctor.model.findings import Detection, Finding, Suppression

_DONE = (
    "The packages of every known fix are installed already, so no fix is shown: none would "
    "change anything."
)


def with_fixes(
    detections: Iterable[Detection],
    facts: Facts,
    suppressions: Iterable[Suppression | None] | None = None,
) -> tuple[Finding, ...]:
    """Return a finding for each detection; `suppressions` has one decision for each of them."""
    found = tuple(detections)
    decided = (None,) * len(found) if suppressions is None else tuple(suppressions)
    return tuple(_planned(one, facts, by) for one, by in zip(found, decided, strict=True))


def _planned(found: Detection, facts: Facts, suppressed: Suppression | None) -> Finding:
    fixes = tuple(fixes_for(found, facts))
    done = not fixes and is_done(found, facts)
    return Finding(
        id=found.id,
        target=found.target,
        title=found.title,
        severity=found.severity,
        confidence=found.confidence,
        message=f"{found.message} {_DONE}" if done else found.message,
        evidence=found.evidence,
        fixes=fixes,
        references=found.references,
        symptoms=found.symptoms,
        missing_facts=found.missing_facts,
        place=location(found.id, fixes, found.evidence, facts),
        suppressed=suppressed,
    )
