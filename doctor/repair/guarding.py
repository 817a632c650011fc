"""Go on where doctor itself fails in a part of the search: that part is skipped, and said.

A program that fails in an odd way meets code that nobody ran before. What else was found helps all
the same.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable
from pathlib import PurePath
from typing import TypeVar

from doctor.base.errors import UsageError
from doctor.base.text import one_line
from doctor.repair.examination import Bench

_Made = TypeVar("_Made")
_LONGEST, _MOST = 160, 3


def guarded(bench: Bench, what: str, make: Callable[[], _Made]) -> _Made | None:
    """Return what a part of the search makes; None where doctor itself fails in it."""
    try:
        return make()
    except (UsageError, MemoryError):
        raise
    except Exception as error:  # noqa: BLE001 - whatever it is, the rest of the search goes on
        frames = traceback.extract_tb(error.__traceback__)
        place = f" ({PurePath(frames[-1].filename).name}:{frames[-1].lineno})" if frames else ""
        said = one_line(f"{type(error).__name__}: {error}", _LONGEST)
        bench.faults.setdefault(f"{said}{place}", what)
        return None


def faults_in_words(bench: Bench) -> tuple[str, ...]:
    """Return sentences about what was skipped."""
    return tuple(
        f"Skipped, since doctor itself failed in it: {what}. Please report it: {said}"
        for said, what in list(bench.faults.items())[:_MOST]
    )
