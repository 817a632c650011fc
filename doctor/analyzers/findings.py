"""Write the explanation of an event in one call."""

from __future__ import annotations

from doctor.analyzers.case import Explanation, Precision, detection
from doctor.model.events import Event
from doctor.model.issues import Recipe
from doctor.model.scales import Confidence, Severity


def explanation(
    event: Event,
    title: str,
    cause: str,
    recipes: tuple[Recipe, ...] = (),
    *,
    name: str = "",
    exact: bool = True,
    severity: Severity = Severity.ERROR,
    contradicts: tuple[str, ...] = (),
) -> Explanation:
    """Return the explanation of an event; `exact` says that the log or data prove the cause."""
    return Explanation(
        event=event,
        precision=Precision.EXACT if exact else Precision.FAMILY,
        contradicts=contradicts,
        detection=detection(
            event,
            title,
            cause,
            recipes=recipes,
            severity=severity,
            confidence=Confidence.MEDIUM if exact else Confidence.LOW,
            name=name,
        ),
    )
