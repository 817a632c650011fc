"""Hold every known issue against an observation."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from doctor.facts.conditions import Held, all_hold, any_holds, condition_holds, row_holds
from doctor.facts.devices import named
from doctor.facts.placeholders import fill, fill_known
from doctor.judge.match.evidence import fact_evidence
from doctor.judge.match.proofs import CaseRef, held_against, matters
from doctor.judge.match.signatures import Seen, Text, find
from doctor.judge.match.table import Canary, Decision, Result, judge
from doctor.model.catalog import Catalog
from doctor.model.facts import Facts
from doctor.model.findings import Evidence, EvidenceKind, Finding
from doctor.model.issues import Affected, KnownIssue
from doctor.model.outcomes import Outcome
from doctor.model.scales import Confidence, Severity

_SETTING = frozenset(
    {
        *(
            "torch.build",
            "host.os",
            "host.container",
            "host.wsl",
            "host.jetson",
            "host.machine",
            "cuda.selected",
            "cuda.packaging",
        ),
        *("nvidia.wanted_by", "torch.reaches_cuda"),
    }
)
"""Facts that say where an issue can be at all: quoted after those that tell."""

CARGO = ("crate.", "cargo.", "rust.", "candle.", "cudarc.")
"""How the names of facts about a Cargo workspace begin."""


class Evaluation(NamedTuple):
    """A known issue with everything that speaks for or against it."""

    id: str
    issue: KnownIssue
    applies: Held
    seen: tuple[Seen, ...]
    canary: Canary
    red: frozenset[CaseRef]
    matters: Severity
    predicts: Severity
    exposes: bool
    title: str
    cause: str


def evaluate(
    catalog: Catalog, facts: Facts, outcomes: Sequence[Outcome], texts: Sequence[Text]
) -> tuple[Evaluation, ...]:
    """Gather, for each known issue, whether it applies, where its text stands, and how its checks ended.

    Where there are only facts, an issue that names none is left out: nothing could speak for it,
    nor against it.
    """
    silent = not outcomes and not texts
    known = (
        (name, issue)
        for name, issue in catalog.issues.items()
        if not silent or issue.affected or issue.gathers
    )
    return tuple(_weigh(name, issue, facts, outcomes, texts) for name, issue in known)


def _weigh(
    name: str, issue: KnownIssue, facts: Facts, outcomes: Sequence[Outcome], texts: Sequence[Text]
) -> Evaluation:
    # What many things end with says less of this machine than what it shows: the rule for GPUs that
    # are not reached speaks then.
    seen = tuple(
        find(issue.signatures, [text for text in texts if not (text.fact and issue.general)])
    )
    rows = sorted(issue.affected, key=lambda row: (not row.exposes, _predicted(issue, row).rank))
    held = [row_holds(row, facts) for row in rows]
    applies = any_holds(held) if rows else Held(True if seen else None)
    if applies.truth is False and issue.conclusive and seen:
        applies = Held(None)
    predicts = next(
        (_predicted(issue, row) for row, one in zip(rows, held, strict=True) if one.truth),
        Severity.NOTE,
    )
    canary, red = held_against(issue.proofs, outcomes)
    matters = Severity.ERROR if issue.certain else _worst(seen, red, outcomes)
    exposes = any(row.exposes for row, one in zip(rows, held, strict=True) if one.truth)
    holding = [row for row, one in zip(rows, held, strict=True) if one.truth]
    title = _own([row.title for row in holding], facts) or issue.title
    cause = _own([row.cause for row in holding], facts) or issue.cause
    return Evaluation(
        name, issue, applies, seen, canary, red, matters, predicts, exposes, title, cause
    )


def _own(texts: Iterable[str], facts: Facts) -> str | None:
    """Return the first text of a row that holds, where these facts fill it."""
    return next((filled for text in texts if text and (filled := fill(text, facts, {}))), None)


def _predicted(issue: KnownIssue, row: Affected) -> Severity:
    return row.predicts or (issue.severity if issue.certain and row.exposes else Severity.NOTE)


def _worst(seen: Iterable[Seen], red: frozenset[CaseRef], outcomes: Iterable[Outcome]) -> Severity:
    """Return how bad it is by what speaks for it: a log that was handed in tells of an error that happened."""
    if not red or any(found.text.is_handed_in for found in seen):
        return Severity.ERROR
    spots = {(spot.check, spot.device) for spot in red}
    return max(matters(outcome) for outcome in outcomes if (outcome.id, outcome.device) in spots)


def rule(held: Evaluation, explained: frozenset[CaseRef]) -> Result:
    """Judge one issue; a red check that another issue explains by its text counts as not run."""
    canary = held.canary
    if canary is Canary.FAILED and not held.seen and held.red <= explained:
        canary = Canary.NOT_RUN
    result = judge(held.applies.truth, signature=bool(held.seen), canary=canary)
    return (
        Result(Decision.NOTHING)
        if result.ruling is Decision.PREDICTED and not held.exposes
        else result
    )


def explained_by_text(weighed: Iterable[Evaluation]) -> frozenset[CaseRef]:
    """Return the red spots whose own log names an issue that may apply: nothing else needs to explain them."""
    return frozenset(
        spot
        for held in weighed
        if held.applies.truth is not False
        for spot in spots_of_text(held.seen)
    )


def spots_of_text(seen: Iterable[Seen]) -> Iterable[CaseRef]:
    """Return the red spots whose log or reason holds a signature."""
    for found in seen:
        if (outcome := found.text.outcome) is not None:
            named = [
                name for name, case in outcome.cases.items() if found.evidence.text in case.reason
            ]
            yield from (
                CaseRef(outcome.id, outcome.device, name) for name in named or [*outcome.cases, ""]
            )


def finding(held: Evaluation, result: Result, facts: Facts, target: str) -> Finding:
    """Turn a ruling into a finding with its own words.

    Exposure counts for what its row predicts, low confidence for a note.
    """
    captures = {name: value for found in held.seen for name, value in found.captures.items()}
    predicted = result.ruling is Decision.PREDICTED
    confidence = Confidence.HIGH if predicted and held.issue.certain else result.confidence
    bound = (
        held.predicts
        if predicted
        else Severity.NOTE
        if confidence is Confidence.LOW
        else Severity.ERROR
    )
    missing = held.applies.missing if held.applies.truth is None else ()
    return Finding(
        id=held.id,
        target=target,
        title=fill_known(held.title, facts, captures),
        severity=min(bound, _severity(held, facts)),
        confidence=confidence,
        message=fill_known(held.cause, facts, captures).strip(),
        evidence=_evidence(held, facts),
        recipes=held.issue.fixes,
        captures=captures,
        references=tuple(reference.url for reference in held.issue.references),
        symptoms=held.issue.symptoms,
        settles=", ".join(missing),
    )


def _severity(held: Evaluation, facts: Facts) -> Severity:
    holding = [
        one.severity
        for one in held.issue.milder
        if all_hold(condition_holds(part, facts) for part in one.when).truth
    ]
    return min([held.issue.severity, held.matters, *holding])


def _evidence(held: Evaluation, facts: Facts) -> tuple[Evidence, ...]:
    said = list(dict.fromkeys(found.evidence for found in held.seen))
    said += [
        Evidence(
            kind=EvidenceKind.OUTCOME,
            text=f"{spot.check} {spot.case}".strip() + " failed",
            source=named(spot.device, facts) if spot.device else "",
        )
        for spot in sorted(held.red, key=lambda spot: (spot.check, spot.device or "", spot.case))
    ]
    telling = sorted(dict.fromkeys(held.applies.facts), key=lambda name: name in _SETTING)
    return (*said, *(fact_evidence(name, facts) for name in telling))


def is_foreign(missing: Sequence[str], kinds: frozenset[str]) -> bool:
    """Say whether all missing facts belong to a kind of target that is not under examination."""
    wanted = {"cargo" if name.startswith(CARGO) else "interpreter" for name in missing}
    return bool(wanted) and not wanted & kinds
