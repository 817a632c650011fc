"""Explain events by their mechanism, from data, where no known issue is needed.

A module of this package, or a package in it, defines `explain`. No index needs an edit.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from functools import lru_cache

from doctor.analyzers.case import Analyzer, Case, Explanation, Precision
from doctor.model.scales import Severity


@lru_cache(maxsize=1)
def analyzers() -> tuple[Analyzer, ...]:
    """Return the analyzers of all modules of this package, in the order of their names."""
    loaded = (
        importlib.import_module(f"{__name__}.{name}")
        for name in sorted(found.name for found in pkgutil.iter_modules(__path__))
    )
    return tuple(module.explain for module in loaded if hasattr(module, "explain"))


def explanations(case: Case, *, strict: bool = False) -> Iterator[Explanation]:
    """Yield the most exact explanation of each line of a log; several analyzers may know one.

    `strict` lets a fault of an analyzer through, for tests.
    """
    best: dict[int, Explanation] = {}
    for explain in analyzers():
        for one in _of(explain, case, strict=strict):
            known = best.get(one.event.at)
            if known is None or _worth(one) > _worth(known):
                best[one.event.at] = one
    every = [best[at] for at in sorted(best)]
    for least in (Precision.FAMILY, Precision.ADVICE):
        if known_well := [one for one in every if one.precision >= least]:
            yield from known_well
            return
    yield from every


def _of(explain: Analyzer, case: Case, *, strict: bool) -> tuple[Explanation, ...]:
    """Return what one analyzer explains; a fault of its own costs only that."""
    try:
        return tuple(explain(case))
    except Exception:  # a log is hostile input, and the other analyzers and the catalog go on
        if strict:
            raise
        return ()


def _worth(one: Explanation) -> tuple[Precision, bool, int, int]:
    """Rank by what is known; then a failure before a note, and what names more."""
    return (
        one.precision,
        one.detection.severity is not Severity.NOTE,
        len(one.event.objects),
        len(one.detection.recipes),
    )
