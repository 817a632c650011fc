"""Measure `doctor fleet merge`: seconds and peak memory for 10 to 10,000 reports.

    python -m benchmarks.fleet [--sizes 10,100,1000,10000]

The reports are made from one real report of this machine. What naturally differs is different in
each; one node in a hundred has another driver, another torch or a GPU fewer.
"""

from __future__ import annotations

import argparse
import copy
import json
import os
import subprocess
import sys
import tempfile
import time
import zlib
from pathlib import Path
from typing import Any

from doctor.fleet import wire
from doctor.fleet.node import check_command
from doctor.model.fleet import NodeState

_GPU = {
    "name": "NVIDIA H100 80GB HBM3",
    "capability": "9.0",
    "memory_bytes": 85520809984,
    "mig": False,
}


def main() -> None:
    """Print a row for each size."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", default="10,100,1000,10000")
    parser.add_argument("--python", help="the interpreter to examine")
    asked = parser.parse_args()
    options = ["--no-canaries", *(["--python", asked.python] if asked.python else [])]
    base = json.loads(
        subprocess.run(check_command(options), capture_output=True, check=False).stdout
    )
    print(f"one report: {len(json.dumps(base)):,} bytes, {len(base['facts'])} facts")
    print(f"{'nodes':>7} {'seconds':>8} {'peak MiB':>9} {'spool MiB':>10} {'groups':>7}")
    for size in map(int, asked.sizes.split(",")):
        with tempfile.TemporaryDirectory() as folder:
            taken = _write(base, size, Path(folder))
            seconds, peak, groups = _measure(Path(folder))
        print(
            f"{size:>7,} {seconds:>8.2f} {peak / 1024:>9.0f} {taken / (1 << 20):>10.1f} {groups:>7}"
        )


def _write(base: dict[str, Any], size: int, folder: Path) -> int:
    total = 0
    for number in range(size):
        name = f"gpu{number:05}"
        content = zlib.compress(json.dumps(report_of(base, number)).encode(), 1)
        packet = wire.Packet(node=name, state=NodeState.ANSWERED, exit_code=0, content=content)
        total += (folder / f"{name}.packet").write_bytes(wire.encode(packet))
    return total


def report_of(base: dict[str, Any], number: int) -> dict[str, Any]:
    """Return the report of one simulated node."""
    report = copy.copy(base)
    facts = report["facts"] = dict(base["facts"])

    def set_fact(name: str, value: Any) -> None:
        facts[name] = {"state": "present", "value": value, "source": "simulated", "why": ""}

    odd = number % 100 if number else 0
    set_fact("host.memory_available_bytes", 10**9 + 4096 * number)
    set_fact("host.tmp_free_bytes", 10**10 + 4096 * number)
    set_fact("host.memory_bytes", 2**40 - 10**8 - 4096 * number)
    set_fact("torch.import_seconds", 1 + number / 1000)
    gpus = [
        {
            "index": index,
            **_GPU,
            "uuid": f"GPU-{number:08x}-{index}",
            "pci_bus_id": f"{index:04x}",
            "memory_used_bytes": number * index,
        }
        for index in range(7 if odd == 17 else 8)
    ]
    set_fact("nvidia.gpus", gpus)
    set_fact("nvidia.driver_version", "535.104.05" if odd == 42 else "580.65.06")
    if odd == 77:
        set_fact("torch.version", "2.5.1+cu124")
    return report


def _measure(folder: Path) -> tuple[float, int, int]:
    """Run the command on a folder; return its seconds, its peak memory in KiB and the groups."""
    program = Path(wire.__file__).parents[2] / "canary_doctor.py"
    begun = time.monotonic()
    with tempfile.TemporaryFile() as output:
        child = subprocess.Popen(
            [sys.executable, str(program), "fleet", "merge", str(folder), "--format", "json"],
            stdout=output,
        )
        _, _, usage = os.wait4(child.pid, 0)
        seconds = time.monotonic() - begun
        output.seek(0)
        merged = json.loads(output.read())
    return seconds, usage.ru_maxrss, merged["summary"]["groups"]


if __name__ == "__main__":
    main()
