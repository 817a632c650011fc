"""Ignores and baselines on the command line.

What they do to the exit code, and what the report says.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests import toy
from tests.command import Said, doctor

_FACTS = {
    "host.os": "linux",
    "torch.version": "2.13.0",
    "python.executable": "/venv/bin/python",
    "python.has_pip": True,
    "requires.torchvision.torch.met": False,
    "requires.torchvision.torch.specifier": "==2.4.1",
    "requires.torchvision.torch.installed": "2.13.0",
    "package.torchvision.version": "0.19.1",
}
_SICK = "torchvision/other-torch"


def save(folder: Path, facts: dict[str, Any] | None = None) -> None:
    (folder / "sick.json").write_bytes(msgspec.json.encode(toy.seen({**_FACTS, **(facts or {})})))


def project(folder: Path, until: str = "2099-12-31", id_: str = "torchvision/*") -> None:
    body = (
        f'[tool.doctor]\n\n[[tool.doctor.ignore]]\nid = "{id_}"\nreason = "we do not import '
        f'it"\nuntil = {until}\n'
    )
    (folder / "pyproject.toml").write_text(body, encoding="utf-8")


def check(folder: Path, *arguments: str | Path) -> Said:
    return doctor(
        "check", "--from", folder / "sick.json", "--format", "json", *arguments, cwd=folder
    )


def test_an_ignore_of_the_project_holds_and_is_told(tmp_path: Path) -> None:
    save(tmp_path)
    assert check(tmp_path).code == 1
    project(tmp_path)
    said = check(tmp_path)
    assert said.code == 0
    assert said.finding(_SICK)["suppressed"] == {
        "by": "ignore",
        "reason": "we do not import it",
        "until": "2099-12-31",
    }
    text = doctor("check", "--from", "sick.json", cwd=tmp_path)
    assert (text.code, f"1 ignored: {_SICK} until 2099-12-31" in text.out) == (0, True)


def test_after_its_day_the_finding_is_back_and_the_ignore_is_reported(tmp_path: Path) -> None:
    save(tmp_path)
    project(tmp_path, until="2020-01-31")
    said = check(tmp_path)
    assert said.code == 1
    assert said.finding(_SICK)["suppressed"] is None
    assert said.finding("ignore/expired")["place"] == {"path": "pyproject.toml", "line": 3}


@pytest.mark.parametrize(("narrowed", "told"), [((), True), (("--skip", "zebra/*"), False)])
def test_an_ignore_that_covers_nothing_is_told_of_a_whole_run_alone(
    tmp_path: Path, narrowed: tuple[str, ...], told: bool
) -> None:
    save(tmp_path)
    project(tmp_path, id_="torchvison/*")
    ids = [found["id"] for found in check(tmp_path, *narrowed).report["findings"]]
    assert ("ignore/unused" in ids) is told


def test_a_log_holds_nothing_against_the_ignores_that_it_does_not_need(tmp_path: Path) -> None:
    project(tmp_path)
    (tmp_path / "empty.log").write_text("all is well\n", encoding="utf-8")
    said = doctor("diagnose", "empty.log", "--format", "json", cwd=tmp_path)
    assert (said.code, said.report["findings"]) == (4, [])


def test_a_report_is_a_baseline_and_only_what_is_new_fails(tmp_path: Path) -> None:
    save(tmp_path)
    assert check(tmp_path, "--report", "json=baseline.json").code == 1
    said = check(tmp_path, "--baseline", "baseline.json")
    assert (said.code, said.finding(_SICK)["suppressed"]["by"]) == (0, "baseline")
    wishes = {"met": False, "specifier": "==2.4.1", "installed": "2.13.0"}
    save(
        tmp_path,
        {f"requires.xformers.torch.{name}": value for name, value in wishes.items()}
        | {"package.xformers.version": "0.0.28"},
    )
    again = check(tmp_path, "--baseline", "baseline.json", "--fail-on", "warning")
    assert again.code == 1
    new = [found["id"] for found in again.report["findings"] if not found["suppressed"]]
    assert _SICK not in new
    assert any(name.startswith("xformers/") for name in new)


def test_a_baseline_made_with_a_baseline_still_knows_what_that_knew(tmp_path: Path) -> None:
    save(tmp_path)
    check(tmp_path, "--report", "json=first.json")
    check(tmp_path, "--baseline", "first.json", "--report", "json=second.json")
    assert check(tmp_path, "--baseline", "second.json").code == 0


def test_what_was_ignored_is_no_baseline(tmp_path: Path) -> None:
    save(tmp_path)
    project(tmp_path)
    check(tmp_path, "--report", "json=baseline.json")
    (tmp_path / "pyproject.toml").unlink()
    assert check(tmp_path, "--baseline", "baseline.json").code == 1


def test_what_of_a_baseline_is_gone_is_told(tmp_path: Path) -> None:
    save(tmp_path)
    check(tmp_path, "--report", "json=baseline.json")
    save(tmp_path, {"requires.torchvision.torch.met": True})
    assert check(tmp_path, "--baseline", "baseline.json").report["gone"] == [], (
        "facts that could still show it are missing"
    )
    extension = {
        f"extension.torchvision.{name}": None for name in ("undefined_symbols", "missing_libraries")
    }
    save(tmp_path, {"requires.torchvision.torch.met": True, **extension})
    said = check(tmp_path, "--baseline", "baseline.json")
    assert (said.code, said.report["gone"]) == (0, [_SICK])


def test_neither_gate_excuses_a_device_that_was_expected(tmp_path: Path) -> None:
    save(tmp_path)
    project(tmp_path, id_="*")
    check(tmp_path, "--expect", "cuda", "--report", "json=baseline.json")
    said = check(tmp_path, "--expect", "cuda", "--baseline", "baseline.json")
    assert (said.code, said.finding("expect/cuda")["suppressed"]) == (1, None)


@pytest.mark.parametrize(
    ("content", "code", "why"),
    [
        (None, 2, "No such file"),
        (b"", 3, "no JSON report"),
        (b"{}", 3, "no JSON report"),
        (b'{"findings": [{"id": 3}]}', 3, "no JSON report"),
        (b'{"findings": ' + b"[" * 100_000, 3, "no JSON report"),
        (b"\xff\xfe\x00", 3, "no JSON report"),
    ],
    ids=["missing", "empty", "a snapshot", "odd", "deep", "bytes"],
)
def test_a_baseline_that_cannot_be_read_is_said_to_be_none(
    tmp_path: Path, content: bytes | None, code: int, why: str
) -> None:
    save(tmp_path)
    if content is not None:
        (tmp_path / "baseline.json").write_bytes(content)
    said = check(tmp_path, "--baseline", "baseline.json")
    assert (said.code, said.out) == (code, "")
    assert why in said.err
    assert "--report json=baseline.json" in said.err


def test_the_baseline_may_stand_in_the_project(tmp_path: Path) -> None:
    save(tmp_path)
    check(tmp_path, "--report", "json=baseline.json")
    (tmp_path / "pyproject.toml").write_text(
        '[tool.doctor]\nbaseline = "baseline.json"\n', encoding="utf-8"
    )
    (tmp_path / "below").mkdir()
    said = doctor("check", "--from", tmp_path / "sick.json", cwd=tmp_path / "below")
    assert said.code == 0
    assert json.loads((tmp_path / "baseline.json").read_text(encoding="utf-8"))["exit_code"] == 1
