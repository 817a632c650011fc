"""What is judged, and told, where what was printed could not be searched in time."""

from __future__ import annotations

import msgspec

from doctor.model.findings import Detection, Evidence, EvidenceKind
from doctor.model.issues import Action, Recipe
from doctor.model.observation import Observation
from doctor.model.outcomes import Outcome
from doctor.model.scales import Confidence, Severity

NOT_JUDGED = "what was seen could not be judged"
_SHOWN = 300


def without_texts(seen: Observation) -> Observation:
    """Leave out what was printed, by whomever.

    All else is as short as what doctor itself writes.
    """
    return msgspec.structs.replace(seen, logs=(), outcomes=tuple(map(_short, seen.outcomes)))


def _short(outcome: Outcome) -> Outcome:
    cases = {
        name: msgspec.structs.replace(case, reason=case.reason[:_SHOWN])
        for name, case in outcome.cases.items()
    }
    return msgspec.structs.replace(outcome, log="", reason=outcome.reason[:_SHOWN], cases=cases)


def unfinished(why: str, seen: Observation) -> Detection:
    """Return the finding that says so."""
    recipe = Recipe(
        title="See what the checks printed, without a judgement",
        steps=(Action(run=("doctor", "snapshot", "-o", "-")),),
        lasting=False,
    )
    return Detection(
        id="judging/unfinished",
        target=seen.targets[0].name if seen.targets else "",
        title="What checks and logs printed was not searched",
        severity=Severity.WARNING,
        confidence=Confidence.HIGH,
        message=(
            "Searching it took too long, so it was left out, here and in the report. "
            "Everything else was judged."
        ),
        evidence=(Evidence(kind=EvidenceKind.FACT, text=why, source="doctor"),),
        recipes=(recipe,),
    )
