"""Run every probe within a time limit; one that raises or hangs costs its own facts only."""

from __future__ import annotations

import importlib
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from types import ModuleType

import doctor.observe.probes
from doctor.base.errors import DoctorError
from doctor.base.refusals import refusal_of
from doctor.model.facts import Fact
from doctor.model.observation import ProbeFailure
from doctor.model.outcomes import refused
from doctor.observe.scene import ProbeInput

_BOUND = 20.0
"""Seconds for a probe that names no bound of its own."""


class _Answer:
    """What a probe gave so far, and once it ended why it did not finish, or an empty text.

    Its reader is woken once, at the end. Woken for each fact, the two threads would pass the
    interpreter's lock to each other a thousand times.
    """

    def __init__(self) -> None:
        self.facts: dict[str, Fact] = {}
        self.failure = ""
        self.is_whole = threading.Event()


def probes() -> tuple[ModuleType, ...]:
    """Return every probe: each module and package of doctor.observe.probes is one.

    pkgutil would list them, and import `inspect` for it.
    """
    names = sorted(
        entry.stem
        for folder in doctor.observe.probes.__path__
        for entry in Path(folder).iterdir()
        if (entry.suffix == ".py" and entry.stem != "__init__") or (entry / "__init__.py").is_file()
    )
    return tuple(importlib.import_module(f"doctor.observe.probes.{name}") for name in names)


def run_probes(
    scene: ProbeInput,
    modules: Iterable[ModuleType] | None = None,
    deadline: float = float("inf"),
) -> tuple[dict[str, Fact], tuple[ProbeFailure, ...]]:
    """Run probes; those that wait for tools each have a thread, and the rest shares one.

    Probes that read files hold the interpreter's lock. Parallel threads would only pass it on,
    some ten thousand times. At the `deadline`, a time of the monotonic clock, running probes are
    abandoned.
    """
    chosen = probes() if modules is None else tuple(modules)
    waiting = [module for module in chosen if getattr(module, "WAITS", False)]
    rest = [module for module in chosen if module not in waiting]
    tools, files = (
        [_ProbeThread([module], scene, deadline) for module in waiting],
        _ProbeThread(rest, scene, deadline),
    )
    read = list(files.results())
    facts: dict[str, Fact] = {}
    failures = []
    for name, found, failure in (*(result for lane in tools for result in lane.results()), *read):
        facts |= found
        if failure:
            failures.append(ProbeFailure(probe=name, why=failure))
    return facts, tuple(failures)


class _ProbeThread:
    """Probes that run one after another in a thread.

    Where one hangs, it is left behind and the next ones get another thread.
    """

    def __init__(self, modules: Sequence[ModuleType], scene: ProbeInput, deadline: float) -> None:
        self._modules, self._scene, self._deadline = modules, scene, deadline
        self._answers = [_Answer() for _ in modules]
        self._started = time.monotonic()
        self._turn = 0
        self._start(0)

    def _start(self, first: int) -> None:
        threading.Thread(target=self._run, args=(first,), daemon=True).start()

    def _run(self, first: int) -> None:
        for number in range(first, len(self._modules)):
            if number < self._turn:
                return
            _run_probe(self._modules[number], self._scene, self._answers[number])

    def results(self) -> Iterator[tuple[str, dict[str, Fact], str]]:
        """Yield, for each probe, its name, its facts, and why it did not finish, if it did not."""
        for number, module in enumerate(self._modules):
            facts, failure = self._collect(number, float(getattr(module, "BOUND", _BOUND)))
            yield module.__name__.rpartition(".")[2], facts, failure
            self._started = time.monotonic()

    def _collect(self, number: int, bound: float) -> tuple[dict[str, Fact], str]:
        answer = self._answers[number]
        end = min(self._started + bound, self._deadline)
        if answer.is_whole.wait(max(end - time.monotonic(), 0.001)):
            return answer.facts, answer.failure
        given = dict(answer.facts)
        if time.monotonic() >= self._deadline:
            return given, "the time budget of the whole run was used up"
        self._turn = number + 1
        self._start(self._turn)
        return given, f"gave no answer within {bound:.0f} s"


def _run_probe(module: ModuleType, scene: ProbeInput, answer: _Answer) -> None:
    try:
        for name, fact in module.probe(scene):
            answer.facts[name] = fact
    except DoctorError as error:
        answer.failure = str(error)
    except Exception as error:  # noqa: BLE001 - the border of one probe: whatever goes wrong here is data
        no = refusal_of(error)
        answer.failure = (
            refused(*no) if no and no.what != "rights" else f"{type(error).__name__}: {error}"
        )
    answer.is_whole.set()
