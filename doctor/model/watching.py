"""What an examination reports while it runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from doctor.model.checks import Progress
from doctor.model.observation import Observation, Target
from doctor.model.outcomes import Outcome


def _ignore(*_anything: object) -> None:
    """Do nothing."""


class Watcher(msgspec.Struct, frozen=True, kw_only=True):
    """Callbacks of an examination, all called by the thread that started it.

    `targets`: the targets are known. `static`: files and tools are read; the ids of the checks that
    follow. `running`: what runs, and the seconds of the longest. `check`: one check has ended on
    all of its devices, the number of checks that have ended, the number of all.
    """

    targets: Callable[[Sequence[Target]], object] = _ignore
    static: Callable[[Observation, Sequence[str]], object] = _ignore
    running: Callable[[Sequence[str], float], object] = _ignore
    check: Callable[[Sequence[Outcome], int, int], object] = _ignore


def of_progress(progress: Progress | None) -> Watcher:
    """Return a watcher that passes on what runs, and its seconds."""
    if progress is None:
        return Watcher()
    return Watcher(running=lambda names, seconds: progress(", ".join(names), seconds))
