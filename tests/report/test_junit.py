"""JUnit XML.

Which check is a failure, which an error, which was skipped, and what made the exit code.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest

from doctor.model.facts import present
from doctor.model.findings import Suppression
from doctor.model.outcomes import Case, Outcome, Verdict
from doctor.model.scales import Severity
from doctor.report.markdown import step_summary
from tests.report import reports
from tests.report.readers import junit_suites, sarif_run


def _checks(*outcomes: Outcome) -> ET.Element:
    return junit_suites(reports.report(outcomes=outcomes))["checks"]


def _told(suite: ET.Element) -> dict[str, str]:
    """Return, by name of the test case, the element that says what became of it and its message."""
    ends = {
        case.attrib["name"]: [each for each in case if each.tag != "system-out"]
        for case in suite.iter("testcase")
    }
    return {
        name: f"{end[0].tag}: {end[0].attrib['message']}" if end else "passed"
        for name, end in ends.items()
    }


@pytest.mark.parametrize("name", reports.REPORTS)
def test_every_report_fits_the_schema(name: str) -> None:
    assert set(junit_suites(reports.REPORTS[name]())) == {"checks", "findings"}


@pytest.mark.parametrize(
    ("verdict", "told"),
    [
        ("passed", "passed"),
        ("failed", "failure: 2 + 2 is 5"),
        ("crashed", "error: 2 + 2 is 5"),
        ("timed_out", "error: 2 + 2 is 5"),
        ("broken", "error: 2 + 2 is 5"),
        ("skipped", "skipped: 2 + 2 is 5"),
    ],
)
def test_each_verdict_has_its_element(verdict: str, told: str) -> None:
    suite = _checks(reports.outcome("toy-add", verdict, "cuda:0", reason="2 + 2 is 5"))
    assert _told(suite) == {"toy-add [cuda:0]": told}
    counts = {name: int(suite.attrib[name]) for name in ("tests", "failures", "errors", "skipped")}
    assert counts == {
        "tests": 1,
        "failures": int(told.startswith("failure")),
        "errors": int(told.startswith("error")),
        "skipped": int(told.startswith("skipped")),
    }


def test_each_case_of_a_check_is_a_test_on_its_device() -> None:
    cases = {
        "sum": Case(verdict=Verdict.FAILED, reason="off by 3.1"),
        "pair": Case(verdict=Verdict.SKIPPED, reason="needs two"),
    }
    suite = _checks(
        reports.outcome("toy-add", "failed", "cuda:0", cases=cases, log="loading\nthe end")
    )
    assert _told(suite) == {
        "sum [cuda:0]": "failure: off by 3.1",
        "pair [cuda:0]": "skipped: needs two",
    }
    assert {case.attrib["classname"] for case in suite.iter("testcase")} == {"toy-add"}
    assert [case.findtext("system-out") for case in suite.iter("testcase")] == [
        "loading\nthe end",
        None,
    ]


def test_a_crash_after_cases_that_passed_is_told_beside_them() -> None:
    cases = {"sum": Case(verdict=Verdict.PASSED)}
    suite = _checks(
        reports.outcome(
            "toy-add", "crashed", None, cases=cases, reason="signal 11", signal="SIGSEGV"
        )
    )
    assert _told(suite) == {"toy-add": "error: signal 11", "sum": "passed"}
    (error,) = suite.iter("error")
    assert error.attrib["type"] == "by SIGSEGV"


def test_a_red_run_without_a_red_check_says_why() -> None:
    assert _told(junit_suites(reports.empty())["checks"])["something to judge"].startswith(
        "error: there was nothing to judge"
    )
    assert _told(junit_suites(reports.cargo())["checks"])["the whole run"].startswith(
        "error: doctor was interrupted"
    )


def test_the_end_of_a_long_log_is_kept() -> None:
    suite = _checks(reports.outcome("toy-add", "failed", log="line\n" * 100_000 + "the end"))
    log = suite.findtext("testcase/system-out") or ""
    assert log.startswith("…")
    assert log.endswith("the end")
    assert len(log) < 100_000


def test_what_a_runner_would_obey_comes_back_as_it_was() -> None:
    suite = _checks(
        reports.outcome("toy-add", "failed", log="first\n  ::error::x\n##[group]y\na::b")
    )
    assert suite.findtext("testcase/system-out") == "first\n  ::error::x\n##[group]y\na::b"


def _findings(exit_code: int, *severities: Severity) -> dict[str, str]:
    found = [
        reports.lesser(severity, f"toy/{severity.value}", title=severity.value)
        for severity in severities
    ]
    return {
        name: told.partition(":")[0]
        for name, told in _told(
            junit_suites(reports.report(*found, exit_code=exit_code))["findings"]
        ).items()
    }


def test_the_findings_that_fail_are_those_that_made_the_exit_code() -> None:
    error, warning, note = Severity.ERROR, Severity.WARNING, Severity.NOTE
    assert _findings(1, error, warning) == {"error": "failure", "warning": "passed"}
    assert _findings(0, warning, note) == {"warning": "passed", "note": "passed"}
    assert _findings(1, warning, note) == {"warning": "failure", "note": "passed"}
    assert _findings(1, note) == {"note": "failure"}


def test_what_is_ignored_is_skipped_with_its_reason() -> None:
    ignored = Suppression(by="ignore", reason="we do not import it", until="2027-01-31")
    suite = junit_suites(reports.report(reports.wrong_torch(suppressed=ignored)))["findings"]
    assert list(_told(suite).values()) == ["skipped: we do not import it until 2027-01-31"]


def test_what_was_assumed_is_marked_in_every_format() -> None:
    facts = reports.facts(nvidia__capabilities=present(["12.0"], "assumed"))
    report = reports.report(reports.wrong_torch(), facts=facts)
    told = "judged as if there (--assume): gpu=sm_120"
    properties = {
        one.attrib["name"]: one.attrib["value"]
        for one in junit_suites(report)["checks"].iter("property")
    }
    assert properties["assumed"] == told
    assert properties["torch.version"] == "2.7.0+cu128"
    assert told in str(sarif_run(report)["invocations"])
    assert "judged as if there" in step_summary.render(report)
    assert "assumed" not in {
        one.attrib["name"] for one in junit_suites(reports.healthy())["checks"].iter("property")
    }


def test_a_finding_says_what_to_type() -> None:
    suite = junit_suites(reports.report(reports.wrong_torch(), exit_code=1))["findings"]
    assert "uv pip install --python" in (suite.findtext("testcase/failure") or "")
