"""Advice that leaves to a person which package is meant gives way to advice that names it."""

from __future__ import annotations

from collections.abc import Sequence

from doctor.facts.conditions import may_apply
from doctor.facts.placeholders import placeholders
from doctor.model.facts import Facts
from doctor.model.issues import Recipe


def leaves_open(recipes: Sequence[Recipe], facts: Facts) -> bool:
    """Say whether the first fix that belongs here installs something that it cannot name.

    `<package>`.
    """
    first = next((one for one in recipes if may_apply(one, facts)), None)
    if first is None:
        return False
    names = (name for step in first.steps for name in (*step.install, *step.uninstall))
    return bool(placeholders(names))
