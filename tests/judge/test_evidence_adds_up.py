"""More evidence for an issue never lowers its confidence or its severity."""

from __future__ import annotations

from itertools import product
from typing import NamedTuple

import msgspec
import pytest

from doctor.judge.match import diagnose
from doctor.model.findings import Detection
from doctor.model.issues import Affected, KnownIssue, Milder, Range
from doctor.model.observation import Observation
from doctor.model.scales import Confidence, Severity
from tests import toy

TEXT = "the sum is off by 3"


class Evidence(NamedTuple):
    """What speaks for the toy issue; of two, the one with every part at least as great has more."""

    row: bool = False
    supplied: bool = False
    printed: bool = False
    failed: bool = False


class Author(NamedTuple):
    """What an author can write that bears on severity and confidence."""

    certain: bool
    conclusive: bool
    exposes: bool
    predicts: Severity | None
    milder: Severity | None


EVIDENCE = [Evidence(*parts) for parts in product((False, True), repeat=4)]
AUTHORS = [
    Author(certain, conclusive, exposes, predicts, milder)
    for certain, conclusive, exposes, predicts, milder in product(
        (False, True), (False, True), (False, True), (None, *Severity), (None, *Severity)
    )
    if exposes or not (certain or predicts)
]


def issue(author: Author) -> KnownIssue:
    row = Affected(
        packages={"torch": (Range(fixed="2.0"),)},
        predicts=author.predicts,
        exposes=author.exposes,
    )
    milder = Milder(severity=author.milder, when=()) if author.milder else None
    return toy.issue(
        affected=(row,),
        certain=author.certain,
        conclusive=author.conclusive,
        milder=(milder,) if milder else (),
    )


def observation(evidence: Evidence, *, elsewhere: bool, matters: str) -> Observation:
    """Make an observation; where the row does not hold, its fact is unknown or contradicts."""
    version = "1.13.1" if evidence.row else "2.13.0" if elsewhere else ""
    outcomes = []
    if evidence.failed:
        outcomes.append(toy.outcome(sum="failed"))
    if evidence.printed:
        outcomes.append(toy.outcome(check="toy-print", other="failed", log=TEXT))
    return toy.seen(
        {"torch.version": version} if version else {},
        *(msgspec.structs.replace(one, data={"matters": matters}) for one in outcomes),
        log=TEXT if evidence.supplied else "",
    )


def judged(author: Author, seen: Observation) -> Detection | None:
    catalog = toy.catalog(torch__wrong_sum=issue(author))
    findings = diagnose(seen, catalog).findings
    return next((found for found in findings if found.id == "torch/wrong-sum"), None)


@pytest.mark.parametrize("elsewhere", [False, True])
@pytest.mark.parametrize("matters", [severity.value for severity in Severity])
def test_more_evidence_never_lowers_confidence_or_severity(
    matters: str, *, elsewhere: bool
) -> None:
    for author in AUTHORS:
        found = {
            evidence: judged(author, observation(evidence, elsewhere=elsewhere, matters=matters))
            for evidence in EVIDENCE
        }
        for less, more in product(EVIDENCE, EVIDENCE):
            lesser, greater = found[less], found[more]
            if lesser is None or not all(a <= b for a, b in zip(less, more, strict=True)):
                continue
            assert greater is not None, (author, less, more)
            assert greater.confidence >= lesser.confidence, (author, less, more)
            assert greater.severity >= lesser.severity, (author, less, more)


def test_a_text_alone_is_of_medium_confidence_and_a_conclusive_one_of_high() -> None:
    confidences = [
        found.confidence
        for conclusive in (False, True)
        if (
            found := judged(
                Author(False, conclusive, True, None, None),
                observation(Evidence(supplied=True), elsewhere=False, matters="error"),
            )
        )
    ]
    assert confidences == [Confidence.MEDIUM, Confidence.HIGH]


def test_a_failed_check_beside_facts_that_prove_the_issue_leaves_it_certain() -> None:
    author = Author(True, False, True, None, None)
    found = [
        judged(author, observation(evidence, elsewhere=False, matters="error"))
        for evidence in (Evidence(row=True), Evidence(row=True, failed=True))
    ]
    assert [one and one.confidence for one in found] == [Confidence.HIGH, Confidence.HIGH]


def test_a_line_that_two_signatures_match_is_quoted_once() -> None:
    line = toy.issue().signatures[0]
    other = msgspec.structs.replace(line, pattern=r"off by \d+\nthe end")
    catalog = toy.catalog(torch__wrong_sum=toy.issue(signatures=(line, other)))
    (found,) = diagnose(toy.seen({}, log=f"{TEXT}\nthe end"), catalog).findings
    assert [(quote.text, quote.line) for quote in found.evidence] == [(f"{TEXT}\nthe end", 1)]
