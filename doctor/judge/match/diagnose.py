"""From an observation to a ranked diagnosis."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from doctor.base.globs import matches_any
from doctor.judge.match.extensions import accounted, broken_extensions
from doctor.judge.match.generic import (
    broken_checks,
    failed_probes,
    unexplained_checks,
    violated_tables,
)
from doctor.judge.match.imports import accounted_imports, broken_imports
from doctor.judge.match.issues import (
    CARGO,
    Evaluation,
    evaluate,
    explained_by_text,
    finding,
    is_foreign,
    rule,
    spots_of_text,
)
from doctor.judge.match.open_questions import leaves_open
from doctor.judge.match.proofs import CaseRef
from doctor.judge.match.reach import missed_gpus
from doctor.judge.match.reach_some import some_missing, taken
from doctor.judge.match.refused import refused_runs
from doctor.judge.match.requirements import unmet_requirements
from doctor.judge.match.signatures import looked_through, texts
from doctor.judge.match.table import Decision, Result
from doctor.judge.match.weights import raised
from doctor.model.catalog import Catalog
from doctor.model.facts import Facts, value_of
from doctor.model.findings import EvidenceKind, Finding
from doctor.model.issues import KnownIssue
from doctor.model.observation import Observation, Target, TargetKind
from doctor.model.report import Diagnosis, RuledOut, Undecided
from doctor.model.scales import Confidence, Severity

_FAR = 1 << 30
_FIRST = "torch-runtime"


def diagnose(observation: Observation, catalog: Catalog) -> Diagnosis:
    """Judge an observation whose facts were derived already."""
    facts = observation.facts
    weighed = evaluate(
        catalog, facts, observation.outcomes, looked_through(texts(observation), catalog)
    )
    explained = explained_by_text(weighed)
    ruled = [(held, rule(held, explained)) for held in weighed]
    found = [
        (held, result)
        for held, result in ruled
        if result.ruling in (Decision.FINDING, Decision.PREDICTED)
    ]
    issues = [
        finding(held, result, facts, _target_of(held.issue, observation.targets))
        for held, result in found
    ]
    issues = raised(found, issues, observation)
    general = frozenset(held.id for held in weighed if held.issue.general)
    issues += gathered(ruled, issues, facts, observation.targets)
    told = [*issues, *_generic(observation, catalog, found, issues)]
    asking = frozenset(one.id for one in told if leaves_open(one.recipes, facts))
    return Diagnosis(
        findings=ranked(told, general=general | asking, owner=value_of(facts, "log.owner")),
        undecided=tuple(_undecided(ruled, observation)),
        ruled_out=tuple(_ruled_out(ruled)),
    )


def gathered(
    ruled: Sequence[tuple[Evaluation, Result]],
    found: Sequence[Finding],
    facts: Facts,
    targets: Sequence[Target],
) -> list[Finding]:
    """Return the causes that nothing speaks for but their symptoms, several of which were found together: one story instead of many."""
    sure = [
        one
        for one in found
        if one.severity is not Severity.NOTE and one.confidence is not Confidence.LOW
    ]
    causes = []
    for held, _ in ruled:
        if (
            not held.issue.gathers
            or held.applies.truth is False
            or held.id in {one.id for one in found}
        ):
            continue
        symptoms = [one for one in sure if matches_any(one.id, held.issue.symptoms)]
        if len(symptoms) >= held.issue.gathers:
            told = finding(
                held,
                Result(Decision.FINDING, Confidence.MEDIUM),
                facts,
                _target_of(held.issue, targets),
            )
            evidence = [one.evidence[0] for one in symptoms if one.evidence]
            causes.append(msgspec.structs.replace(told, evidence=tuple(evidence), settles=""))
    return causes


def _generic(
    observation: Observation,
    catalog: Catalog,
    found: Sequence[tuple[Evaluation, Result]],
    issues: Sequence[Finding],
) -> Iterable[Finding]:
    explaining = [
        held
        for held, result in found
        if result.confidence is not Confidence.LOW and result.ruling is Decision.FINDING
    ]
    explained = _spots(explaining)
    cited = frozenset(_cited(issues))
    main = observation.targets[0].name if observation.targets else ""
    extensions = tuple(broken_extensions(observation, cited, main))
    cited |= frozenset(_cited(extensions))
    # Where a known issue cannot name the package to move, the package whose import failed is told
    # as well.
    naming = [held for held in explaining if not leaves_open(held.issue.fixes, observation.facts)]
    reached = (*missed_gpus(observation, issues), *some_missing(observation), *taken(observation))
    imports = tuple(
        broken_imports(observation, _spots(naming), (*issues, *extensions, *reached), main)
    )
    cited |= frozenset(_cited(imports))
    yield from (*extensions, *imports)
    yield from unexplained_checks(
        observation, explained | accounted(observation, extensions) | accounted_imports(observation)
    )
    yield from reached
    yield from broken_checks(observation)
    yield from refused_runs(observation, main)
    yield from failed_probes(observation, main)
    yield from unmet_requirements(observation.facts, cited, main)
    yield from violated_tables(catalog, observation.facts, cited, main)


def _spots(explaining: Iterable[Evaluation]) -> frozenset[CaseRef]:
    return frozenset(spot for held in explaining for spot in (*held.red, *spots_of_text(held.seen)))


def _cited(findings: Iterable[Finding]) -> Iterable[str]:
    return (evidence.fact for found in findings for evidence in found.evidence if evidence.fact)


def _target_of(issue: KnownIssue, targets: Sequence[Target]) -> str:
    names = [condition.fact for row in issue.affected for condition in row.when]
    kind = (
        TargetKind.CARGO
        if any(name.startswith(CARGO) for name in names)
        else TargetKind.INTERPRETER
    )
    return next(
        (target.name for target in targets if target.kind is kind),
        targets[0].name if targets else "",
    )


def ranked(
    findings: Sequence[Finding], *, general: frozenset[str] = frozenset(), owner: Any = None
) -> tuple[Finding, ...]:
    """Order findings by what to do first: severity, devices that do not answer, what knows more than a general text, confidence, nearness.

    A cause comes before its symptoms and names them; it ranks with the worst of them, for it is
    what to mend. `general` are ids of what others may know better, `owner` is the fact `log.owner`:
    the line that the failure most likely begins with.
    """
    told = [_with_symptoms(found, findings) for found in findings]
    symptoms = {symptom for found in told for symptom in found.symptoms}
    worst = {found.id: found.severity for found in sorted(told, key=lambda found: found.severity)}

    def key(found: Finding) -> tuple[int, bool, bool, bool, int, int, str]:
        severity = max([found.severity, *(worst[symptom] for symptom in found.symptoms)])
        return (
            severity.rank,
            found.id in symptoms,
            not _is_about_alive(found),
            found.id in general,
            found.confidence.rank,
            _distance(found, owner),
            found.id,
        )

    return tuple(sorted(told, key=key))


def _is_about_alive(found: Finding) -> bool:
    """Say whether a finding tells of a device, or a torch, that does not even add two tensors: whatever leans on that comes after it."""
    seen = [each for each in found.evidence if each.kind is not EvidenceKind.FACT]
    return any(
        text.partition(" ")[0] == _FIRST for each in seen for text in (each.source, each.text)
    )


def _distance(found: Finding, owner: Any) -> int:
    """Return how many lines lie between what speaks for a finding and the line that owns the failure."""
    if not isinstance(owner, dict):
        return 0
    lines = [
        evidence.line
        for evidence in found.evidence
        if evidence.line is not None and evidence.source == owner.get("source")
    ]
    return min((abs(line - owner.get("line", 0)) for line in lines), default=_FAR)


def _with_symptoms(found: Finding, findings: Sequence[Finding]) -> Finding:
    ids = [
        other.id
        for other in findings
        if other.id != found.id and matches_any(other.id, found.symptoms)
    ]
    return msgspec.structs.replace(found, symptoms=tuple(dict.fromkeys(ids)))


def _undecided(
    ruled: Iterable[tuple[Evaluation, Result]], observation: Observation
) -> Iterable[Undecided]:
    kinds = frozenset(target.kind.value for target in observation.targets)
    for held, result in ruled:
        missing = held.applies.missing
        if result.ruling is Decision.UNDECIDED and missing and not is_foreign(missing, kinds):
            yield Undecided(id=held.id, title=held.issue.title, missing_facts=missing)


def _ruled_out(ruled: Iterable[tuple[Evaluation, Result]]) -> Iterable[RuledOut]:
    for held, result in ruled:
        if result.ruling is Decision.RULED_OUT and held.applies.truth:
            checks = ", ".join(
                sorted({f"{proof.check} {proof.case or ''}".strip() for proof in held.issue.proofs})
            )
            yield RuledOut(id=held.id, title=held.issue.title, why=f"{checks} passed")
