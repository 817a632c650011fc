"""What is newer than the compatibility tables know, in a line for each package."""

from __future__ import annotations

from doctor.facts.placeholders import as_text
from doctor.model.facts import Facts, value_of


def beyond(facts: Facts) -> list[str]:
    """Say what the tables end before, those that end alike in one line."""
    tables: dict[str, list[str]] = {}
    for name in sorted(facts):
        told = (
            value_of(facts, name)
            if name.startswith("compat.") and name.endswith(".beyond")
            else None
        )
        if isinstance(told, dict):
            of, here, ends, read = (
                as_text(told.get(part, "?")) for part in ("of", "here", "ends", "read")
            )
            where = f"at {of} {ends} (read on {read}); nothing is known of {here}"
            tables.setdefault(where, []).append(name.split(".")[1])
    return [f"the {_listed(sorted(names))} {where}" for where, names in tables.items()]


def _listed(names: list[str]) -> str:
    return (
        f"tables {', '.join(names[:-1])} and {names[-1]} end"
        if len(names) > 1
        else f"table {names[0]} ends"
    )
