"""The decision table: every cell, and that more evidence never counts for less."""

from __future__ import annotations

from itertools import product

import pytest

from doctor.judge.match.table import (
    Canary,
    Decision,
    FactEvidence,
    Result,
    TextEvidence,
    conclude,
)
from doctor.model.scales import Confidence

HIGH, MEDIUM, LOW = (Result(Decision.FINDING, level) for level in Confidence)
LIKELY = Result(Decision.PREDICTED, Confidence.MEDIUM)
CERTAIN = Result(Decision.PREDICTED, Confidence.HIGH)
UNDECIDED, RULED_OUT, NOTHING = (
    Result(Decision.UNDECIDED),
    Result(Decision.RULED_OUT),
    Result(Decision.NOTHING),
)
PROVE, FIT, SAY_NOTHING, CONTRADICT = (
    FactEvidence.PROVE,
    FactEvidence.FIT,
    FactEvidence.SAY_NOTHING,
    FactEvidence.CONTRADICT,
)
CONCLUSIVE, FOUND, NOT_FOUND = (
    TextEvidence.CONCLUSIVE,
    TextEvidence.FOUND,
    TextEvidence.NOT_FOUND,
)

CELLS = {
    # facts, text: canary failed, not run, passed
    (PROVE, CONCLUSIVE): (HIGH, HIGH, HIGH),
    (PROVE, FOUND): (HIGH, HIGH, HIGH),
    (PROVE, NOT_FOUND): (HIGH, CERTAIN, RULED_OUT),
    (FIT, CONCLUSIVE): (HIGH, HIGH, HIGH),
    (FIT, FOUND): (HIGH, HIGH, MEDIUM),
    (FIT, NOT_FOUND): (HIGH, LIKELY, RULED_OUT),
    (SAY_NOTHING, CONCLUSIVE): (HIGH, HIGH, MEDIUM),
    (SAY_NOTHING, FOUND): (HIGH, MEDIUM, LOW),
    (SAY_NOTHING, NOT_FOUND): (UNDECIDED, UNDECIDED, RULED_OUT),
    (CONTRADICT, CONCLUSIVE): (HIGH, MEDIUM, LOW),
    (CONTRADICT, FOUND): (MEDIUM, LOW, LOW),
    (CONTRADICT, NOT_FOUND): (NOTHING, NOTHING, NOTHING),
}
CANARIES = (Canary.FAILED, Canary.NOT_RUN, Canary.PASSED)
ALL = list(product(FactEvidence, TextEvidence, Canary))
DECISIONS = (
    Decision.NOTHING,
    Decision.RULED_OUT,
    Decision.UNDECIDED,
    Decision.PREDICTED,
    Decision.FINDING,
)
CONFIDENCES = (Confidence.LOW, Confidence.MEDIUM, Confidence.HIGH)


@pytest.mark.parametrize(("facts", "text", "canary"), ALL, ids=str)
def test_every_cell(facts: FactEvidence, text: TextEvidence, canary: Canary) -> None:
    assert conclude(facts, text, canary) == CELLS[facts, text][CANARIES.index(canary)]


def test_the_cells_above_are_all_cells() -> None:
    assert len(CELLS) * len(CANARIES) == len(ALL) == 36


@pytest.mark.parametrize(("facts", "text", "canary"), ALL, ids=str)
def test_more_evidence_never_lowers_a_decision_or_a_confidence(
    facts: FactEvidence, text: TextEvidence, canary: Canary
) -> None:
    less = conclude(facts, text, canary)
    for more in ALL:
        if more[0] >= facts and more[1] >= text and more[2] >= canary:
            result = conclude(*more)
            assert DECISIONS.index(result.decision) >= DECISIONS.index(less.decision), more
            assert CONFIDENCES.index(result.confidence) >= CONFIDENCES.index(less.confidence), more


def test_a_text_alone_is_of_medium_confidence() -> None:
    assert conclude(SAY_NOTHING, FOUND, Canary.NOT_RUN).confidence is Confidence.MEDIUM
