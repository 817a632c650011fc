# /// script
# requires-python = ">=3.8"
# dependencies = []
#
# [tool.doctor]
# kind = "canary"
# summary = "Multiplies views of every layout with the workspace's own candle and compares with float64 products"
# target = "cargo"
# needs = ["candle-core"]
# tier = "deep"
# quick_where = "candle.built"
# timeout = 900
# devices = "host"
# cases = ["compile", "plain", "contiguous-copy", "transposed", "sliced", "batched", "thin", "broadcast", "rank-5"]
# ///
"""candle-core, as this workspace builds it, multiplies matrices right, whatever the strides of its operands.

A program of ours is built against the workspace's own candle: the same source, the same commit, the versions of its lock. It
multiplies every view with every other one and compares with products that it computes itself in float64. Values are small
integers, so each product is exact and a wrong number is a failure. What a release may not refuse either: operands made
contiguous (`contiguous-copy`), and plain transposes. Where candle refuses another layout with an error, that is told and no failure.

`compile` fails with rustc's first error where candle itself does not compile; a build that cannot begin here is skipped.
The processor is always tried, built without the accelerators' features; CUDA and Metal where the workspace has their feature on.
"""

from __future__ import annotations

import os
import random
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

CHECKS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True
sys.path.insert(0, CHECKS)
from canary_report import Ending, Report  # noqa: E402
from candle import outcomes, programs, workspace  # noqa: E402
from candle.cargo import Cargo, Undone  # noqa: E402
from candle.outcomes import exact, refusable, spread  # noqa: E402
from candle.programs import BuildError, Device  # noqa: E402
from candle.workspace import Workspace  # noqa: E402

sys.path.remove(CHECKS)


REPORT = Report()
PROGRAM = "matmul"
CASES = {
    "plain": exact,
    "contiguous-copy": exact,
    "transposed": exact,
    "sliced": refusable,
    "batched": refusable,
    "thin": refusable,
    "broadcast": spread,
    "rank-5": refusable,
}
"""How each case is judged."""


def tried(cargo: Cargo, whole: Workspace, device: Device, folder: Path, data: dict[str, Any]) -> None:
    """Build the program for a device, run it there, and judge what it says."""
    core, cases = whole.the("candle-core"), REPORT.results[-1]["cases"]
    data.update(candle=workspace.origin(core), features=device.features, seed=random.SystemRandom().randrange(1, 1 << 32), told=[])
    with REPORT.case("compile"), undone():
        program, line = programs.program(cargo, whole, device, PROGRAM, folder)
        data["told"] += [line] if line else []
    if cases["compile"]["verdict"] != "passed":
        return
    done = programs.start(cargo, program, device, data["seed"])
    heard = outcomes.heard(done.out)
    if heard.no_device:
        raise Ending(*outcomes.unopened(heard.no_device))
    ends = {name: judge(heard.cases[name], device.name) for name, judge in CASES.items() if name in heard.cases}
    death = outcomes.death(heard, done.code)
    if death:
        ends[heard.begun] = death
    for name, end in ends.items():
        if name:
            with REPORT.case(name):
                if end:
                    raise Ending(*end)
    data["told"] += outcomes.told(heard, ends)
    if ends.get(""):
        raise Ending(*ends[""])


@contextmanager
def undone() -> Iterator[None]:
    """Turn what cannot be said here into a skip, and a candle that does not compile into a failure."""
    try:
        yield
    except (Undone, OSError) as reason:
        raise Ending("skipped", str(reason)) from None
    except BuildError as error:
        raise Ending("failed", str(error)) from None


def main() -> None:
    """Try the processor, and each accelerator that the workspace's candle is built for."""
    with tempfile.TemporaryDirectory(dir=os.getcwd()) as temporary:
        devices: list[Device] = []
        with undone_at_once():
            cargo = Cargo()
            whole = workspace.read(cargo)
            devices = programs.devices(whole.features(whole.the("candle-core")))
        for device in devices:
            with REPORT.result(device.name) as data, undone():
                if device.why_not:
                    raise Ending("skipped", device.why_not)
                tried(cargo, whole, device, Path(temporary) / device.word, data)
    REPORT.write(doing=None)


@contextmanager
def undone_at_once() -> Iterator[None]:
    """Say of every device at once why there is nothing to say."""
    try:
        yield
    except Undone as reason:
        with REPORT.result("cpu"):
            raise Ending("skipped", str(reason)) from None


if __name__ == "__main__":
    main()
