"""GitHub and GitLab.

Annotations as the runner decodes them, the summary of a step, code quality.
"""

from __future__ import annotations

from doctor.model.findings import Place, Suppression
from doctor.model.scales import Severity
from doctor.report.markdown import step_summary
from doctor.report.structured import github
from tests.report import reports
from tests.report.readers import commands, violations

_IGNORED = Suppression(by="ignore", reason="we do not import it", until="2027-01-31")


def test_a_healthy_report_annotates_nothing() -> None:
    assert github.render(reports.healthy()) == ""
    assert violations(reports.healthy()) == []


def test_an_annotation_stands_at_the_line_that_pins_the_culprit() -> None:
    found = reports.wrong_torch(place=Place(path="a,b:c%.txt", line=7), title="100 %: a, b")
    ((name, properties, text),) = commands(reports.report(found))
    assert name == "error"
    assert properties == {
        "file": "a,b:c%.txt",
        "line": "7",
        "title": "100 %: a, b (toy/wrong-torch)",
    }
    assert text.splitlines()[-1].strip().startswith("uv pip install --python")


def test_without_a_place_an_annotation_belongs_to_the_run() -> None:
    ((_, properties, _),) = commands(reports.report(reports.wrong_torch()))
    assert set(properties) == {"title"}


def test_no_more_annotations_than_are_shown_and_the_worst_first() -> None:
    found = [
        reports.lesser(severity, f"toy/{number}") for severity in Severity for number in range(12)
    ]
    report = reports.report(*found)
    names = [name for name, _, _ in commands(report)]
    assert names == ["error"] * 10 + ["warning"] * 10 + ["notice"] * 10
    assert [
        line
        for line in github.render(report).splitlines()
        if line.endswith("2 more of severity note")
    ]


def test_a_red_step_without_a_finding_says_why() -> None:
    assert [properties["title"] for _, properties, _ in commands(reports.empty())] == [
        "doctor had nothing to judge"
    ]
    assert [properties["title"] for _, properties, _ in commands(reports.cargo())] == [
        "doctor was interrupted"
    ]


def test_what_is_ignored_is_not_annotated() -> None:
    report = reports.report(reports.wrong_torch(suppressed=_IGNORED))
    assert commands(report) == []
    assert violations(report) == []
    assert "1 ignored" in step_summary.render(report)


def test_the_summary_has_a_table_and_every_fix() -> None:
    text = step_summary.render(reports.sick())
    assert text.startswith(
        "## doctor: 1 error, 1 warning, 2 notes\n\nChecks: 2 passed, 3 failed, 1 broken."
    )
    assert "| ❌ error | toyvision was built for another torch |" in text
    assert "```sh\nuv pip install --python" in text
    assert "<details><summary>ℹ️ note: Something smaller</summary>" in text


def test_the_summary_of_a_healthy_report_is_short() -> None:
    assert (
        step_summary.render(reports.healthy())
        == "## doctor: nothing to act on\n\nChecks: 9 passed.\n\n"
    )


def test_code_quality_names_file_line_and_severity() -> None:
    found = (
        reports.wrong_torch(place=Place(path="requirements.txt", line=3)),
        reports.lesser(Severity.NOTE, "toy/x"),
    )
    first, second = violations(reports.report(*found))
    assert first["location"] == {"path": "requirements.txt", "lines": {"begin": 3}}
    assert (first["check_name"], first["severity"]) == ("toy/wrong-torch", "critical")
    assert first["description"].startswith(
        "toyvision was built for another torch. Fix: Take the toyvision"
    )
    assert (second["severity"], second["location"]["path"]) == ("info", "pyproject.toml")
    assert first["fingerprint"] != second["fingerprint"]
