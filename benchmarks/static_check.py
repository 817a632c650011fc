"""Times `doctor check --no-canaries` beside `collect_env` and `import torch` of the same environment, in turns.

    .venv/bin/python benchmarks/static_check.py [--python P] [--runs N]

doctor comes from its wheel, in an environment of its own, as its users have it. Each command runs once before it is measured:
bytecode is there and files are in the page cache for all three. The environment that is made for this holds pip, which collect_env
asks for the packages. Memory is the largest process of each command; share is doctor's time over that of the command.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests import command, environments

_MIB = 1024 if sys.platform == "linux" else 1024 * 1024
"""What ru_maxrss counts in, to a MiB."""
DOCTOR, COLLECT_ENV, IMPORT = "doctor check --no-canaries", "python -m torch.utils.collect_env", 'python -c "import torch"'
TARGETS = {COLLECT_ENV: 0.15, IMPORT: 0.25}
"""At most this share of the time of each."""


class Run(msgspec.Struct, frozen=True):
    """One run of one command: seconds by the clock, MiB at the peak."""

    seconds: float
    memory: float


def main() -> int:
    """Measure, print a table, and return 1 where a target is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", type=Path, help="the interpreter to examine; default: one with torch 2.13.0 and pip, made for this")
    parser.add_argument("--runs", type=int, default=9, help="how often each command is measured")
    options = parser.parse_args()
    python = (options.python or environments.patient("torch_pip")).absolute()
    with tempfile.TemporaryDirectory(prefix="benchmark-") as folder:
        runs = measure(commands(python, Path(folder)), options.runs, Path(folder))
    print(f"{subject(python)}; {options.runs} runs of each, in turns; {os.cpu_count()} processors; {time.strftime('%Y-%m-%d')}\n")
    print(table(runs))
    return 0 if all(share(runs, other) <= target for other, target in TARGETS.items()) else 1


def commands(python: Path, folder: Path) -> dict[str, Sequence[str]]:
    """Install doctor from its wheel, and return what is measured, by the name that the table gives it."""
    environments.make(folder / "venv", ("--compile-bytecode", str(environments.build_wheel(folder))))
    doctor = environments.interpreter(folder / "venv").with_name("doctor")
    return {
        DOCTOR: (str(doctor), "check", "--no-canaries", "--python", str(python)),
        COLLECT_ENV: (str(python), "-m", "torch.utils.collect_env"),
        IMPORT: (str(python), "-c", "import torch"),
    }


def measure(measured: Mapping[str, Sequence[str]], times: int, folder: Path) -> dict[str, list[Run]]:
    """Run every command once for nothing, and then all of them in turns."""
    env = {name: value for name, value in command.environment().items() if name != "PYTHONDONTWRITEBYTECODE"}
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
    child = subprocess.Popen(argv, cwd=folder, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    seconds = time.perf_counter() - started
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode not in ({0, 1, 4} if "check" in argv else {0}):
        raise SystemExit(f"{' '.join(argv)}: exit code {child.returncode}")
    return Run(seconds, usage.ru_maxrss / _MIB)


def share(runs: Mapping[str, Sequence[Run]], other: str) -> float:
    """Return how doctor's median time compares with that of another command."""
    return middle(runs[DOCTOR]) / middle(runs[other])


def middle(runs: Sequence[Run]) -> float:
    """Return the median of the seconds."""
    return statistics.median(run.seconds for run in runs)


def table(runs: Mapping[str, Sequence[Run]]) -> str:
    """Return the figures as a table in Markdown."""
    lines = [
        "| command | seconds, median | min – max | peak MiB | doctor's share of it | target |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for name, found in runs.items():
        spread = f"{min(run.seconds for run in found):.2f} – {max(run.seconds for run in found):.2f}"
        target = f"≤ {TARGETS[name]}" if name in TARGETS else ""
        ratio = f"{share(runs, name):.2f}" if name in TARGETS else ""
        lines.append(f"| `{name}` | {middle(found):.2f} | {spread} | {max(run.memory for run in found):.0f} | {ratio} | {target} |")
    return "\n".join(lines)


def subject(python: Path) -> str:
    """Say which torch is examined, and in which Python."""
    program = "import sys, torch; print(f'torch {torch.__version__}, Python {sys.version.split()[0]}')"
    return subprocess.run([str(python), "-c", program], capture_output=True, text=True, check=True).stdout.strip()


if __name__ == "__main__":
    sys.exit(main())
