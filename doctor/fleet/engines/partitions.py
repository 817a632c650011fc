"""Time limits of Slurm's partitions, as sinfo writes them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

_SHORTEST_SECONDS = 20
"""A check that gets less time hardly ends."""


def too_long(
    rows: Iterable[str], partition: str, options: Sequence[str], minutes: int, reserve: float
) -> str:
    """Return why a partition ends a job of so many minutes sooner; empty where it does not.

    `rows` are those of `sinfo --format=%P|%l`; `reserve` is what a job takes beyond its check.
    """
    for option in options:
        if option.startswith("--partition="):
            partition = option.partition("=")[2]
    for name, _, text in (row.strip().partition("|") for row in rows):
        limit = _minutes(text)
        ours = name.rstrip("*") == partition if partition else name.endswith("*")
        if not ours or limit is None or limit >= minutes:
            continue
        longest = round(60 * (limit - 1) - reserve)
        smaller = f"--timeout {longest} or less, or " if longest >= _SHORTEST_SECONDS else ""
        return (
            f"partition {name.rstrip('*')} ends a job after {limit:g} min, and this check may take "
            f"{minutes} min: give {smaller}a partition with more time (--set partition=NAME)"
        )
    return ""


def _minutes(limit: str) -> float | None:
    """Return the minutes of a limit: [[days-]hours:]minutes:seconds, or infinite."""
    days, found, clock = limit.strip().rpartition("-")
    parts = clock.split(":")
    if not all(part.isdecimal() for part in (*parts, *([days] if found else []))):
        return None
    hours, minutes, seconds = (int(part) for part in ["0", "0", *parts][-3:])
    return 1440 * int(days or 0) + 60 * hours + minutes + seconds / 60
