"""Advice that leaves to a person which package is meant gives way to advice that names it."""

from __future__ import annotations

from collections.abc import Sequence

from doctor.facts.conditions import all_hold, condition_holds
from doctor.facts.placeholders import placeholders
from doctor.model.facts import Facts
from doctor.model.issues import Recipe


def leaves_open(recipes: Sequence[Recipe], facts: Facts) -> bool:
    """Say whether the first fix that belongs here installs something that it cannot name: `<package>`."""
    fitting = (
        one
        for one in recipes
        if all_hold(condition_holds(part, facts) for part in one.when).truth is not False
    )
    first = next(fitting, None)
    return first is not None and bool(placeholders((*first.install, *first.uninstall)))
