"""What is suppressed is told in a line, counted nowhere, and kept in the JSON report."""

from __future__ import annotations

import json

import msgspec
import pytest

from doctor.model.findings import Suppression
from doctor.model.report import Report
from doctor.model.scales import Severity
from doctor.report.structured import json_document as json_reporter
from doctor.report.terminal import document as terminal
from tests.report.reports import PASSED, lesser, report, wrong_torch

_IGNORE = Suppression(by="ignore", reason="not imported here", until="2027-01-31")


def _report() -> Report:
    ignored, known = (
        wrong_torch(suppressed=_IGNORE),
        lesser(Severity.ERROR, "toy/known", suppressed=Suppression(by="baseline")),
    )
    return msgspec.structs.replace(report(ignored, known, outcomes=PASSED), fixed=("toy/gone",))


def _text(shown: Report, verbosity: int = 0) -> str:
    return terminal.render(shown, verbosity=verbosity, width=100, colour=False, unicode=True)


def test_each_kind_has_its_line() -> None:
    text = _text(_report())
    assert "1 ignored: toy/wrong-torch until 2027-01-31\n" in text
    assert "1 in the baseline: toy/known\n" in text
    assert "1 of the baseline gone: toy/gone\n" in text
    assert "toyvision was built for another torch" not in text
    assert "0 errors, 0 warnings, 0 notes" in text
    assert "the checks passed, and no known issue applies" not in text


@pytest.mark.parametrize(("verbosity", "told"), [(0, False), (1, True)])
def test_the_reason_is_told_where_everything_is_wanted(verbosity: int, told: bool) -> None:
    assert ("not imported here" in _text(_report(), verbosity)) is told


def test_many_are_cut_and_counted() -> None:
    many = [lesser(Severity.NOTE, f"toy/n{number}", suppressed=_IGNORE) for number in range(20)]
    text = " ".join(_text(report(*many)).split())
    assert "20 ignored: toy/n0 until 2027-01-31" in text
    assert "and 12 more (-v)" in text


def test_the_first_to_mend_is_one_that_counts() -> None:
    shown = report(
        wrong_torch(suppressed=_IGNORE), wrong_torch(id="toy/first"), wrong_torch(id="toy/second")
    )
    assert "(toy/first)" in _text(shown).partition("Do first:")[2]


def test_the_json_report_keeps_the_finding_and_why_it_does_not_count() -> None:
    told = json.loads(json_reporter.render(_report()))
    assert [found["suppressed"]["by"] for found in told["findings"]] == ["ignore", "baseline"]
    assert (told["summary"]["error"], told["gone"]) == (0, ["toy/gone"])


def test_the_first_to_mend_keeps_its_condition() -> None:
    first = wrong_torch(id="toy/first")
    fix = msgspec.structs.replace(first.fixes[0], use_if=("torch is built for CUDA",))
    shown = report(msgspec.structs.replace(first, fixes=(fix,)), wrong_torch(id="toy/second"))
    assert "Do first: If torch is built for CUDA: Take" in _text(shown)
