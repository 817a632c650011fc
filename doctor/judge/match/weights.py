"""Raise what explains a failure on this machine to the severity of the failure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from doctor.judge.match.gpu_messages import FRAMEWORKS, error_fact
from doctor.judge.match.issues import Evaluation, cases_of
from doctor.judge.match.proofs import CaseRef, failed_cases, severity_of
from doctor.judge.match.table import Decision, Result
from doctor.model.facts import value_of
from doctor.model.findings import Detection
from doctor.model.observation import Observation
from doctor.model.outcomes import RED
from doctor.model.scales import Confidence, Severity


class _Failure(msgspec.Struct, frozen=True):
    """A failure that was observed.

    How bad it is, and its failed cases or the fact that words it.
    """

    severity: Severity
    cases: frozenset[CaseRef] = frozenset()
    fact: str = ""


def raised(
    positive: Sequence[tuple[Evaluation, Result]],
    findings: Sequence[Detection],
    observation: Observation,
) -> list[Detection]:
    """Return the findings of known issues, none milder than the failure that it explains.

    The author of an issue thinks of logs of any program, where an illegal memory access is mostly
    the program's own fault; a check adds two small tensors. Only the gravest finding that explains
    a failure is raised. Predictions, and findings of low confidence, explain nothing.
    """
    issues = list(findings)
    for failure in _failures(observation):
        places = [
            place
            for place, (evaluation, result) in enumerate(positive)
            if _explains(evaluation, result, failure)
        ]
        if not places:
            continue
        gravest = max(issues[place].severity for place in places)
        if gravest < failure.severity:
            for place in places:
                if issues[place].severity is gravest:
                    issues[place] = msgspec.structs.replace(
                        issues[place], severity=failure.severity
                    )
    return issues


def _failures(observation: Observation) -> Iterator[_Failure]:
    for outcome in observation.outcomes:
        if outcome.verdict in RED:
            by_severity: dict[Severity, set[CaseRef]] = {}
            for ref in failed_cases([outcome]):
                by_severity.setdefault(severity_of(outcome, [ref.case]), set()).add(ref)
            for severity, refs in by_severity.items():
                yield _Failure(severity, frozenset(refs))
    for framework in FRAMEWORKS:
        if value_of(observation.facts, f"{framework.name}.unreached"):
            yield _Failure(Severity.ERROR, fact=error_fact(framework, observation.facts))


def _explains(evaluation: Evaluation, result: Result, failure: _Failure) -> bool:
    if result.decision is not Decision.FINDING or result.confidence is Confidence.LOW:
        return False
    if failure.fact:
        return any(match.text.fact == failure.fact for match in evaluation.matches)
    return bool(failure.cases & {*evaluation.failed, *cases_of(evaluation.matches)})
