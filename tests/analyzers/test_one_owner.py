"""One analyzer alone explains a line, whatever several programs call its failure."""

from __future__ import annotations

from collections import defaultdict

from doctor.analyzers import analyzers
from doctor.analyzers.case import Precision
from tests.analyzers.explained import case_of, catalog


def test_no_two_analyzers_explain_one_line() -> None:
    """Two that do are one mechanism with two owners; the worse one goes."""
    texts = [
        example.log
        for issue in catalog().issues.values()
        for example in issue.examples
        if example.log
    ]
    twice: dict[frozenset[str], str] = {}
    for text in texts:
        case = case_of(text)
        owners: dict[int, set[str]] = defaultdict(set)
        for explain in analyzers():
            for one in explain(case):
                if one.precision is Precision.ADVICE:
                    continue  # it stands back behind every other one
                owners[one.event.at].add(f"{explain.__module__}: {one.detection.id}")
        for at, names in owners.items():
            if len({name.partition(":")[0] for name in names}) > 1:
                twice[frozenset(names)] = case.log.lines[at]
    assert len(texts) > 1000
    assert not twice
