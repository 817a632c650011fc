"""SARIF: what code scanning shows of a report, and how it knows a finding again."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from doctor.model.facts import present
from doctor.model.findings import Finding, Place, Suppression
from doctor.model.observation import ProbeFailure
from doctor.model.report import Report
from doctor.model.scales import Severity
from doctor.report.structured import sarif
from tests.report import reports
from tests.report.readers import sarif_run


def _results(*findings: Finding, **seen: Any) -> list[dict[str, Any]]:
    return list(sarif_run(reports.report(*findings, **seen))["results"])


def _place(result: dict[str, Any]) -> tuple[str, int]:
    where = result["locations"][0]["physicalLocation"]
    assert where["artifactLocation"]["uriBaseId"] == "%SRCROOT%"
    return where["artifactLocation"]["uri"], where["region"]["startLine"]


@pytest.mark.parametrize("name", reports.REPORTS)
def test_every_report_fits_the_schema(name: str) -> None:
    report = reports.REPORTS[name]()
    run = sarif_run(report)
    assert run["invocations"][0]["exitCode"] == report.exit_code
    assert "automationDetails" not in run


def test_a_result_says_what_is_wrong_what_was_seen_and_what_to_type() -> None:
    (result,) = _results(reports.wrong_torch())
    assert (result["ruleId"], result["level"]) == ("toy/wrong-torch", "error")
    text = result["message"]["text"]
    assert text.startswith("toyvision was built for another torch\n")
    assert "Seen: RuntimeError: operator toyvision::nms does not exist (train.log:41)" in text
    assert text.endswith(
        "uv pip install --python /home/ada/project/.venv/bin/python --no-deps 'toyvision==0.22.*'"
    )


def test_a_rule_helps_with_every_fix() -> None:
    (rule,) = sarif_run(reports.report(reports.wrong_torch()))["tool"]["driver"]["rules"]
    assert (rule["id"], rule["name"]) == ("toy/wrong-torch", "ToyWrongTorch")
    assert rule["helpUri"] == "https://example.org/toyvision/issues/8985"
    assert rule["defaultConfiguration"] == {"level": "error"}
    assert rule["properties"] == {
        "tags": ["toy", "gpu-stack"],
        "precision": "high",
        "problem.severity": "error",
    }
    markdown = rule["help"]["markdown"]
    assert "```sh\nuv pip install --python" in markdown
    assert "```diff\n- boxes = toyvision.nms(boxes)" in markdown
    assert "needs sudo, reboot afterwards" in markdown
    assert "doctor check --skip toy/wrong-torch" in markdown


def test_a_finding_is_anchored_where_its_culprit_is_pinned() -> None:
    (result,) = _results(reports.wrong_torch(place=Place(path="docker/my file.txt", line=7)))
    assert _place(result) == ("docker/my%20file.txt", 7)


@pytest.mark.parametrize(
    ("manifests", "target", "path"),
    [
        (["requirements.txt", "Cargo.toml"], "interpreter", "requirements.txt"),
        (["requirements.txt", "Cargo.toml"], "cargo", "Cargo.toml"),
        (["environment.yml"], "cargo", "environment.yml"),
        (["../x", "/etc/passwd", 7], "interpreter", "pyproject.toml"),
        ("requirements.txt", "cargo", "Cargo.toml"),
    ],
)
def test_without_a_place_a_finding_hangs_on_a_manifest_of_its_kind(
    manifests: Any, target: str, path: str
) -> None:
    facts = {"project.manifests": present(manifests, "test")}
    (result,) = _results(reports.wrong_torch(target=target), facts=facts)
    assert _place(result) == (path, 1)


def test_a_finding_is_known_again_whatever_its_words_and_lines_are() -> None:
    def mark(**changes: Any) -> object:
        return _results(reports.wrong_torch(**changes))[0]["partialFingerprints"]["canaryDoctor/v1"]

    elsewhere = mark(
        title="toyvision 2 was built for torch 3",
        place=Place(path="x.txt", line=9),
        severity=Severity.NOTE,
        evidence=(),
    )
    assert mark() == elsewhere
    assert mark() != mark(id="toy/other")
    assert mark() != mark(target="cargo")


def test_two_findings_of_one_rule_share_it_and_are_two_alerts() -> None:
    found = reports.lesser(Severity.ERROR, "canary/toy-add")
    run = sarif_run(reports.report(found, msgspec.structs.replace(found, title="on cuda:1")))
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == ["canary/toy-add"]
    assert len({result["partialFingerprints"]["canaryDoctor/v1"] for result in run["results"]}) == 2


def test_what_is_ignored_is_suppressed_and_says_why() -> None:
    ignored = Suppression(by="ignore", reason="we do not import it", until="2027-01-31")
    old, new = _results(
        reports.wrong_torch(suppressed=ignored),
        reports.wrong_torch(suppressed=Suppression(by="baseline")),
    )
    assert old["suppressions"] == [
        {
            "kind": "external",
            "status": "accepted",
            "justification": "we do not import it (until 2027-01-31)",
        }
    ]
    assert new["suppressions"][0]["justification"] == "by baseline"


def test_doctors_own_faults_are_notifications_and_no_results() -> None:
    found = (
        reports.lesser(Severity.WARNING, "check/toy-other"),
        reports.lesser(Severity.NOTE, "probe/nvidia"),
    )
    broken = reports.outcome("toy-other", "broken", "cuda:0", reason="KeyError: 'sum'")
    failure = ProbeFailure(probe="nvidia", why="gave no answer within 20 s")
    run = sarif_run(
        reports.report(
            *found, outcomes=(broken,), probe_failures=(failure,), interrupted=True, exit_code=130
        )
    )
    assert run["results"] == []
    (invocation,) = run["invocations"]
    assert not invocation["executionSuccessful"]
    told = [
        (one["descriptor"]["id"], one["level"], one["message"]["text"])
        for one in invocation["toolExecutionNotifications"]
    ]
    assert told == [
        ("interrupted", "error", "doctor was interrupted; what it saw until then is here"),
        ("check/toy-other", "warning", "the check toy-other on cuda:0 is broken: KeyError: 'sum'"),
        ("probe/nvidia", "note", "the probe nvidia did not finish: gave no answer within 20 s"),
    ]


def test_braces_and_brackets_mean_themselves() -> None:
    (result,) = _results(
        reports.lesser(
            Severity.ERROR, "toy/x", title="${HOME} {0}", message="see [this](https://example.org)"
        )
    )
    assert result["message"]["text"] == "${{HOME}} {{0}}\nsee [this] (https://example.org)"


def _many(count: int, **changes: Any) -> Report:
    return reports.report(
        *(reports.lesser(Severity.NOTE, f"toy/{number}", **changes) for number in range(count))
    )


def test_code_scanning_gets_no_more_than_it_shows_and_is_told_so() -> None:
    (run,) = json.loads(sarif.render(_many(5003)))["runs"]
    assert len(run["results"]) == 5000
    (notice,) = run["invocations"][0]["toolExecutionNotifications"]
    assert notice["message"]["text"].startswith("3 more findings do not fit")


def test_a_log_is_never_larger_than_code_scanning_takes() -> None:
    text = sarif.render(_many(3000, message="x" * 5000, title="北" * 900))
    assert 1_000_000 < len(text.encode()) < 10_000_000
    assert json.loads(text)["runs"][0]["results"][0]["ruleId"] == "toy/0"


@pytest.mark.parametrize(
    ("taken", "told"),
    [
        ("2026-11-21T09:30:00+00:00", "2026-11-21T09:30:00Z"),
        ("2026-11-21T09:30:00Z", "2026-11-21T09:30:00Z"),
        ("yesterday", None),
        ("", None),
    ],
)
def test_the_time_is_told_where_it_is_one(taken: str, told: str | None) -> None:
    assert sarif_run(reports.report(taken=taken))["invocations"][0].get("endTimeUtc") == told
