"""A plain check asks for what typer would make of the same words."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from doctor.cli import check as command
from doctor.cli import plain_check
from doctor.cli.app import app
from doctor.report import Format


@pytest.fixture(autouse=True)
def _alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith("DOCTOR_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("DOCTOR_CACHE_DIR", "")


@pytest.mark.parametrize(
    "words",
    [
        "",
        "--no-canaries",
        "--no-canaries --python venv",
        "-p venv -q",
        "--quiet --verbose",
        "-v --no-canaries --python ../x/bin/python --no-canaries",
    ],
)
def test_it_is_what_typer_reads(words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: dict[str, Any] = {}

    def examine(request: Any, kind: Format, **how: Any) -> int:
        asked.update(how, request=request, kind=kind)
        return 0

    monkeypatch.setattr(command, "examine", examine)
    arguments = ["check", *words.split()]
    app(arguments, standalone_mode=False)
    plain = plain_check.parsed(arguments)
    assert plain is not None
    assert plain.request == asked["request"]
    assert (plain.quiet, plain.verbose) == (asked["quiet"], asked["verbose"])
    assert (asked["kind"], asked["beside"]) == (Format.TEXT, ())


@pytest.mark.parametrize(
    "words",
    [
        "venv",
        "--no-canaries --canaries",
        "--python",
        "--python=venv",
        "--python -q",
        "--python a --python b",
        "-qv",
        "--no-canarie",
        "--help",
        "--json",
        "--debug",
        "--",
    ],
)
def test_what_it_does_not_know_is_for_typer(words: str) -> None:
    assert plain_check.parsed(["check", *words.split()]) is None


def test_settings_are_for_typer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    manifest = tmp_path / "pyproject.toml"
    manifest.write_text("[project]\nname = 'x'\n")
    assert plain_check.parsed(["check"]) is not None
    manifest.write_text("[tool.doctor]\nquiet = true\n")
    assert plain_check.parsed(["check"]) is None
    manifest.write_text("[tool.doctor\n")
    assert plain_check.parsed(["check"]) is None
    manifest.unlink()
    monkeypatch.setenv("DOCTOR_QUIET", "1")
    assert plain_check.parsed(["check"]) is None
