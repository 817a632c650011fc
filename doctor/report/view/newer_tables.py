"""What is newer than the compatibility tables know, in a line for each package."""

from __future__ import annotations

from doctor.facts.families import newer_than_tables
from doctor.model.facts import Facts


def beyond(facts: Facts) -> list[str]:
    """Say what the tables end before, those that end alike in one line."""
    tables: dict[str, list[str]] = {}
    for table, newer in newer_than_tables(facts):
        where = f"at {newer.of} {newer.ends} (read on {newer.read}); "
        where += f"nothing is known of {newer.here}"
        tables.setdefault(where, []).append(table)
    return [f"the {_listed(sorted(names))} {where}" for where, names in tables.items()]


def _listed(names: list[str]) -> str:
    return (
        f"tables {', '.join(names[:-1])} and {names[-1]} end"
        if len(names) > 1
        else f"table {names[0]} ends"
    )
