"""What stands in the catalog, in words: rows, ranges, conditions, recipes."""

from __future__ import annotations

import msgspec

from doctor.facts.placeholders import as_text
from doctor.model.issues import Affected, Condition, Range

VERIFIED = {
    "reproduced": "reproduced",
    "thread": "confirmed in the threads below",
    "documented": "documented by its makers",
}
"""How an entry is known to be true."""


def row_text(row: Affected) -> str:
    """Say what an affected row asks for."""
    packages = [
        f"{name} {' or '.join(range_text(each) for each in ranges)}"
        for name, ranges in row.packages.items()
    ]
    return " and ".join([*packages, *(condition_text(condition) for condition in row.when)])


def range_text(versions: Range) -> str:
    """Say which versions a range holds."""
    match versions.introduced, versions.fixed:
        case None, None:
            return "of any version"
        case first, None:
            return f"from {first} on"
        case None, last:
            return f"before {last}"
        case first, last:
            return f"from {first}, before {last}"


def condition_text(condition: Condition) -> str:
    """Say what a condition asks of its fact."""
    if condition.range is not None:
        return f"{condition.fact} {range_text(condition.range)}"
    if condition.one_of is not None:
        return f"{condition.fact} is one of {as_text(condition.one_of)}"
    if condition.matches is not None:
        return f"{condition.fact} matches {condition.matches}"
    if condition.equals is not msgspec.UNSET:
        return f"{condition.fact} is {as_text(condition.equals)}"
    there = condition.present is True or condition.absent is False
    return f"{condition.fact} is {'there' if there else 'not there'}"
