"""Runs commands in turns and times them; what every benchmark shares."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests import command, environments

_MIB = 1024 if sys.platform == "linux" else 1024 * 1024
"""What ru_maxrss counts in, to a MiB."""


class Run(msgspec.Struct, frozen=True):
    """One run of one command: seconds by the clock, MiB at the peak."""

    seconds: float
    memory: float


def measure(
    measured: Mapping[str, Sequence[str]], times: int, folder: Path
) -> dict[str, list[Run]]:
    """Run every command once for nothing, and then all of them in turns."""
    env = {
        name: value
        for name, value in command.environment().items()
        if name != "PYTHONDONTWRITEBYTECODE"
    }
    for argv in measured.values():
        once(argv, folder, env)
    runs: dict[str, list[Run]] = {name: [] for name in measured}
    for _ in range(times):
        for name, argv in measured.items():
            runs[name].append(once(argv, folder, env))
    return runs


def once(argv: Sequence[str], folder: Path, env: Mapping[str, str]) -> Run:
    """Run a command and return what it took; raises SystemExit where it fails."""
    started = time.perf_counter()
    child = subprocess.Popen(
        argv,
        cwd=folder,
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    _, status, usage = os.wait4(child.pid, 0)
    seconds = time.perf_counter() - started
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode not in ({0, 1, 4} if "check" in argv else {0}):
        raise SystemExit(f"{' '.join(argv)}: exit code {child.returncode}")
    return Run(seconds, usage.ru_maxrss / _MIB)


def middle(runs: Sequence[Run]) -> float:
    """Return the median of the seconds."""
    return statistics.median(run.seconds for run in runs)


def subject(python: Path) -> str:
    """Say which torch is examined, and in which Python."""
    program = (
        "import sys, torch; print(f'torch {torch.__version__}, Python {sys.version.split()[0]}')"
    )
    return subprocess.run(
        [str(python), "-c", program], capture_output=True, text=True, check=True
    ).stdout.strip()


def install(folder: Path) -> Path:
    """Install doctor from its wheel into its own environment, and return the command."""
    environments.make(
        folder, ("--compile-bytecode", str(environments.build_wheel(folder.with_name("wheel"))))
    )
    return environments.interpreter(folder).with_name("doctor")


def span(runs: Sequence[Run]) -> str:
    """Return the shortest and the longest time."""
    return f"{min(run.seconds for run in runs):.2f} – {max(run.seconds for run in runs):.2f}"
