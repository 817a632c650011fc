"""Time `doctor diagnose` on a long build log beside `grep -F -f` with the same texts.

    .venv/bin/python benchmarks/long_log.py [--megabytes 100] [--runs 3]

The log is that of a flash-attn build of many units, with one real failure in its middle. Prints
seconds (median of the runs, taken in turns) and the peak memory of doctor.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from doctor.catalog import loading as catalogs
from doctor.judge.match.signatures import telling
from doctor.logs.reading import own_texts

_PEAK = """
import atexit, resource, runpy, sys
sys.argv[0] = "doctor"
atexit.register(lambda: print("peak", resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024, file=sys.stderr, flush=True))
runpy.run_module("doctor", run_name="__main__")
"""  # noqa: E501
_FAILURE = (
    "flash_bwd_hdim128.cu: fatal error: cusparse.h: No such file or directory\ncompilation "
    "terminated.\n"
)


def main() -> int:
    """Write the log, run both in turns, print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--megabytes", type=int, default=100)
    parser.add_argument("--runs", type=int, default=3)
    wanted = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        log, texts = Path(folder) / "build.log", Path(folder) / "texts"
        with log.open("w", encoding="utf-8") as file:
            file.writelines(lines(wanted.megabytes * 1_000_000))
        looked_for = sorted({*telling(catalogs.load()), *own_texts()})
        texts.write_text("\n".join(looked_for) + "\n", encoding="utf-8")
        commands = (
            [sys.executable, "-c", _PEAK, "diagnose", str(log), "--format", "json"],
            ["grep", "-c", "-F", "-f", str(texts), str(log)],
        )
        taken: list[list[float]] = [[], []]
        peaks = []
        for _ in range(wanted.runs):
            for place, command in enumerate(commands):
                seconds, said = timed(command)
                taken[place].append(seconds)
                peaks += [
                    int(line.split()[1]) for line in said.splitlines() if line.startswith("peak ")
                ]
    ours, theirs = (statistics.median(seconds) for seconds in taken)
    print(f"{wanted.megabytes} MB, {len(looked_for)} texts\n")
    print("| command | seconds | peak MiB |\n| --- | --- | --- |")
    print(f"| `doctor diagnose` | {ours:.2f} | {max(peaks)} |")
    print(f"| `grep -c -F -f` | {theirs:.2f} | |\n\ndoctor takes {ours / theirs:.1f} times as long")
    return 0


def timed(command: Sequence[str]) -> tuple[float, str]:
    """Run a command; return its seconds, and what it said on standard error."""
    started = time.perf_counter()
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    if ran.returncode not in (0, 1):
        raise SystemExit(ran.stderr)
    return time.perf_counter() - started, ran.stderr


def lines(size: int) -> Iterator[str]:
    """Yield a log of about this many bytes."""
    written = number = 0
    failed = False
    while written < size:
        line = (
            f"[{number % 73}/73] nvcc -Icsrc/cutlass/include -c csrc/flash_bwd_{number}.cu -o "
            f"build/{number}.o -std=c++17 -O3\n"
        )
        line += f"ptxas info    : Used {number % 255} registers, {number % 4096} bytes cmem[0]\n"
        if not failed and written > size // 2:
            line, failed = _FAILURE, True
        number, written = number + 1, written + len(line)
        yield line


if __name__ == "__main__":
    sys.exit(main())
