"""Every cell of the table that turns evidence into a result."""

from __future__ import annotations

from itertools import product

import pytest

from doctor.judge.match.table import Canary, Decision, Result, judge
from doctor.model.scales import Confidence

HIGH, MEDIUM, LOW = (Result(Decision.FINDING, level) for level in Confidence)
PREDICTED = Result(Decision.PREDICTED, Confidence.MEDIUM)
UNDECIDED, RULED_OUT, NOTHING = (
    Result(Decision.UNDECIDED),
    Result(Decision.RULED_OUT),
    Result(Decision.NOTHING),
)

CELLS = {
    # applies, signature: failed, passed, not run
    (True, True): (HIGH, MEDIUM, HIGH),
    (True, False): (MEDIUM, RULED_OUT, PREDICTED),
    (None, True): (MEDIUM, LOW, MEDIUM),
    (None, False): (UNDECIDED, RULED_OUT, UNDECIDED),
    (False, True): (MEDIUM, LOW, LOW),
    (False, False): (NOTHING, NOTHING, NOTHING),
}


@pytest.mark.parametrize(("row", "column"), list(product(CELLS, enumerate(Canary))), ids=str)
def test_every_cell(row: tuple[bool | None, bool], column: tuple[int, Canary]) -> None:
    applies, signature = row
    number, canary = column
    assert judge(applies, signature=signature, canary=canary) == CELLS[row][number]


def test_the_table_above_is_total() -> None:
    assert set(CELLS) == set(product((True, None, False), (True, False)))
    assert all(len(cells) == len(Canary) for cells in CELLS.values())
