"""What explains a failure that was seen on this machine weighs at least as much as the failure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import msgspec

from doctor.judge.match.issues import Evaluation, spots_of_text
from doctor.judge.match.proofs import CaseRef, failed_cases, matters
from doctor.judge.match.said import FRAMEWORKS, error_fact
from doctor.judge.match.table import Decision, Result
from doctor.model.facts import value_of
from doctor.model.findings import Finding
from doctor.model.observation import Observation
from doctor.model.outcomes import RED
from doctor.model.scales import Confidence, Severity


class _Failure(NamedTuple):
    """A failure that was seen, how bad it is, and what would account for it: red spots, or a fact with the words of a framework."""

    severity: Severity
    spots: frozenset[CaseRef] = frozenset()
    fact: str = ""


def raised(
    found: Sequence[tuple[Evaluation, Result]], issues: Sequence[Finding], observation: Observation
) -> list[Finding]:
    """Return the findings of known issues, with the gravest one that explains a failure raised to what the failure counts for.

    An issue is weighed for logs of anybody's program, where an illegal memory access is mostly the
    program's own fault; a check adds two small tensors. What only predicts, or has low confidence,
    explains nothing.
    """
    told = list(issues)
    for failure in _failures(observation):
        places = [
            place for place, (held, result) in enumerate(found) if _accounts(held, result, failure)
        ]
        if not places:
            continue
        gravest = max(told[place].severity for place in places)
        if gravest < failure.severity:
            for place in places:
                if told[place].severity is gravest:
                    told[place] = msgspec.structs.replace(told[place], severity=failure.severity)
    return told


def _failures(observation: Observation) -> Iterator[_Failure]:
    for outcome in observation.outcomes:
        if outcome.verdict in RED:
            yield _Failure(matters(outcome), failed_cases([outcome]))
    for framework in FRAMEWORKS:
        if value_of(observation.facts, f"{framework.name}.unreached"):
            yield _Failure(Severity.ERROR, fact=error_fact(framework, observation.facts))


def _accounts(held: Evaluation, result: Result, failure: _Failure) -> bool:
    if result.ruling is not Decision.FINDING or result.confidence is Confidence.LOW:
        return False
    if failure.fact:
        return any(seen.text.fact == failure.fact for seen in held.seen)
    return bool(failure.spots & {*held.red, *spots_of_text(held.seen)})
