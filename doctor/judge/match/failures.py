"""Explain the events of logs by analyzers, beside what known issues say of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec

from doctor.analyzers import explanations
from doctor.analyzers.case import Case, Explanation, Precision
from doctor.base.globs import matches_any
from doctor.events.owner import failure_lines, owning_event
from doctor.events.reading import events_of
from doctor.events.surroundings import context_of
from doctor.judge.match.answers import with_answers
from doctor.judge.match.asked_package import with_package
from doctor.judge.match.fix_signs import confirmed_first
from doctor.judge.match.programs_of_others import with_update
from doctor.judge.match.signatures import Text, label
from doctor.judge.match.together import with_common_ranges, with_library
from doctor.model.catalog import Catalog
from doctor.model.findings import Detection
from doctor.model.observation import Log, Observation
from doctor.model.outcomes import RED, Outcome
from doctor.model.scales import Confidence, Severity

_NEAR = 2
"""Lines between two reports of one failure."""
_TELLING = 20
"""Characters of a message that shows the same failure wherever it is repeated."""


class Failures(NamedTuple):
    """The findings of known issues that remain beside those of analyzers, and the latter.

    `owned` are the numbers of the lines that report the owning failure of each log, by its source.
    """

    issues: list[Detection]
    explained: list[Detection]
    owned: Mapping[str, tuple[int, int]]


def explained_failures(
    observation: Observation,
    catalog: Catalog,
    issues: Sequence[Detection],
    general: frozenset[str],
) -> Failures:
    """Return what analyzers explain of the logs, and the known issues that they leave standing.

    A known issue that speaks about the same lines says more than an analyzer, unless it contradicts
    the log, or is general and the analyzer names the cause. `general` are the ids of issues that
    others may know better.
    """
    cases = [_case(log, observation, catalog) for log in observation.logs]
    found = [explanation for case in cases for explanation in explanations(case)]
    refuted = {
        one.id
        for one in issues
        for explanation in found
        if matches_any(one.id, explanation.contradicts) and _same_failure(one, explanation)
    }
    kept = [_doubted(one) if one.id in refuted else one for one in issues]
    for case in cases:
        kept = [_completed(one, case) for one in kept]
    leading = [one for one in kept if one.id not in refuted]
    explained: dict[tuple[str, str], Detection] = {}
    for explanation in sorted(found, key=lambda one: -one.precision):
        if explanation.precision < Precision.FAMILY and leading:
            continue
        if any(_covers(one, explanation, general) for one in leading):
            continue
        one = explanation.detection
        below = tuple(
            issue.id
            for issue in kept
            if (issue.id in general or issue.id in refuted) and _same_failure(issue, explanation)
        )
        first = explained.get((one.id, one.title), one)
        explained[one.id, one.title] = msgspec.structs.replace(
            first, symptoms=tuple(dict.fromkeys((*first.symptoms, *below)))
        )
    told = list(explained.values())
    for case in cases:
        told = [_completed(one, case) for one in told]
    told = with_common_ranges(told)
    return Failures(kept, told, dict(_owned(cases)))


def _completed(found: Detection, case: Case) -> Detection:
    """Return a finding with what its log says of its fixes."""
    found = with_library(_with_signs(found, case.log), case)
    return with_update(with_package(with_answers(found, case), case.log), case)


def explained_outcome(
    outcome: Outcome, observation: Observation, catalog: Catalog
) -> Explanation | None:
    """Return what analyzers explain of the output of a failed check: the owning event first."""
    reasons = [case.reason for case in outcome.cases.values() if case.verdict in RED]
    lines = "\n".join((*reasons, outcome.reason, outcome.log)).split("\n")
    log = Log(source=label(outcome, observation.facts), lines=tuple(lines))
    case = _case(log, observation, catalog)
    owner = owning_event(case.events)
    return max(
        explanations(case),
        key=lambda one: (owner is not None and one.event.at == owner.at, one.precision),
        default=None,
    )


def _case(log: Log, observation: Observation, catalog: Catalog) -> Case:
    return Case(log, events_of(log), context_of(log), observation.facts, catalog)


def _owned(cases: Sequence[Case]) -> Iterator[tuple[str, tuple[int, int]]]:
    for case in cases:
        if (owner := owning_event(case.events)) is not None:
            lines = failure_lines(case.events, owner)
            last = min(lines.stop, len(case.log.lines)) - 1
            yield case.log.source, (case.log.number(lines.start), case.log.number(last))


def _with_signs(one: Detection, log: Log) -> Detection:
    """Return a finding for a log with the fixes that the log confirms in front."""
    signs = any(recipe.shown or recipe.unless for recipe in one.recipes)
    if not signs or all(evidence.source != log.source for evidence in one.evidence):
        return one
    text = Text(log.source, "\n".join(log.lines), log=log)
    return msgspec.structs.replace(one, recipes=confirmed_first(one.recipes, (text,)))


def _doubted(one: Detection) -> Detection:
    """Return a finding that the log contradicts: a note of low confidence."""
    return msgspec.structs.replace(one, severity=Severity.NOTE, confidence=Confidence.LOW)


def _covers(issue: Detection, explanation: Explanation, general: frozenset[str]) -> bool:
    """Say whether a known issue explains the same failure at least as well.

    A general issue, and a note, say more than an explanation that only names the mechanism.
    """
    return (
        (issue.severity is not Severity.NOTE and issue.id not in general)
        or explanation.precision is Precision.FAMILY
    ) and _same_failure(issue, explanation)


def _same_failure(issue: Detection, explanation: Explanation) -> bool:
    event = explanation.event
    return any(
        evidence.source == event.source
        and evidence.line is not None
        and (
            abs(evidence.line - event.line) <= _NEAR
            or (len(event.text) >= _TELLING and event.text in evidence.text)
        )
        for evidence in issue.evidence
    )
