"""Printed commands begin with the words that start this doctor."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from doctor.base.own_name import own, own_words, set_own_command
from doctor.cli.program_names import called
from doctor.fixes.shell import Shell, line
from doctor.model.fixes import Command


@pytest.fixture(autouse=True)
def _restored() -> Iterator[None]:
    words = own_words()
    yield
    set_own_command(words)


@pytest.mark.skipif(sys.platform == "win32", reason="scripts are files with #! here")
@pytest.mark.parametrize(
    ("started", "on_path", "words"),
    [
        ("bin/doctor", True, ("doctor",)),
        ("bin/canary-doctor", True, ("doctor",)),
        (".cache/uv/archive-v0/Ab1/bin/canary-doctor", False, ("uvx", "canary-doctor")),
        (".cache/pipx/1/bin/canary-doctor", False, ("pipx", "run", "canary-doctor")),
    ],
)
def test_the_name_is_how_it_was_started(
    started: str,
    on_path: bool,
    words: tuple[str, ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    script = tmp_path / started
    script.parent.mkdir(parents=True)
    for name in ("doctor", "canary-doctor"):
        (script.parent / name).write_text("#!/bin/sh\n", encoding="utf-8")
        (script.parent / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(script.parent) if on_path else "/nowhere")
    monkeypatch.setattr(sys, "argv", [str(script), "check"])
    monkeypatch.setattr(sys, "orig_argv", [sys.executable, str(script), "check"])
    assert called() == words


def test_another_doctor_first_on_path_is_not_called(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if sys.platform == "win32":
        pytest.skip("scripts are files with #! here")
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    for folder, names in ((ours, ("doctor", "canary-doctor")), (theirs, ("doctor",))):
        folder.mkdir()
        for name in names:
            (folder / name).write_text("#!/bin/sh\n", encoding="utf-8")
            (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{theirs}:{ours}")
    monkeypatch.setattr(sys, "argv", [str(ours / "canary-doctor")])
    monkeypatch.setattr(sys, "orig_argv", [sys.executable, str(ours / "canary-doctor")])
    assert called() == ("canary-doctor",)


def test_a_module_is_started_as_a_module(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "orig_argv", ["python3", "-I", "-m", "doctor", "check"])
    assert called() == ("python3", "-m", "doctor")


def test_printed_commands_begin_with_it() -> None:
    set_own_command(("python3", "-m", "doctor"))
    command = Command(argv=("doctor", "check", "--only", "large-matmul"))
    assert line(command, Shell.POSIX) == "python3 -m doctor check --only large-matmul"
    assert own("explain torch/six-gone") == "python3 -m doctor explain torch/six-gone"
