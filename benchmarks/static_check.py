"""Time `doctor check --no-canaries` beside `collect_env` and `import torch`, in turns.

    .venv/bin/python benchmarks/static_check.py [--python P] [--runs N]

doctor comes from its wheel, in an environment of its own, as its users have it. Each command runs
once before it is measured: bytecode is there and files are in the page cache for all three. The
environment that is made for this holds pip, which collect_env asks for the packages. Memory is the
largest process of each command; share is doctor's time over that of the command.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.timing import Run, install, measure, middle, span, subject
from tests import environments

DOCTOR, COLLECT_ENV, IMPORT = (
    "doctor check --no-canaries",
    "python -m torch.utils.collect_env",
    'python -c "import torch"',
)
TARGETS = {COLLECT_ENV: 0.12, IMPORT: 0.15}
"""At most this share of the time of each."""


def main() -> int:
    """Measure, print a table, and return 1 where a target is missed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--python",
        type=Path,
        help="the interpreter to examine; default: one with torch 2.13.0 and pip, made for this",
    )
    parser.add_argument("--runs", type=int, default=9, help="how often each command is measured")
    options = parser.parse_args()
    python = (options.python or environments.patient("torch_pip")).absolute()
    with tempfile.TemporaryDirectory(prefix="benchmark-") as folder:
        runs = measure(commands(python, Path(folder)), options.runs, Path(folder))
    print(
        f"{subject(python)}; {options.runs} runs of each, in turns; {os.cpu_count()} "
        f"processors; {time.strftime('%Y-%m-%d')}\n"
    )
    print(table(runs))
    return 0 if all(share(runs, other) <= target for other, target in TARGETS.items()) else 1


def commands(python: Path, folder: Path) -> dict[str, Sequence[str]]:
    """Install doctor from its wheel, and return what is measured, by its name in the table."""
    return {
        DOCTOR: (str(install(folder / "venv")), "check", "--no-canaries", "--python", str(python)),
        COLLECT_ENV: (str(python), "-m", "torch.utils.collect_env"),
        IMPORT: (str(python), "-c", "import torch"),
    }


def share(runs: Mapping[str, Sequence[Run]], other: str) -> float:
    """Return how doctor's median time compares with that of another command."""
    return middle(runs[DOCTOR]) / middle(runs[other])


def table(runs: Mapping[str, Sequence[Run]]) -> str:
    """Return the figures as a table in Markdown."""
    lines = [
        "| command | seconds, median | min – max | peak MiB | doctor's share of it | target |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for name, found in runs.items():
        target = f"≤ {TARGETS[name]}" if name in TARGETS else ""
        ratio = f"{share(runs, name):.2f}" if name in TARGETS else ""
        lines.append(
            f"| `{name}` | {middle(found):.2f} | {span(found)} | "
            f"{max(run.memory for run in found):.0f} | {ratio} | {target} |"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
