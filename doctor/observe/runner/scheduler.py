"""The line of units that wait.

Those without a common lane run side by side, those of one lane one after another.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait

import msgspec

from doctor.base.refusals import refusal_of
from doctor.base.text import sanitize
from doctor.host.scratch import Scratch
from doctor.model.outcomes import Outcome, Verdict, refused
from doctor.model.watching import Watcher
from doctor.observe.runner.start import start
from doctor.observe.runner.units import Unit
from doctor.observe.runner.verdicts import Batch

_POLL_SECONDS = 0.1


class _Stopped(Exception):
    """Doctor is being interrupted, and so is everything that runs."""


def _nothing(_unit: Unit) -> None:
    """Recall nothing."""


class Line:
    """Iterate over it to run what was added; more may be added meanwhile.

    Leaving it early stops what runs.

    What `recall` knows of a unit stands for a run of it.
    """

    def __init__(
        self,
        scratch: Scratch,
        watcher: Watcher,
        recall: Callable[[Unit], Batch | None] = _nothing,
    ) -> None:
        self._scratch, self._watcher, self._recall = scratch, watcher, recall
        self._waiting: list[Unit] = []
        self._recalled: list[tuple[Unit, Batch]] = []
        self._running: dict[Future[Batch], tuple[Unit, float]] = {}
        self._stop = threading.Event()
        self._width = max(1, _processors())

    def add(self, units: Iterable[Unit]) -> None:
        """Put units at the end of the line."""
        for unit in units:
            if (batch := self._recall(unit)) is None:
                self._waiting.append(unit)
            else:
                self._recalled.append((unit, batch))

    def again(self, unit: Unit) -> Batch:
        """Run a unit once more at once, in a process of its own."""
        alone = msgspec.structs.replace(unit, alone=True)
        return start(alone, self._scratch, self._tick)

    def __iter__(self) -> Iterator[tuple[Unit, Batch]]:
        """Yield each unit with what it gave, in the order of their ends."""
        with ThreadPoolExecutor(self._width) as pool:
            try:
                while self._recalled or self._waiting or self._running:
                    while self._recalled:
                        yield self._recalled.pop(0)
                    self._begin(pool)
                    if self._running:
                        yield from self._ended()
            finally:
                self._stop.set()

    def _begin(self, pool: ThreadPoolExecutor) -> None:
        taken = {lane for unit, _ in self._running.values() for lane in unit.lanes}
        for unit in tuple(self._waiting):
            if not unit.lanes & taken and len(self._running) < self._width:
                self._waiting.remove(unit)
                self._running[self._submitted(pool, unit)] = (unit, time.monotonic())
                taken |= unit.lanes

    def _submitted(self, pool: ThreadPoolExecutor, unit: Unit) -> Future[Batch]:
        void = threading.Event()
        try:
            return pool.submit(self._started, unit, void)
        except RuntimeError as error:
            # No thread can be started; the unit stands in the pool's own line all the same, and is
            # not to begin from there.
            void.set()
            refused_one: Future[Batch] = Future()
            refused_one.set_exception(error)
            return refused_one

    def _started(self, unit: Unit, void: threading.Event) -> Batch:
        return Batch(outcomes=()) if void.is_set() else start(unit, self._scratch, self._tick)

    def _tick(self, _seconds: float) -> None:
        if self._stop.is_set():
            raise _Stopped

    def _ended(self) -> Iterator[tuple[Unit, Batch]]:
        ended, _ = wait(self._running, timeout=_POLL_SECONDS, return_when=FIRST_COMPLETED)
        for future in ended:
            unit, _ = self._running.pop(future)
            yield unit, _given(unit, future)
        if self._running:
            names = dict.fromkeys(unit.check.id for unit, _ in self._running.values())
            longest = max(time.monotonic() - begun for _, begun in self._running.values())
            self._watcher.running(tuple(names), longest)


def _given(unit: Unit, future: Future[Batch]) -> Batch:
    """Return what a unit gave; whatever went wrong around it costs this unit alone."""
    try:
        return future.result()
    except Exception as error:  # noqa: BLE001 - the border of one unit
        return Batch(outcomes=(failed(unit, error),))


def failed(unit: Unit, error: Exception) -> Outcome:
    """Return the outcome of a unit that an error cost.

    Skipped where the machine refused something, else broken.
    """
    if (no := refusal_of(error)) is not None:
        return unit.skipped(refused(*no))
    reason = f"{type(error).__name__}: {sanitize(str(error))[:500]}"
    return msgspec.structs.replace(unit.skipped(""), verdict=Verdict.BROKEN, reason=reason)


def _processors() -> int:
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1
