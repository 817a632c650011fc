"""From an observation to a ranked diagnosis."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from doctor.base.globs import matches_any
from doctor.facts.placeholders import fill_known
from doctor.judge.match.echoes import with_echoes
from doctor.judge.match.extensions import accounted, broken_extensions
from doctor.judge.match.generic import (
    broken_checks,
    failed_probes,
    unexplained_checks,
    violated_tables,
)
from doctor.judge.match.imports import (
    accounted_imports,
    broken_imports,
    one_for_each_import,
)
from doctor.judge.match.issues import (
    CARGO,
    Evaluation,
    cases_of,
    decide,
    evaluate,
    explained_by_text,
    finding,
    is_foreign,
)
from doctor.judge.match.open_questions import leaves_open
from doctor.judge.match.proofs import CaseRef
from doctor.judge.match.ranking import Lines, ranked
from doctor.judge.match.reach import missed_gpus
from doctor.judge.match.reach_some import gpus_in_use, some_missing
from doctor.judge.match.refused import refused_runs
from doctor.judge.match.requirements import unmet_requirements
from doctor.judge.match.signatures import looked_through, texts
from doctor.judge.match.suspected import suspected_cards
from doctor.judge.match.table import Decision, Result
from doctor.judge.match.weights import raised
from doctor.model.catalog import Catalog
from doctor.model.facts import Facts, value_of
from doctor.model.findings import Detection
from doctor.model.issues import KnownIssue
from doctor.model.observation import Observation, Target, TargetKind
from doctor.model.report import Diagnosis, LookAlike, RuledOut, Undecided
from doctor.model.scales import Confidence, Severity


def diagnose(observation: Observation, catalog: Catalog) -> Diagnosis:
    """Judge an observation whose facts were derived already."""
    facts = observation.facts
    evaluations = evaluate(
        catalog, facts, observation.outcomes, looked_through(texts(observation), catalog)
    )
    explained = explained_by_text(evaluations)
    decided = [(evaluation, decide(evaluation, explained)) for evaluation in evaluations]
    positive = [
        (evaluation, result)
        for evaluation, result in decided
        if result.decision in (Decision.FINDING, Decision.PREDICTED)
        and not _is_aside(evaluation, result, observation)
    ]
    issues = [
        finding(evaluation, result, facts, _target_of(evaluation.issue, observation.targets))
        for evaluation, result in positive
    ]
    issues = raised(positive, issues, observation)
    issues += common_causes(decided, issues, facts, observation.targets)
    issues = _without_denied(issues)
    general = {evaluation.id for evaluation in evaluations if evaluation.issue.general}
    failures: list[Detection] = []
    owned: Lines = {}
    if observation.logs:
        issues, failures, owned = _failures(observation, catalog, issues, frozenset(general))
    generic = list(_generic(observation, catalog, positive, issues))
    issues, generic = one_for_each_import(
        issues,
        generic,
        [each for each, _ in positive if leaves_open(each.issue.fixes, facts)],
    )
    every = with_echoes(observation, [*issues, *failures, *generic])
    findings = _without_failures(observation, every)
    general |= {one.id for one in findings if leaves_open(one.recipes, facts)}
    return Diagnosis(
        findings=ranked(
            findings,
            general=frozenset(general),
            owner=value_of(facts, "log.owner"),
            owned=owned,
        ),
        undecided=tuple(_undecided(decided, observation)),
        ruled_out=tuple(_ruled_out(decided, facts)),
        look_alikes=() if findings else _look_alikes(observation, evaluations),
    )


def _without_failures(observation: Observation, findings: Sequence[Detection]) -> list[Detection]:
    """Return findings without failures of programs that ended well; the others become notes."""
    if not observation.logs:
        return list(findings)
    from doctor.logs.endings import ended_well  # a check of files reads no log

    well = {log.source for log in observation.logs if ended_well(log.lines)}
    kept: list[Detection] = []
    for one in findings:
        sources = {evidence.source for evidence in one.evidence}
        if not sources or not sources <= well:
            kept.append(one)
        elif one.severity is not Severity.NOTE:
            kept.append(msgspec.structs.replace(one, severity=Severity.NOTE))
    return kept


def _is_aside(evaluation: Evaluation, result: Result, observation: Observation) -> bool:
    """Say whether an issue is only possible, by what a log says beside the failure that it reports.

    Whoever hands in a log asks about that failure, and not about each release in it.
    """
    log_alone = bool(observation.logs) and not observation.targets
    return (
        log_alone and result.decision is Decision.PREDICTED and evaluation.predicts is Severity.NOTE
    )


def _look_alikes(
    observation: Observation, evaluations: Sequence[Evaluation]
) -> tuple[LookAlike, ...]:
    if not observation.logs:
        return ()
    from doctor.judge.match.lookalikes import look_alikes  # only logs that nobody knows need it

    possible = {
        one.id: one.issue
        for one in evaluations
        if one.issue.signatures and one.applies.truth is not False
    }
    return look_alikes(observation, possible)


def _failures(
    observation: Observation,
    catalog: Catalog,
    issues: Sequence[Detection],
    general: frozenset[str],
) -> tuple[list[Detection], list[Detection], Lines]:
    from doctor.judge.match.failures import explained_failures  # a check of files reads no log

    return explained_failures(observation, catalog, issues, general)


def _without_denied(findings: Sequence[Detection]) -> list[Detection]:
    """Return the findings without those that evidence speaks against, if their cause was found.

    A text with several meanings matches all of their issues.
    """
    sure = [one for one in findings if one.confidence is not Confidence.LOW]
    return [
        one
        for one in findings
        if one.confidence is not Confidence.LOW
        or not any(matches_any(one.id, cause.symptoms) for cause in sure)
    ]


def common_causes(
    decided: Sequence[tuple[Evaluation, Result]],
    findings: Sequence[Detection],
    facts: Facts,
    targets: Sequence[Target],
) -> list[Detection]:
    """Return the causes that only their symptoms speak for, where enough of them were found."""
    sure = [
        one
        for one in findings
        if one.severity is not Severity.NOTE and one.confidence is not Confidence.LOW
    ]
    found = {one.id for one in findings}
    causes = []
    for evaluation, _ in decided:
        issue = evaluation.issue
        if not issue.gathers or evaluation.applies.truth is False or evaluation.id in found:
            continue
        symptoms = [one for one in sure if matches_any(one.id, issue.symptoms)]
        if len(symptoms) >= issue.gathers:
            cause = finding(
                evaluation,
                Result(Decision.FINDING, Confidence.MEDIUM),
                facts,
                _target_of(issue, targets),
            )
            evidence = dict.fromkeys(one.evidence[0] for one in symptoms if one.evidence)
            causes.append(
                msgspec.structs.replace(cause, evidence=tuple(evidence), missing_facts=())
            )
    return causes


def _generic(
    observation: Observation,
    catalog: Catalog,
    positive: Sequence[tuple[Evaluation, Result]],
    issues: Sequence[Detection],
) -> Iterable[Detection]:
    """Yield the findings of the rules that need no catalog entry."""
    explaining = [
        evaluation
        for evaluation, result in positive
        if result.confidence is not Confidence.LOW and result.decision is Decision.FINDING
    ]
    explained = _cases(explaining)
    cited = frozenset(_cited(issues))
    main = observation.targets[0].name if observation.targets else ""
    extensions = tuple(broken_extensions(observation, cited, main))
    cited |= frozenset(_cited(extensions))
    # Where a known issue cannot name the package to move, the failed import is reported as well:
    # it names the package.
    naming = [one for one in explaining if not leaves_open(one.issue.fixes, observation.facts)]
    reached = (
        *missed_gpus(observation, issues),
        *some_missing(observation),
        *gpus_in_use(observation),
    )
    imports = tuple(
        broken_imports(observation, _cases(naming), (*issues, *extensions, *reached), main)
    )
    cited |= frozenset(_cited(imports))
    yield from (*extensions, *imports)
    unexplained = tuple(
        unexplained_checks(
            observation,
            explained | accounted(observation, extensions) | accounted_imports(observation),
            catalog,
        )
    )
    yield from unexplained
    yield from suspected_cards(observation, (*issues, *unexplained))
    yield from reached
    yield from broken_checks(observation)
    yield from refused_runs(observation, main)
    yield from failed_probes(observation, main)
    yield from unmet_requirements(observation.facts, cited, main)
    yield from violated_tables(catalog, observation.facts, cited, main)


def _cases(explaining: Iterable[Evaluation]) -> frozenset[CaseRef]:
    return frozenset(ref for one in explaining for ref in (*one.failed, *cases_of(one.matches)))


def _cited(findings: Iterable[Detection]) -> Iterable[str]:
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


def _undecided(
    decided: Iterable[tuple[Evaluation, Result]], observation: Observation
) -> Iterable[Undecided]:
    kinds = frozenset(target.kind.value for target in observation.targets)
    for evaluation, result in decided:
        missing = evaluation.applies.missing
        if result.decision is Decision.UNDECIDED and missing and not is_foreign(missing, kinds):
            yield Undecided(
                id=evaluation.id,
                title=fill_known(evaluation.issue.title, observation.facts, {}),
                missing_facts=missing,
            )


def _ruled_out(decided: Iterable[tuple[Evaluation, Result]], facts: Facts) -> Iterable[RuledOut]:
    for evaluation, result in decided:
        if result.decision is Decision.RULED_OUT and evaluation.applies.truth:
            issue = evaluation.issue
            checks = sorted({f"{proof.check} {proof.case or ''}".strip() for proof in issue.proofs})
            yield RuledOut(
                id=evaluation.id,
                title=fill_known(issue.title, facts, {}),
                why=f"{', '.join(checks)} passed",
            )
