"""Which findings of a report are consequences of others."""

from __future__ import annotations

from collections.abc import Sequence

from doctor.model.findings import Finding
from doctor.model.scales import Severity


def causes(counted: Sequence[Finding]) -> dict[int, int]:
    """Map each finding that is a consequence to its cause, by their places.

    A note is the cause of other notes alone: what is graver has to be seen. A consequence of a
    consequence goes to the first cause.
    """
    found_causes: dict[int, int] = {}

    def fold(found: Finding, cause: int) -> None:
        for place, other in enumerate(counted):
            explained = other.id in found.symptoms and other.target == found.target
            if found.severity is Severity.NOTE and other.severity is not Severity.NOTE:
                continue
            known = {*found_causes, *found_causes.values()}
            if explained and place != cause and place not in known:
                found_causes[place] = cause
                fold(other, cause)

    for place, found in enumerate(counted):
        if place not in found_causes:
            fold(found, place)
    return found_causes
