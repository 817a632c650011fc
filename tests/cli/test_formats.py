"""Formats on the command line: whatever the format, the exit code and the patient are the same."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest

from doctor.report.structured.encoding import encoded
from tests.command import Said, doctor
from tests.report import reports
from tests.report.hostile import hostile

_LOG = "RuntimeError: Failed to find C compiler. Please specify via CC environment variable.\n"


def _formats(folder: Path) -> Sequence[str]:
    """Return every format that this doctor has, as it names them itself."""
    said = doctor("diagnose", "-", "--report", "=x", cwd=folder)
    (listed,) = re.findall(r"choose from (.*)", said.err)
    return [name.strip() for name in listed.split(",")]


def _observed(folder: Path, name: str) -> str:
    path = folder / f"{name}.json"
    report = hostile() if name == "hostile" else reports.REPORTS[name]()
    finite = [
        msgspec.structs.replace(outcome, seconds=1.0) for outcome in report.observation.outcomes
    ]
    path.write_text(
        encoded(msgspec.structs.replace(report.observation, outcomes=tuple(finite))),
        encoding="utf-8",
    )
    return str(path)


@pytest.mark.parametrize(("name", "code"), [("sick", 1), ("empty", 4)])
def test_the_exit_code_is_the_same_for_every_format(tmp_path: Path, name: str, code: int) -> None:
    arguments = ("check", "--from", _observed(tmp_path, name))
    codes = {
        kind: doctor(*arguments, "--format", kind, cwd=tmp_path).code for kind in _formats(tmp_path)
    }
    assert codes == dict.fromkeys(codes, code)
    assert len(codes) >= 6


def test_all_formats_are_written_at_once(tmp_path: Path) -> None:
    kinds = _formats(tmp_path)
    asked = [part for kind in kinds for part in ("--report", f"{kind}={tmp_path}/report.{kind}")]
    said = doctor("check", "--from", _observed(tmp_path, "hostile"), *asked, cwd=tmp_path)
    assert said.code == 1
    assert [kind for kind in kinds if not (tmp_path / f"report.{kind}").stat().st_size] == []


def _annotated(folder: Path, *, env: dict[str, str]) -> Said:
    log = folder / "failed.log"
    log.write_text(_LOG, encoding="utf-8")
    return doctor("diagnose", log, "--format", "json", "--report", "github", cwd=folder, env=env)


def test_annotations_go_to_standard_error_and_the_summary_to_its_file(tmp_path: Path) -> None:
    summary = tmp_path / "summary.md"
    summary.write_text("what a step wrote before\n", encoding="utf-8")
    said = _annotated(tmp_path, env={"GITHUB_STEP_SUMMARY": str(summary)})
    assert said.code == 1
    assert said.report["findings"][0]["id"] == "triton/c-compiler-missing"
    assert said.err.startswith("::error title=")
    text = summary.read_text(encoding="utf-8")
    assert text.startswith("what a step wrote before\n## doctor: 1 error")
    assert "(triton/c-compiler-missing)" in said.err


def test_outside_of_github_only_the_annotations_are_told(tmp_path: Path) -> None:
    said = _annotated(tmp_path, env={"GITHUB_STEP_SUMMARY": ""})
    assert (said.code, said.err.count("::error ")) == (1, 1)
    assert [path.name for path in tmp_path.iterdir()] == ["failed.log"]


def test_a_summary_that_cannot_be_written_is_a_fault_and_the_rest_is_told(tmp_path: Path) -> None:
    said = _annotated(tmp_path, env={"GITHUB_STEP_SUMMARY": str(tmp_path / "no" / "summary.md")})
    assert said.code == 3
    assert "summary.md cannot be written" in said.err
    assert "::error title=" in said.err
    assert said.report["findings"]


def test_a_full_summary_is_left_as_it_is(tmp_path: Path) -> None:
    summary = tmp_path / "summary.md"
    summary.write_text("x" * (1 << 20), encoding="utf-8")
    assert _annotated(tmp_path, env={"GITHUB_STEP_SUMMARY": str(summary)}).code == 1
    assert summary.stat().st_size == 1 << 20


def test_a_file_of_annotations_needs_no_runner(tmp_path: Path) -> None:
    log = tmp_path / "failed.log"
    log.write_text(_LOG, encoding="utf-8")
    summary = tmp_path / "summary.md"
    said = doctor(
        "diagnose",
        log,
        "--report",
        "github=out.txt",
        cwd=tmp_path,
        env={"GITHUB_STEP_SUMMARY": str(summary)},
    )
    assert said.err == ""
    assert (tmp_path / "out.txt").read_text(encoding="utf-8").startswith("::error title=")
    assert not summary.exists()


def test_every_format_says_what_was_declared_rather_than_seen(tmp_path: Path) -> None:
    arguments = (
        "check",
        "--from",
        _observed(tmp_path, "sick"),
        "--assume",
        "driver=470.57,gpu=sm_90",
    )
    told = {
        kind: " ".join(doctor(*arguments, "--format", kind, cwd=tmp_path).out.split())
        for kind in _formats(tmp_path)
    }
    assert [kind for kind, text in told.items() if "470.57" not in text] == []
    assert [kind for kind, text in told.items() if not re.search("as if|assumed", text)] == []
