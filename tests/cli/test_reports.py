"""`--report`: files beside the report on standard output."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.command import doctor

_LOG = "RuntimeError: Failed to find C compiler. Please specify via CC environment variable.\n"


def _log(folder: Path) -> str:
    path = folder / "failed.log"
    path.write_text(_LOG, encoding="utf-8")
    return str(path)


def test_several_reports_are_written_beside_the_one_on_standard_output(tmp_path: Path) -> None:
    said = doctor(
        "diagnose",
        _log(tmp_path),
        "--report",
        f"json={tmp_path}/a.json",
        "--report",
        f"text={tmp_path}/b.txt",
        cwd=tmp_path,
    )
    assert said.code == 1
    assert (
        json.loads((tmp_path / "a.json").read_text(encoding="utf-8"))["findings"][0]["id"]
        == "triton/c-compiler-missing"
    )
    assert "triton/c-compiler-missing" in (tmp_path / "b.txt").read_text(encoding="utf-8")
    assert "triton/c-compiler-missing" in said.out


def test_a_report_that_cannot_be_written_is_a_fault_and_the_others_are_written(
    tmp_path: Path,
) -> None:
    said = doctor(
        "diagnose",
        _log(tmp_path),
        "--report",
        f"json={tmp_path}/no/a.json",
        "--report",
        f"json={tmp_path}/b.json",
        cwd=tmp_path,
    )
    assert said.code == 3
    assert "a.json cannot be written" in said.err
    assert (tmp_path / "b.json").is_file()
    assert "triton/c-compiler-missing" in said.out


@pytest.mark.parametrize(
    ("asked", "why"),
    [
        (["jsn=x"], "jsn is no format; did you mean json?"),
        (["=x"], "nothing is no format"),
        (["json"], "say where to write it"),
        (["json=x", "text=x"], "two reports cannot both be x"),
        (["github", "github"], "two reports cannot both be annotations"),
        (["github="], "say where to write it"),
    ],
)
def test_a_mistake_is_named_before_anything_runs(
    tmp_path: Path, asked: list[str], why: str
) -> None:
    said = doctor(
        "diagnose",
        _log(tmp_path),
        *(part for one in asked for part in ("--report", one)),
        cwd=tmp_path,
    )
    assert (said.code, said.out) == (2, "")
    assert why in said.err
