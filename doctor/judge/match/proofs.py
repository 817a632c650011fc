"""How the checks that show a known issue ended."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
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
    """Return the failed cases of all checks; a check without cases counts as one."""
    return frozenset(
        ref for outcome in outcomes if outcome.verdict in RED for ref in _failed_in(outcome)
    )


def _failed_in(outcome: Outcome) -> Sequence[CaseRef]:
    cases = [name for name, case in outcome.cases.items() if case.verdict in RED]
    return [CaseRef(outcome.id, outcome.device, name) for name in cases or [""]]


def severity_of(outcome: Outcome, cases: Collection[str] = ()) -> Severity:
    """Return how bad a failure of a check, or of some of its cases, is: the gravest of them.

    A script says so in `data.matters`, a severity for the check or one for each case; what it does
    not speak of is an error. `cases` are the failed ones that are meant, by default all.
    """
    says = outcome.data.get("matters")
    if not isinstance(says, dict):
        return _severity(says)
    failed = [ref.case for ref in _failed_in(outcome)]
    meant = [name for name in failed if name in cases] or failed
    return max(_severity(says.get(name)) for name in meant)


def _severity(says: object) -> Severity:
    return next((severity for severity in Severity if severity.value == says), Severity.ERROR)


def canary_of(
    proofs: Sequence[Proof], outcomes: Sequence[Outcome]
) -> tuple[Canary, frozenset[CaseRef]]:
    """Say how the checks that show an issue ended, and which of their cases failed.

    Results count per check and device: a pass on the CPU rules out nothing on another device that
    was to be judged as well.
    """
    relevant = [
        (proof, outcome, _verdict(proof, outcome))
        for proof in proofs
        for outcome in outcomes
        if _is_meant(proof, outcome)
    ]
    failed = frozenset(
        ref
        for proof, outcome, verdict in relevant
        if verdict in RED
        for ref in _failed_for(proof, outcome)
    )
    if failed:
        return Canary.FAILED, failed
    passed = bool(relevant) and all(verdict is Verdict.PASSED for _, _, verdict in relevant)
    return (Canary.PASSED if passed else Canary.NOT_RUN), frozenset()


def _is_meant(proof: Proof, outcome: Outcome) -> bool:
    kind = (outcome.device or "").partition(":")[0]
    return proof.check == outcome.id and (not proof.devices or kind in proof.devices)


def _verdict(proof: Proof, outcome: Outcome) -> Verdict:
    if proof.case is None:
        return outcome.verdict
    case: Case | None = outcome.cases.get(proof.case)
    return Verdict.SKIPPED if case is None else case.verdict


def _failed_for(proof: Proof, outcome: Outcome) -> Iterable[CaseRef]:
    if proof.case is not None:
        return (CaseRef(outcome.id, outcome.device, proof.case),)
    return _failed_in(outcome)
