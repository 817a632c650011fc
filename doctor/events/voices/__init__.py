"""The wordings of each program: one module a program, or a group of programs.

A module of this package defines `VOICES`. No index needs an edit.
"""

from __future__ import annotations

import importlib
import pkgutil
from functools import lru_cache

from doctor.events.forms import Voice


@lru_cache(maxsize=1)
def voices() -> tuple[Voice, ...]:
    """Return the voices of all modules of this package, in the order of their names."""
    modules = sorted(found.name for found in pkgutil.iter_modules(__path__))
    return tuple(
        voice for name in modules for voice in importlib.import_module(f"{__name__}.{name}").VOICES
    )
