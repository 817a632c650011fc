"""Try a program with the workspace's candle on the CPU and on each accelerator of its build."""

from __future__ import annotations

import os
import random
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from canary_report import CaseEnded, Report
from candle import outcomes, programs, workspace
from candle.cargo import Cargo, Undone
from candle.outcomes import Judge
from candle.programs import Device, undone
from candle.workspace import Workspace


class Trial:
    """A program, how each of its cases is judged, and the report of it."""

    def __init__(self, report: Report, program: str, cases: dict[str, Judge]) -> None:
        self.report, self.program, self.cases = report, program, cases

    def run(self) -> None:
        """Try every device."""
        with tempfile.TemporaryDirectory(dir=os.getcwd()) as temporary:
            devices: list[Device] = []
            with self.undone_at_once():
                cargo = Cargo()
                whole = workspace.read(cargo)
                devices = programs.devices(whole.features(whole.the("candle-core")))
            for device in devices:
                with self.report.result(device.name) as data, undone():
                    if device.why_not:
                        raise CaseEnded("skipped", device.why_not)
                    self.tried(cargo, whole, device, Path(temporary) / device.word, data)

    @contextmanager
    def undone_at_once(self) -> Iterator[None]:
        """Say of every device at once why there is nothing to say."""
        try:
            yield
        except Undone as reason:
            with self.report.result("cpu"):
                raise CaseEnded("skipped", str(reason)) from None

    def tried(
        self, cargo: Cargo, whole: Workspace, device: Device, folder: Path, data: dict[str, Any]
    ) -> None:
        """Build the program for a device, run it there, and judge what it says."""
        report, core = self.report, whole.the("candle-core")
        data.update(
            candle=workspace.origin(core),
            features=device.features,
            seed=random.SystemRandom().randrange(1, 1 << 32),
            told=[],
        )
        with report.case("compile"), undone():
            program, line = programs.program(cargo, whole, device, self.program, folder)
            data["told"] += [line] if line else []
        if report.results[-1]["cases"]["compile"]["verdict"] != "passed":
            return
        done = programs.start(cargo, program, device, data["seed"])
        heard = outcomes.parse_output(done.out)
        if heard.no_device:
            raise CaseEnded(*outcomes.unopened(heard.no_device))
        ends = {
            name: judge(heard.cases[name], device.name)
            for name, judge in self.cases.items()
            if name in heard.cases
        }
        death = outcomes.death(heard, done.code)
        if death:
            ends[heard.begun] = death
        self.listed(ends)
        data["told"] += outcomes.refusals(heard, ends)
        if ends.get(""):
            raise CaseEnded(*ends[""])

    def listed(self, ends: dict[str, outcomes.Termination]) -> None:
        """Put how each case ended into the report."""
        for name, end in ends.items():
            if name:
                with self.report.case(name):
                    if end:
                        raise CaseEnded(*end)
