"""Evaluate each known issue against an observation."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from doctor.facts.conditions import Truth, all_hold, any_holds, condition_holds, row_holds
from doctor.facts.devices import device_name
from doctor.facts.placeholders import fill, fill_known
from doctor.judge.match.evidence import fact_evidence
from doctor.judge.match.fix_signs import confirmed_first
from doctor.judge.match.proofs import CaseRef, canary_of, severity_of
from doctor.judge.match.signatures import Match, Text, find
from doctor.judge.match.table import (
    Canary,
    Decision,
    FactEvidence,
    Result,
    TextEvidence,
    conclude,
)
from doctor.model.catalog import Catalog
from doctor.model.facts import Facts
from doctor.model.findings import Detection, Evidence, EvidenceKind
from doctor.model.issues import Affected, KnownIssue
from doctor.model.outcomes import Outcome
from doctor.model.scales import Confidence, Severity

_SETTING = frozenset(
    {
        "torch.build",
        "host.os",
        "host.container",
        "host.wsl",
        "host.jetson",
        "host.machine",
        "cuda.selected",
        "cuda.packaging",
        "nvidia.wanted_by",
        "torch.reaches_cuda",
    }
)
"""Facts that say where an issue can occur at all. They are quoted last."""

CARGO = ("crate.", "cargo.", "rust.", "candle.", "cudarc.")
"""Prefixes of the facts about a Cargo workspace."""


class Evaluation(msgspec.Struct, frozen=True):
    """A known issue with everything that speaks for or against it.

    `stakes` is how bad it is by what speaks for it, `predicts` by the row of facts that holds.
    """

    id: str
    issue: KnownIssue
    applies: Truth
    matches: tuple[Match, ...]
    canary: Canary
    failed: frozenset[CaseRef]
    stakes: Severity
    predicts: Severity
    exposes: bool
    title: str
    cause: str

    @property
    def facts(self) -> FactEvidence:
        """Say what the facts tell of the issue.

        A row without conditions always holds, so it is no evidence.
        """
        if self.applies.truth is False:
            return FactEvidence.CONTRADICT
        if not self.applies.truth or not self.applies.facts:
            return FactEvidence.SAY_NOTHING
        return FactEvidence.PROVE if self.issue.certain and self.exposes else FactEvidence.FIT

    @property
    def text(self) -> TextEvidence:
        """Say whether its text was found, and whether that text can mean anything else."""
        if not self.matches:
            return TextEvidence.NOT_FOUND
        return TextEvidence.CONCLUSIVE if self.issue.conclusive else TextEvidence.FOUND


def evaluate(
    catalog: Catalog, facts: Facts, outcomes: Sequence[Outcome], texts: Sequence[Text]
) -> tuple[Evaluation, ...]:
    """Collect the evidence for and against each known issue.

    Where there are only facts, an issue without affected rows is left out: nothing could speak for
    it, nor against it.
    """
    facts_alone = not outcomes and not texts
    return tuple(
        _evaluate(name, issue, facts, outcomes, texts)
        for name, issue in catalog.issues.items()
        if not facts_alone or issue.affected or issue.gathers
    )


def _evaluate(
    name: str, issue: KnownIssue, facts: Facts, outcomes: Sequence[Outcome], texts: Sequence[Text]
) -> Evaluation:
    # What many programs end with says less of this machine than its own facts: the rule for GPUs
    # that are not reached names which ones.
    searched = [text for text in texts if not (text.fact and issue.general)]
    matches = tuple(find(issue.signatures, searched)) if searched else ()
    rows: Sequence[Affected] = issue.affected
    if len(rows) > 1:
        rows = sorted(rows, key=lambda row: _row_rank(issue, row))
    truths = [row_holds(row, facts) for row in rows]
    holding = [row for row, one in zip(rows, truths, strict=True) if one.truth]
    canary, failed = (
        canary_of(issue.proofs, outcomes) if outcomes else (Canary.NOT_RUN, frozenset[CaseRef]())
    )
    return Evaluation(
        id=name,
        issue=issue,
        applies=any_holds(truths) if rows else Truth(None),
        matches=matches,
        canary=canary,
        failed=failed,
        stakes=Severity.ERROR if issue.certain else _stakes(matches, failed, outcomes),
        predicts=next((_predicted(issue, row) for row in holding), Severity.NOTE),
        exposes=any(row.exposes for row in holding),
        title=_first_filled([row.title for row in holding], facts) or issue.title,
        cause=_first_filled([row.cause for row in holding], facts) or issue.cause,
    )


def _row_rank(issue: KnownIssue, row: Affected) -> tuple[bool, int, bool]:
    """Order rows: those that expose come first, then by severity, then those with conditions."""
    is_empty = not (row.when or row.packages)
    return (not row.exposes, _predicted(issue, row).rank, is_empty)


def _first_filled(texts: Iterable[str], facts: Facts) -> str | None:
    """Return the first text of a row that holds, where these facts fill it."""
    return next((filled for text in texts if text and (filled := fill(text, facts, {}))), None)


def _predicted(issue: KnownIssue, row: Affected) -> Severity:
    return row.predicts or (issue.severity if issue.certain and row.exposes else Severity.NOTE)


def _stakes(
    matches: Iterable[Match], failed: frozenset[CaseRef], outcomes: Iterable[Outcome]
) -> Severity:
    """Return how bad the gravest of the failures is that speak for an issue.

    A supplied log is an error that happened. A failed check counts for what its script says.
    """
    failing = {
        (ref.check, ref.device): {r.case for r in failed if r[:2] == ref[:2]} for ref in failed
    }
    severities = [
        severity_of(match.text.outcome, [ref.case for ref in cases_of([match])])
        if match.text.outcome
        else Severity.ERROR
        for match in matches
    ]
    severities += [
        severity_of(outcome, failing[outcome.id, outcome.device])
        for outcome in outcomes
        if (outcome.id, outcome.device) in failing
    ]
    return max(severities, default=Severity.ERROR)


def decide(evaluation: Evaluation, explained: frozenset[CaseRef]) -> Result:
    """Decide about one issue.

    `explained` are the failed cases that the text of an issue explains.
    """
    canary = evaluation.canary
    if canary is Canary.FAILED and not evaluation.matches and evaluation.failed <= explained:
        canary = Canary.NOT_RUN
    result = conclude(evaluation.facts, evaluation.text, canary)
    if result.decision is Decision.PREDICTED and not evaluation.exposes:
        return Result(Decision.NOTHING)
    return result


def explained_by_text(evaluations: Iterable[Evaluation]) -> frozenset[CaseRef]:
    """Return the failed cases whose own output names an issue that may apply.

    Nothing else needs to explain them.
    """
    return frozenset(
        ref
        for evaluation in evaluations
        if evaluation.facts is not FactEvidence.CONTRADICT or evaluation.issue.conclusive
        for ref in cases_of(evaluation.matches)
    )


def cases_of(matches: Iterable[Match]) -> Iterable[CaseRef]:
    """Return the failed cases whose log or reason holds a signature."""
    for match in matches:
        if (outcome := match.text.outcome) is not None:
            quoting = [
                name for name, case in outcome.cases.items() if match.evidence.text in case.reason
            ]
            yield from (
                CaseRef(outcome.id, outcome.device, name)
                for name in quoting or [*outcome.cases, ""]
            )


def finding(evaluation: Evaluation, result: Result, facts: Facts, target: str) -> Detection:
    """Return the finding for an issue that was decided to be one."""
    captures = {
        name: value for match in evaluation.matches for name, value in match.captures.items()
    }
    applies = evaluation.applies
    return Detection(
        id=evaluation.id,
        target=target,
        title=fill_known(evaluation.title, facts, captures),
        severity=_severity(evaluation, result, facts),
        confidence=result.confidence,
        message=fill_known(evaluation.cause, facts, captures).strip(),
        evidence=_evidence(evaluation, facts),
        recipes=confirmed_first(
            evaluation.issue.fixes,
            (match.text for match in evaluation.matches if not match.text.fact),
        ),
        captures=captures,
        references=tuple(reference.url for reference in evaluation.issue.references),
        symptoms=evaluation.issue.symptoms,
        missing_facts=applies.missing if applies.truth is None else (),
    )


def _severity(evaluation: Evaluation, result: Result, facts: Facts) -> Severity:
    """Return the severity that the evidence justifies.

    A prediction counts for what its row says, low confidence for a note. What is seen to happen
    counts for no less than its prediction.
    """
    issue = evaluation.issue
    milder = [
        one.severity
        for one in issue.milder
        if all_hold(condition_holds(part, facts) for part in one.when).truth
    ]
    bound = min([issue.severity, *milder])
    predicted = min(bound, evaluation.predicts if evaluation.exposes else Severity.NOTE)
    if result.decision is Decision.PREDICTED:
        return predicted
    if result.confidence is Confidence.LOW:
        return Severity.NOTE
    return max(min(bound, evaluation.stakes), predicted)


def _evidence(evaluation: Evaluation, facts: Facts) -> tuple[Evidence, ...]:
    """Quote the lines, the failed checks and the facts that speak for an issue, each once."""
    quoted = _each_once(match.evidence for match in evaluation.matches)
    failed = [
        Evidence(
            kind=EvidenceKind.OUTCOME,
            text=f"{ref.check} {ref.case}".strip() + " failed",
            source=device_name(ref.device, facts) if ref.device else "",
        )
        for ref in sorted(
            evaluation.failed, key=lambda ref: (ref.check, ref.device or "", ref.case)
        )
    ]
    quoted_facts = {evidence.fact for evidence in quoted}
    names = sorted(dict.fromkeys(evaluation.applies.facts), key=lambda name: name in _SETTING)
    return (
        *quoted,
        *failed,
        *(fact_evidence(name, facts) for name in names if name not in quoted_facts),
    )


def _each_once(evidence: Iterable[Evidence]) -> list[Evidence]:
    """Return each line of a source once: two signatures may match it, one with the line below."""
    kept: list[Evidence] = []
    for one in evidence:
        doubled = next(
            (
                place
                for place, other in enumerate(kept)
                if other.source == one.source and (one.text in other.text or other.text in one.text)
            ),
            None,
        )
        if doubled is None:
            kept.append(one)
        elif len(one.text) > len(kept[doubled].text):
            kept[doubled] = one
    return kept


def is_foreign(missing: Sequence[str], kinds: frozenset[str]) -> bool:
    """Say whether all missing facts belong to a kind of target that is not under examination."""
    wanted = {"cargo" if name.startswith(CARGO) else "interpreter" for name in missing}
    return bool(wanted) and not wanted & kinds
