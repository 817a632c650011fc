"""Explain events by their mechanism, from data, where no known issue is needed.

A module of this package, or a package in it, defines `explain`. No index needs an edit.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from functools import lru_cache

from doctor.analyzers.case import Analyzer, Case, Explanation


@lru_cache(maxsize=1)
def analyzers() -> tuple[Analyzer, ...]:
    """Return the analyzers of all modules of this package, in the order of their names."""
    loaded = (
        importlib.import_module(f"{__name__}.{name}")
        for name in sorted(found.name for found in pkgutil.iter_modules(__path__))
    )
    return tuple(module.explain for module in loaded if hasattr(module, "explain"))


def explanations(case: Case) -> Iterator[Explanation]:
    """Yield what the analyzers explain of a log."""
    for explain in analyzers():
        yield from explain(case)
