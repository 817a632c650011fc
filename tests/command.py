"""Runs the command line as a user does: another process, another folder, its own environment.

Where nothing about the start itself is looked at, the process is forked from one that has imported
doctor already (`tests.warm`).
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from tests import warm

COLD = (sys.executable, "-m", "doctor")
"""Starts an interpreter for doctor, as a user's shell does."""
_SETTINGS = (
    "CANARY_",
    "CONDA_",
    "CUDA_",
    "DOCTOR_",
    "LD_",
    "LIBRARY_PATH",
    "NVCC_",
    "PIXI_",
    "TORCH",
    "TRITON_",
    "VIRTUAL_ENV",
)
_TRACE = "Traceback (most recent call last)"


class Said(msgspec.Struct, frozen=True, kw_only=True):
    """What the command gave."""

    code: int
    out: str
    err: str
    seconds: float

    @property
    def report(self) -> dict[str, Any]:
        """The JSON report on standard output."""
        document: dict[str, Any] = json.loads(self.out)
        return document

    def finding(self, rule: str) -> dict[str, Any]:
        """Return the finding of a rule; the test fails where there is none."""
        found = {finding["id"]: finding for finding in self.report["findings"]}
        assert rule in found, f"no finding {rule}, only {sorted(found)}"
        return dict(found[rule])

    def outcomes(self, check: str) -> list[dict[str, Any]]:
        """Return the outcomes of a check, one for each device."""
        return [outcome for outcome in self.report["outcomes"] if outcome["id"] == check]


def environment(more: Mapping[str, str | None] | None = None) -> dict[str, str]:
    """Return this environment without other patients and earlier runs, plus `more`.

    A variable that is None there is not set. Inductor takes the vectors that the processor lists;
    a dozen compilations that try them cost a third of the time of its check, so only one run tries
    them (`healthy` in tests/conftest.py).
    """
    kept = {name: value for name, value in os.environ.items() if not name.startswith(_SETTINGS)}
    ours = {"NO_COLOR": "1", "DOCTOR_CACHE_DIR": "", "TORCHINDUCTOR_VEC_ISA_OK": "1"}
    made = {**kept, **ours, **(more or {})}
    return {name: value for name, value in made.items() if value is not None}


def doctor(
    *arguments: str | Path,
    cwd: Path,
    env: Mapping[str, str | None] | None = None,
    timeout: float = 240,
    command: Sequence[str] | None = None,
) -> Said:
    """Run doctor in a folder to its end.

    A trace on its standard error is a failure of the test, whatever the test is about.
    """
    started = time.monotonic()
    ran = finished(*arguments, cwd=cwd, env=environment(env), timeout=timeout, command=command)
    assert _TRACE not in ran.stderr or "--debug" in arguments, ran.stderr
    return Said(
        code=ran.returncode, out=ran.stdout, err=ran.stderr, seconds=time.monotonic() - started
    )


def finished(
    *arguments: str | Path,
    cwd: Path | None = None,
    env: Mapping[str, str],
    stdin: str | None = None,
    timeout: float = 240,
    command: Sequence[str] | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run doctor to its end in exactly this environment.

    `command` starts it in another way than the one that costs least.
    """
    words = [*map(str, arguments)]
    if command is None and warm.possible(env):
        return warm.run(words, cwd=cwd or Path.cwd(), env=env, stdin=stdin, timeout=timeout)
    argv = [*(command or COLD), *words]
    return subprocess.run(
        argv,
        cwd=cwd,
        env=env,
        input=stdin,
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )


def check(
    *arguments: str | Path,
    cwd: Path,
    env: Mapping[str, str | None] | None = None,
    timeout: float = 240,
) -> Said:
    """Run `doctor check --format json` in a folder."""
    return doctor("check", "--format", "json", *arguments, cwd=cwd, env=env, timeout=timeout)


class Running:
    """A command that is still running, to be interrupted."""

    def __init__(
        self, *arguments: str | Path, cwd: Path, env: Mapping[str, str | None] | None = None
    ) -> None:
        argv = [*COLD, "check", "--format", "json", *map(str, arguments)]
        self._child = subprocess.Popen(
            argv,
            cwd=cwd,
            env=environment(env),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self._started = time.monotonic()

    def interrupt(self, number: signal.Signals = signal.SIGINT, timeout: float = 120) -> Said:
        """Do what Ctrl-C does, or send another signal, and return what the command says then."""
        os.killpg(self._child.pid, number)
        try:
            out, err = self._child.communicate(timeout=timeout)
        finally:
            if self._child.poll() is None:
                self._child.kill()
                self._child.communicate()
        assert _TRACE not in err, err
        return Said(
            code=self._child.returncode, out=out, err=err, seconds=time.monotonic() - self._started
        )


def wait_for(path: Path, seconds: float = 120) -> None:
    """Wait until a file is there."""
    deadline = time.monotonic() + seconds
    while not path.exists():
        assert time.monotonic() < deadline, f"{path} did not appear within {seconds:g} s"
        time.sleep(0.05)


def alive(pid: int) -> bool:
    """Say whether a process is there and no zombie."""
    try:
        return (
            Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
            != "Z"
        )
    except OSError:
        return False
