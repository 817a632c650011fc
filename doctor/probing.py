"""Run every probe, side by side, each bounded in time."""

from __future__ import annotations

import importlib
import pkgutil
import queue
import threading
import time
from collections.abc import Iterable
from types import ModuleType

import doctor.probes
from doctor.model.facts import Fact
from doctor.model.observation import ProbeFailure
from doctor.probes.contract import Scene

_BOUND = 20.0
"""Seconds for a probe that names no bound of its own."""


def probes() -> tuple[ModuleType, ...]:
    """Return every module in the folder of probes that holds one."""
    names = sorted(info.name for info in pkgutil.iter_modules(doctor.probes.__path__))
    modules = [importlib.import_module(f"doctor.probes.{name}") for name in names]
    return tuple(module for module in modules if hasattr(module, "probe"))


def probe_all(scene: Scene, modules: Iterable[ModuleType] | None = None) -> tuple[dict[str, Fact], tuple[ProbeFailure, ...]]:
    """Run probes side by side; one that raises or hangs costs its own facts, and is named."""
    running = [_Running(module, scene) for module in (probes() if modules is None else modules)]
    facts: dict[str, Fact] = {}
    failures = []
    for task in running:
        seen, failure = task.result()
        facts |= seen
        if failure:
            failures.append(ProbeFailure(probe=task.name, why=failure))
    return facts, tuple(failures)


class _Running:
    """One probe in a thread of its own, which is left behind where it does not come back."""

    def __init__(self, module: ModuleType, scene: Scene) -> None:
        self.name = module.__name__.rpartition(".")[2]
        self._bound = float(getattr(module, "BOUND", _BOUND))
        self._started = time.monotonic()
        self._seen: queue.SimpleQueue[tuple[str, Fact] | str] = queue.SimpleQueue()
        threading.Thread(target=self._run, args=(module, scene), daemon=True).start()

    def _run(self, module: ModuleType, scene: Scene) -> None:
        try:
            for item in module.probe(scene):
                self._seen.put(item)
        except Exception as error:  # noqa: BLE001 - the border of one probe: whatever goes wrong here is data
            self._seen.put(f"{type(error).__name__}: {error}")
        else:
            self._seen.put("")

    def result(self) -> tuple[dict[str, Fact], str]:
        """Return the facts so far and why the probe did not finish, if it did not."""
        facts: dict[str, Fact] = {}
        while True:
            try:
                item = self._seen.get(timeout=max(self._started + self._bound - time.monotonic(), 0.001))
            except queue.Empty:
                return facts, f"gave no answer within {self._bound:.0f} s"
            if isinstance(item, str):
                return facts, item
            facts[item[0]] = item[1]
