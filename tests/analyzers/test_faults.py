"""A line cut off or mangled anywhere breaks no analyzer, and a fault of one costs only its own."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

import doctor.analyzers as package
from doctor.analyzers import explanations
from doctor.analyzers.case import Case, Explanation
from tests.analyzers.explained import case_of, catalog

LOGS = [
    example.log for issue in catalog().issues.values() for example in issue.examples if example.log
]


@pytest.mark.parametrize("part", range(2))
def test_no_mangled_log_breaks_an_analyzer(part: int) -> None:
    """Cut lines, swapped halves, missing numbers: analyzers see what people paste."""
    draw = random.Random(part)
    # Each fifth: an analyzer explains many of the logs. The fuzzing goes further.
    for log in LOGS[part::10] + LOGS[part + 5 :: 10]:
        list(explanations(case_of(_mangled(log, draw)), strict=True))


def _mangled(log: str, draw: random.Random) -> str:
    place = draw.randrange(len(log) + 1)
    lines = log.split("\n")
    draw.shuffle(lines)
    changed = log.replace(draw.choice("0123456789.:/'"), draw.choice(["", "\x00", "9" * 40, "é"]))
    return draw.choice([log[:place], log[place:], changed, "\n".join(lines)])


def test_a_fault_of_one_analyzer_costs_only_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """The others go on; a test sees the fault."""

    def broken(_case: Case) -> Iterator[Explanation]:
        raise KeyError("what")

    known = package.analyzers()
    monkeypatch.setattr(package, "analyzers", lambda: (broken, *known))
    case = case_of("ImportError: /x/own.so: undefined symbol: own_thing")
    assert [one.detection.id for one in explanations(case)] == ["failure/own-symbol-missing"]
    with pytest.raises(KeyError):
        list(explanations(case, strict=True))
