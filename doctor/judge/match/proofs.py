"""How the checks that would prove a known issue ended."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from doctor.judge.match.table import Canary
from doctor.model.issues import Proof
from doctor.model.outcomes import RED, Case, Outcome, Verdict
from doctor.model.scales import Severity


class CaseRef(NamedTuple):
    """One case of one check on one device; the case is empty where the whole check is meant."""

    check: str
    device: str | None
    case: str = ""


def failed_cases(outcomes: Iterable[Outcome]) -> frozenset[CaseRef]:
    """Return every place that went red: the red cases of a check, or the check itself where no case did."""
    return frozenset(
        spot for outcome in outcomes if outcome.verdict in RED for spot in _spots_of(outcome)
    )


def _spots_of(outcome: Outcome) -> Sequence[CaseRef]:
    cases = [name for name, case in outcome.cases.items() if case.verdict in RED]
    return [CaseRef(outcome.id, outcome.device, name) for name in cases or [""]]


def matters(outcome: Outcome) -> Severity:
    """Return how bad a failure of this check would be here: what its script says, else an error."""
    told = outcome.data.get("matters")
    return next((severity for severity in Severity if severity.value == told), Severity.ERROR)


def held_against(
    proofs: Sequence[Proof], outcomes: Sequence[Outcome]
) -> tuple[Canary, frozenset[CaseRef]]:
    """Say how the checks named by an issue ended, and which red spots are its doing if it applies.

    Results count per check and device: a pass on the CPU rules out nothing on another device that
    was to be judged as well.
    """
    relevant = [
        (proof, outcome) for proof in proofs for outcome in outcomes if _is_meant(proof, outcome)
    ]
    verdicts = [_verdict(proof, outcome) for proof, outcome in relevant]
    red = frozenset(
        spot
        for proof, outcome in relevant
        if _verdict(proof, outcome) in RED
        for spot in _red_of(proof, outcome)
    )
    if red:
        return Canary.FAILED, red
    passed = bool(verdicts) and all(verdict is Verdict.PASSED for verdict in verdicts)
    return (Canary.PASSED if passed else Canary.NOT_RUN), frozenset()


def _is_meant(proof: Proof, outcome: Outcome) -> bool:
    kind = (outcome.device or "").partition(":")[0]
    return proof.check == outcome.id and (not proof.devices or kind in proof.devices)


def _verdict(proof: Proof, outcome: Outcome) -> Verdict:
    if proof.case is None:
        return outcome.verdict
    case: Case | None = outcome.cases.get(proof.case)
    return Verdict.SKIPPED if case is None else case.verdict


def _red_of(proof: Proof, outcome: Outcome) -> Iterable[CaseRef]:
    if proof.case is not None:
        return (CaseRef(outcome.id, outcome.device, proof.case),)
    return _spots_of(outcome)
