"""What people type from habit, and how they find what they look for."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from doctor.base.errors import UsageError
from doctor.cli.app import app
from doctor.pipeline import history


def _out(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    app(list(words), standalone_mode=False)
    return capsys.readouterr().out


@pytest.fixture(autouse=True)
def _kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCTOR_CACHE_DIR", str(tmp_path / "kept"))
    for name in ("VIRTUAL_ENV", "CONDA_PREFIX"):
        monkeypatch.delenv(name, raising=False)


def test_habits_work(capsys: pytest.CaptureFixture[str]) -> None:
    assert _out(capsys, "-V") == _out(capsys, "version")
    assert "Usage" in _out(capsys, "help", "explain")


def test_a_target_is_an_interpreter_an_environment_or_a_project(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "pyproject.toml").write_text("[project]\nname = 'x'\n", encoding="utf-8")
    for words in ((sys.executable,), (str(tmp_path), "--python", sys.executable)):
        report = json.loads(_out(capsys, "check", *words, "--no-canaries", "--json"))
        assert report["targets"][0]["path"] == sys.executable
    with pytest.raises(UsageError, match="name one interpreter"):
        _out(capsys, "check", sys.executable, "--python", sys.executable)


def test_the_last_report_is_shown_again_without_a_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    with pytest.raises(UsageError, match="no report is there yet"):
        _out(capsys, "show")
    first = _out(capsys, "check", sys.executable, "--no-canaries")
    assert _out(capsys, "show") == first
    assert json.loads(_out(capsys, "show", "--json"))["exit_code"] is not None
    assert sys.executable in _out(capsys, "show", "--list")
    (path,) = history.entries({"DOCTOR_CACHE_DIR": str(tmp_path / "kept")})
    assert path.stat().st_mode & 0o077 == 0
    assert path.parent.stat().st_mode & 0o077 == 0
    assert str(tmp_path) not in path.read_text(encoding="utf-8")
    with pytest.raises(UsageError, match="1 report"):
        _out(capsys, "show", "2")


def test_a_handful_of_reports_is_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _out(capsys, "check", sys.executable, "--no-canaries")
    env = {"DOCTOR_CACHE_DIR": str(tmp_path / "kept"), "HOME": str(tmp_path)}
    report = history.read(history.entries(env)[0], env).report
    for _ in range(12):
        history.save(report, env)
    assert len(history.entries(env)) == 10
    history.save(report, {**env, "DOCTOR_CACHE_DIR": ""})
    assert history.entries({**env, "DOCTOR_CACHE_DIR": ""}) == []


def test_known_issues_are_found_by_the_line_of_an_error(
    capsys: pytest.CaptureFixture[str],
) -> None:
    line = "RuntimeError: operator torchvision::nms does not exist"
    found = json.loads(_out(capsys, "search", line, "--json"))["issues"]
    assert found[0]["id"] == "torchvision/other-torch"
    assert app(["search", "no such words anywhere"], standalone_mode=False) == 4
