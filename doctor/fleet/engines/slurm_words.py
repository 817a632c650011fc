"""What Slurm says: limits of partitions, ends of tasks, and failures of its commands."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from doctor.base.text import one_line
from doctor.host import CompletedCommand

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


def in_words(message: str) -> str:
    """Return what the end of a task means; codes 126 and 127 are those of a shell."""
    if "exit code 127" in message:
        return "the Python that was named is not there (exit code 127)"
    if "exit code 126" in message:
        return "the Python that was named may not be run there (exit code 126)"
    return message


def why(completed: CompletedCommand) -> str:
    """Return the last words of a command that failed."""
    lines = [line for line in completed.errors.splitlines() if line.strip()]
    if lines:
        return one_line("; ".join(lines[-3:]), 500)
    return completed.why or f"no answer ({completed.ended.value}, exit code {completed.code})"
