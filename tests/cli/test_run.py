"""`doctor run -- COMMAND`: nothing is changed about the command, and a failure is explained behind it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.command import doctor, environment, finished

_FAILING = 'echo out; echo "RuntimeError: operator torchvision::nms does not exist" >&2; exit 3'


def _run(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    return finished("run", "--", *command, cwd=folder, env=environment(), stdin="typed\n")


def test_a_command_that_succeeds_is_all_there_is(tmp_path: Path) -> None:
    ran = _run(tmp_path, "sh", "-c", "cat; echo err >&2")
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "typed\n", "err\n")


def test_a_failure_is_passed_on_and_explained(tmp_path: Path) -> None:
    ran = _run(tmp_path, "sh", "-c", _FAILING)
    assert (ran.returncode, ran.stdout) == (3, "out\n")
    assert ran.stderr.startswith("RuntimeError: operator torchvision::nms does not exist\n")
    assert "torchvision/" in ran.stderr


@pytest.mark.parametrize(("command", "code"), [(("nosuch-command",), 127), (("sh", "-c", "kill -9 $$"), 137), (("/",), 126)])
def test_codes_are_those_of_a_shell(tmp_path: Path, command: tuple[str, ...], code: int) -> None:
    assert _run(tmp_path, *command).returncode == code


def test_options_of_the_command_are_its_own(tmp_path: Path) -> None:
    assert _run(tmp_path, "echo", "--help", "-v", "--format=json").stdout == "--help -v --format=json\n"


def test_nothing_to_run_is_a_mistake(tmp_path: Path) -> None:
    assert doctor("run", cwd=tmp_path).code == 2


def test_output_comes_as_it_is_printed(tmp_path: Path) -> None:
    argv = [sys.executable, "-m", "doctor", "run", "--", "sh", "-c", "echo first; sleep 20"]
    with subprocess.Popen(argv, cwd=tmp_path, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"first\n"
        child.send_signal(signal.SIGTERM)
        assert child.wait(timeout=15) == 128 + signal.SIGTERM


def test_a_child_that_stays_behind_does_not_hold_doctor_up(tmp_path: Path) -> None:
    started = time.monotonic()
    assert _run_detached(tmp_path) == 0
    assert time.monotonic() - started < 20


def _run_detached(folder: Path) -> int:
    argv = [sys.executable, "-m", "doctor", "run", "--", "sh", "-c", "sleep 40 & exit 0"]
    return subprocess.run(argv, cwd=folder, env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False).returncode


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="there are no pseudo-terminals here")
def test_on_a_terminal_the_command_has_one(tmp_path: Path) -> None:
    leader, follower = os.openpty()
    program = "import sys; print('tty', sys.stdout.isatty(), sys.stderr.isatty())"
    argv = [sys.executable, "-m", "doctor", "run", "--", sys.executable, "-c", program]
    child = subprocess.Popen(argv, cwd=tmp_path, env=environment(), stdout=follower, stderr=follower, stdin=subprocess.DEVNULL)
    os.close(follower)
    said = b""
    try:
        while data := os.read(leader, 4096):
            said += data
    except OSError:
        pass
    assert child.wait(timeout=30) == 0
    assert said.replace(b"\r\n", b"\n").endswith(b"tty True True\n")
