"""Let the log choose among the fixes of a known issue."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from doctor.judge.match.signatures import Text, holds
from doctor.model.issues import Recipe
from doctor.model.observation import Log


def confirmed_first(recipes: Sequence[Recipe], texts: Iterable[Text]) -> tuple[Recipe, ...]:
    """Return the fixes that these texts leave possible, those that they confirm first.

    A text that confirms a fix answers its sentences, so that only conditions over facts remain.
    """
    searched = list({text.body: text for text in texts}.values())
    if not searched:
        return tuple(recipes)
    confirmed: list[Recipe] = []
    others: list[Recipe] = []
    for recipe in recipes:
        if _any(recipe.unless, searched):
            continue
        if _any(recipe.shown, searched):
            confirmed.append(msgspec.structs.replace(recipe, use_if=recipe.conditions))
        else:
            others.append(recipe)
    return (*confirmed, *others)


def is_shown(recipe: Recipe, log: Log) -> bool:
    """Say whether a log shows one of the signs of a fix."""
    return _any(recipe.shown, (Text(log.source, "\n".join(log.lines), log=log),))


def _any(patterns: Sequence[str], texts: Sequence[Text]) -> bool:
    return any(holds(pattern, text) for pattern in patterns for text in texts)
