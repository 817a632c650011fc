"""`doctor diff`: reports and snapshots in any mixture, and what the exit code says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import pytest

from doctor.model.comparison import Comparison
from tests import toy
from tests.command import Said, doctor

_GREEN = {
    "host.os": "linux",
    "torch.version": "2.13.0",
    "python.executable": "/venv/bin/python",
    "requires.torchvision.torch.met": True,
}
_RED = {
    **_GREEN,
    "torch.version": "2.14.0",
    "requires.torchvision.torch.met": False,
    "requires.torchvision.torch.specifier": "==2.13.0",
}
_CAME = "torchvision/other-torch"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a green and a red machine, each as a snapshot and as a JSON report."""
    for name, facts in (("green", _GREEN), ("red", _RED)):
        (tmp_path / f"{name}.json").write_bytes(msgspec.json.encode(toy.seen(facts)))
        doctor(
            "check", "--from", f"{name}.json", "--report", f"json={name}-report.json", cwd=tmp_path
        )
    return tmp_path


def diff(folder: Path, *arguments: str) -> tuple[Said, dict[str, Any]]:
    said = doctor("diff", "--format", "json", *arguments, cwd=folder)
    return said, json.loads(said.out)


def test_reports_and_snapshots_are_compared_in_any_mixture(folder: Path) -> None:
    for before in ("green.json", "green-report.json"):
        for after in ("red.json", "red-report.json"):
            said, told = diff(folder, before, after)
            assert (said.code, told["exit_code"]) == (1, 1), (before, after)
            assert _CAME in [one["id"] for one in told["came"]], (before, after)
            assert [change for change in told["changes"] if change["fact"] == "torch.version"] == [
                {"group": "torch", "fact": "torch.version", "before": "2.13.0", "after": "2.14.0"}
            ]


def test_the_way_back_is_no_failure_and_the_document_is_as_its_schema_says(folder: Path) -> None:
    said, told = diff(folder, "red.json", "green-report.json", "--fail-on", "note")
    assert _CAME in [one["id"] for one in told["went"]]
    assert said.code == (1 if told["came"] else 0)
    jsonschema.validate(told, msgspec.json.schema(Comparison))
    assert diff(folder, "red.json", "red-report.json")[1]["changes"] == []


def test_people_read_it_as_text(folder: Path) -> None:
    said = doctor("diff", "green.json", "red.json", cwd=folder)
    assert said.code == 1
    assert f"({_CAME}, came)" in " ".join(said.out.split())
    assert "torch.version" not in doctor("diff", "-q", "green.json", "red.json", cwd=folder).out


def test_an_ignore_of_the_project_holds_for_what_is_judged_now(folder: Path) -> None:
    ignore = 'id = "torchvision/*"\nreason = "known"\nuntil = 2099-12-31\n'
    (folder / "pyproject.toml").write_text(f"[[tool.doctor.ignore]]\n{ignore}", encoding="utf-8")
    assert _CAME not in [one["id"] for one in diff(folder, "green.json", "red.json")[1]["came"]]


@pytest.mark.parametrize(
    ("content", "code", "why"),
    [
        (None, 2, "No such file"),
        (b"nothing of ours", 3, "no snapshot of doctor"),
        (b"[" * 100_000, 3, "no snapshot of doctor"),
    ],
)
def test_a_file_that_is_neither_is_said_to_be_none(
    folder: Path, content: bytes | None, code: int, why: str
) -> None:
    if content is not None:
        (folder / "odd.json").write_bytes(content)
    said = doctor("diff", "green.json", "odd.json", cwd=folder)
    assert (said.code, said.out) == (code, "")
    assert why in said.err


def test_an_unknown_format_is_a_mistake(folder: Path) -> None:
    said = doctor("diff", "--format", "xml", "green.json", "red.json", cwd=folder)
    assert (said.code, "choose from text, json" in said.err) == (2, True)
