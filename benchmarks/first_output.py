"""Time the first byte and the first finding of `doctor check` on a terminal, beside `import torch`.

    .venv/bin/python benchmarks/first_output.py [--python P] [--runs N]

doctor comes from its wheel, in an environment of its own. A declared driver that is too old gives a
finding that files and tools decide. The run is interrupted as soon as the finding stands there.
"""

from __future__ import annotations

import argparse
import os
import pty
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.timing import install, once, subject
from tests import command, environments

BYTE, FINDING = "first byte", "first finding"
TARGETS = {BYTE: 0.15, FINDING: 0.3}
"""At most this share of the time of `import torch`."""
_SIGN = b"torch/driver-too-old"


def main() -> int:
    """Measure, print a table, and return 1 where a target is missed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--python", type=Path, help="the interpreter to examine")
    parser.add_argument("--runs", type=int, default=9, help="how often each command is measured")
    options = parser.parse_args()
    python = (options.python or environments.patient("torch")).absolute()
    found: dict[str, list[float]] = {BYTE: [], FINDING: [], "import torch": []}
    env = {**command.environment(), "TERM": "xterm", "COLUMNS": "100"}
    env = {name: value for name, value in env.items() if name != "CI"}
    with tempfile.TemporaryDirectory(prefix="benchmark-") as folder:
        doctor = install(Path(folder) / "venv")
        for run in range(options.runs + 1):
            first, finding = watched(doctor, python, env)
            imported = once((str(python), "-c", "import torch"), Path(folder), env).seconds
            if run:  # the first one fills the page cache
                for name, seconds in zip(found, (first, finding, imported), strict=True):
                    found[name].append(seconds)
    print(f"{subject(python)}; {options.runs} runs; {os.cpu_count()} processors\n")
    print("| what | seconds, median | share of import torch | target |\n| --- | --- | --- | --- |")
    middle = {name: statistics.median(seconds) for name, seconds in found.items()}
    share = {name: middle[name] / middle["import torch"] for name in TARGETS}
    for name, seconds in middle.items():
        target = f"{share[name]:.2f} | ≤ {TARGETS[name]}" if name in TARGETS else " | "
        print(f"| {name} | {seconds:.2f} | {target} |")
    return 0 if all(share[name] <= most for name, most in TARGETS.items()) else 1


def watched(doctor: Path, python: Path, env: dict[str, str]) -> tuple[float, float]:
    """Return the seconds until the first byte and until the first finding on a terminal."""
    terminal, theirs = pty.openpty()
    argv = (str(doctor), "check", "--python", str(python), "--assume", "gpu=sm_90,driver=450.80")
    started = time.perf_counter()
    child = subprocess.Popen(argv, env=env, stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    seen, first, finding = b"", 0.0, 0.0
    while not finding:
        if not (more := os.read(terminal, 65536)):
            raise SystemExit(f"no finding {_SIGN.decode()}")
        first = first or time.perf_counter() - started
        seen += more
        finding = time.perf_counter() - started if _SIGN in seen else 0.0
    child.send_signal(signal.SIGINT)
    try:
        while os.read(terminal, 65536):
            pass
    except OSError:
        pass  # Linux: the other end is closed
    child.wait()
    os.close(terminal)
    return first, finding


if __name__ == "__main__":
    sys.exit(main())
