"""The globs of `--only`, `--skip` and `symptoms`, over the ids of checks and findings."""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatchcase
from functools import lru_cache


def matches_any(name: str, globs: Iterable[str]) -> bool:
    """Say whether at least one glob matches the whole id; case counts on every system."""
    return any(_matches(name, glob) for glob in globs)


def _matches(name: str, glob: str) -> bool:
    start = _start(glob)
    return (
        fnmatchcase(name, glob)
        if start is None
        else name.startswith(start)
        if glob != start
        else name == start
    )


@lru_cache(maxsize=1 << 14)
def _start(glob: str) -> str | None:
    """Return what a glob wants a name to begin with, or to be, where it wants no more: most do, and thousands of them may be asked for."""
    start = glob.removesuffix("*")
    return None if any(sign in start for sign in "*?[") else start
