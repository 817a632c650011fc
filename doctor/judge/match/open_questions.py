"""Advice that leaves to a person which package is meant gives way to advice that names it."""

from __future__ import annotations

from collections.abc import Sequence

from doctor.facts.conditions import all_hold, condition_holds
from doctor.facts.placeholders import placeholders
from doctor.model.facts import Facts
from doctor.model.issues import Condition, Recipe


def leaves_open(recipes: Sequence[Recipe], facts: Facts) -> bool:
    """Say whether the first fix that belongs here installs something that it cannot name.

    `<package>`.
    """
    fitting = (one for one in recipes if _may_apply(one, facts))
    first = next(fitting, None)
    if first is None:
        return False
    names = (name for step in first.steps for name in (*step.install, *step.uninstall))
    return bool(placeholders(names))


def _may_apply(recipe: Recipe, facts: Facts) -> bool:
    conditions = (one for one in recipe.use_if if isinstance(one, Condition))
    return all_hold(condition_holds(one, facts) for one in conditions).truth is not False
