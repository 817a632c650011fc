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
    """Return the literal prefix, or name, that a glob stands for; None for any other glob.

    Most globs are of this kind, and a configuration may name thousands of them.
    """
    start = glob.removesuffix("*")
    return None if any(sign in start for sign in "*?[") else start
