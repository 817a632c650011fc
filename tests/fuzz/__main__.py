"""Fuzzes targets one after another and prints what each did: `python -m tests.fuzz [--seconds 60 | --runs N] [--keep FOLDER] [TARGET…]`.

Each has a process of its own and begins with its corpus. A crash, an input that takes more than
five seconds or a process of more than 200 MB ends that target, leaves the input in the folder
`crashes` and makes the exit code 1. Without atheris nothing is fuzzed, and the code is 0.
"""

from __future__ import annotations

import argparse
import importlib.util
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.fuzz.targets import CORPUS, TARGETS

_ROOT = Path(__file__).resolve().parents[2]
_STATISTIC = re.compile(r"(?m)^stat::(\w+):\s+(\d+)$")
_MEGABYTES, _CLOCK = 200, 60
_HEAD = "| target | executions | per second | peak MB | end |\n| --- | --- | --- | --- | --- |"


def main() -> int:
    """Fuzz what was asked for."""
    asked = argparse.ArgumentParser(
        prog="python -m tests.fuzz", description=(__doc__ or "").split("\n", maxsplit=1)[0]
    )
    asked.add_argument("targets", nargs="*", metavar="TARGET", help=", ".join(TARGETS))
    asked.add_argument("--seconds", type=float, default=60, help="of all targets together (60)")
    asked.add_argument("--runs", type=int, help="of each target, however long they take")
    asked.add_argument(
        "--keep", type=Path, help="a folder that keeps what reaches new code, to go on from"
    )
    wanted = asked.parse_args()
    if strange := set(wanted.targets) - TARGETS.keys():
        asked.error(f"no target {', '.join(sorted(strange))}")
    if importlib.util.find_spec("atheris") is None:
        print("atheris is not installed here (it has no wheel for every Python): nothing is fuzzed")
        return 0
    print(_HEAD)
    names = wanted.targets or [*TARGETS]
    limit = (
        [f"-runs={wanted.runs}"]
        if wanted.runs
        else [f"-max_total_time={max(round(wanted.seconds / len(names)), 1)}"]
    )
    return 1 if sum([not _fuzzed(name, limit, wanted.keep) for name in names]) else 0


def _fuzzed(name: str, limit: list[str], keep: Path | None) -> bool:
    """Fuzz one target and print its line; false where it crashed, took too long or too much."""
    crashes = _ROOT / "crashes"
    crashes.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as temporary:
        found = (keep or Path(temporary)) / name
        found.mkdir(parents=True, exist_ok=True)
        bounds = [
            f"-timeout={_CLOCK}",
            f"-rss_limit_mb={_MEGABYTES}",
            f"-artifact_prefix={crashes}/{name}-",
            "-print_final_stats=1",
        ]
        command = [
            sys.executable,
            "-m",
            "tests.fuzz.one",
            name,
            *limit,
            *bounds,
            str(found),
            str(CORPUS / name),
        ]
        begun = time.monotonic()
        ran = subprocess.run(command, cwd=_ROOT, capture_output=True, check=False)
    said = ran.stderr.decode("utf-8", "replace") + ran.stdout.decode("utf-8", "replace")
    told = dict(_STATISTIC.findall(said))
    runs, rate = (
        int(told.get("number_of_executed_units", 0)),
        round(int(told.get("number_of_executed_units", 0)) / (time.monotonic() - begun)),
    )
    end = "well" if ran.returncode == 0 else f"exit code {ran.returncode}"
    print(f"| {name} | {runs} | {rate} | {told.get('peak_rss_mb', '?')} | {end} |", flush=True)
    if ran.returncode:
        print(said[-4000:], file=sys.stderr)
    return ran.returncode == 0


if __name__ == "__main__":
    sys.exit(main())
