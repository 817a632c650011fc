# /// script
# requires-python = ">=3.8"
# dependencies = []
#
# [tool.doctor]
# kind = "canary"
# summary = "Adds results that wait on two handles of one device, and on a device and the processor, with the workspace's own candle"
# target = "cargo"
# needs = ["candle-core"]
# tier = "deep"
# quick_where = "candle.built"
# timeout = 900
# devices = "host"
# cases = ["compile", "one-handle", "two-handles", "cpu-and-device"]
# ///
"""candle-core, as this workspace builds it, never loses an operand that lives on another handle of the device.

A program of ours is built against the workspace's own candle, opens the device twice and adds two results that nothing has
waited for. Right, or candle's own error (`device mismatch in add`), is a pass; a sum that lacks an operand is a failure. So it
is for a tensor of the processor and one of the device. Any other error decides nothing: `one-handle` says whether the device
adds at all, and fails where it does not.

The processor is always tried, which also type-checks what is for Metal; CUDA and Metal where the workspace has their feature on.
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
from candle.outcomes import alone, together  # noqa: E402
from candle.programs import BuildError, Device  # noqa: E402
from candle.workspace import Workspace  # noqa: E402

sys.path.remove(CHECKS)


REPORT = Report()
PROGRAM = "add"
CASES = {
    "one-handle": alone,
    "two-handles": together,
    "cpu-and-device": together,
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
