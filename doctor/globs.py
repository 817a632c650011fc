"""The globs of `--only`, `--skip` and `symptoms`, over the ids of checks and findings."""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatchcase


def matches_any(name: str, globs: Iterable[str]) -> bool:
    """Say whether at least one glob matches the whole id; case counts on every system."""
    return any(fnmatchcase(name, glob) for glob in globs)
