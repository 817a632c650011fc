"""Fuzz targets and print a line for each.

`python -m tests.fuzz [--seconds 60 | --runs N] [--keep FOLDER] [TARGET…]`

One process imports doctor; each target runs in a fork of it and begins with its corpus, as many at
once as there are processors. A crash, an input that takes more than five seconds or a process of
more than 200 MB ends that target, leaves the input in the folder `crashes` and makes the exit code
1. Without atheris nothing is fuzzed, and the code is 0.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import importlib.util
import io
import math
import os
import re
import sys
import tempfile
import time
import traceback
from pathlib import Path

HAS_ATHERIS = importlib.util.find_spec("atheris") is not None
if HAS_ATHERIS:
    # Comes before all that imports doctor, so that libFuzzer sees which lines an input reaches.
    with contextlib.redirect_stderr(io.StringIO()):  # a line for each module
        from tests.fuzz.one import fuzz
from tests.fuzz.targets import CORPUS, TARGETS  # noqa: E402

_ROOT = Path(__file__).resolve().parents[2]
_STATISTIC = re.compile(r"(?m)^stat::(\w+):\s+(\d+)$")
_EDGES = re.compile(r" cov: (\d+) ")
_MEGABYTES, _CLOCK = 200, 60
_HEAD = (
    "| target | executions | per second | edges | peak MB | end |\n"
    "| --- | --- | --- | --- | --- | --- |"
)


def main() -> int:
    """Fuzz the targets of the command line; return the exit code."""
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
    if not HAS_ATHERIS:
        print("atheris is not installed here (it has no wheel for every Python): nothing is fuzzed")
        return 0
    names = wanted.targets or [*TARGETS]
    at_once = min(os.cpu_count() or 1, len(names))
    seconds = wanted.seconds / math.ceil(len(names) / at_once)
    limit = f"-runs={wanted.runs}" if wanted.runs else f"-max_total_time={max(int(seconds), 1)}"
    (_ROOT / "crashes").mkdir(exist_ok=True)
    print(_HEAD, flush=True)
    with tempfile.TemporaryDirectory() as temporary:
        return _fuzz_all(names, limit, wanted.keep or Path(temporary), Path(temporary), at_once)


def _fuzz_all(names: list[str], limit: str, keep: Path, outputs: Path, at_once: int) -> int:
    """Fork for each target, a few at a time; return 1 where one did not end well, else 0."""
    running: dict[int, tuple[str, float]] = {}
    waiting, failed = list(names), False
    while waiting or running:
        while waiting and len(running) < at_once:
            name = waiting.pop(0)
            running[_fork(name, limit, keep / name, outputs / f"{name}.txt")] = (
                name,
                time.monotonic(),
            )
        pid, status = os.wait()
        name, begun = running.pop(pid)
        code = os.waitstatus_to_exitcode(status)
        _print_line(name, code, outputs / f"{name}.txt", time.monotonic() - begun)
        failed = failed or code != 0
    return int(failed)


def _fork(name: str, limit: str, found: Path, output: Path) -> int:
    """Start a target in a fork whose output goes to a file; return its process number."""
    found.mkdir(parents=True, exist_ok=True)
    arguments = [
        limit,
        f"-timeout={_CLOCK}",
        f"-rss_limit_mb={_MEGABYTES}",
        f"-artifact_prefix={_ROOT / 'crashes'}/{name}-",
        "-print_final_stats=1",
        str(found),
        str(CORPUS / name),
    ]
    sys.stdout.flush()
    if pid := os.fork():
        return pid
    with output.open("wb") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    try:
        fuzz(name, arguments)
    except BaseException:  # noqa: BLE001 - a fork must not return into the loop of its parent
        traceback.print_exc()
    with contextlib.suppress(OSError):
        sys.stderr.flush()
    # Where a target raised, libFuzzer leaves the input behind as the C library ends the process.
    ctypes.CDLL(None).exit(1)
    os._exit(1)


def _print_line(name: str, code: int, output: Path, seconds: float) -> None:
    """Print what a target did, and the end of its output where it did not end well."""
    said = output.read_bytes().decode("utf-8", "replace")
    stats = dict(_STATISTIC.findall(said))
    runs = int(stats.get("number_of_executed_units", 0))
    end = "well" if code == 0 else f"exit code {code}"
    peak = stats.get("peak_rss_mb", "?")
    edges = (_EDGES.findall(said) or ["?"])[-1]
    print(f"| {name} | {runs} | {round(runs / seconds)} | {edges} | {peak} | {end} |", flush=True)
    if code:
        print(said[-4000:], file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
