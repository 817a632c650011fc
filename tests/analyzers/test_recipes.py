"""What analyzers recommend is safe if it is pasted literally."""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Iterator

from doctor import analyzers
from doctor.analyzers.recipes import LINUX
from doctor.analyzers.texts import Text
from doctor.model.issues import Recipe
from tests.each import each

_ASKED = re.compile(r"<([\w-]+)>")
_UNIX = {"sh", "ls", "df", "free", "sysctl", "systemctl", "modprobe", "ulimit", "sudo"}
"""Commands that Windows does not have."""


def _recipes(value: object) -> Iterator[Recipe]:
    if isinstance(value, Recipe):
        yield value
    elif isinstance(value, Text):
        yield from value.recipes
    elif isinstance(value, dict):
        for one in value.values():
            yield from _recipes(one)
    elif isinstance(value, tuple):
        for one in value:
            yield from _recipes(one)


def recipes() -> list[tuple[str, Recipe]]:
    """Return the recipes in the modules of analyzers, with the module and the title of each."""
    return [
        (f"{found.name}: {recipe.title}", recipe)
        for found in pkgutil.iter_modules(analyzers.__path__)
        for value in vars(importlib.import_module(f"{analyzers.__name__}.{found.name}")).values()
        for recipe in _recipes(value)
    ]


RECIPES = recipes()


def test_the_recipes_are_found() -> None:
    """The tables of the modules hold them."""
    assert len(RECIPES) > 100


def test_a_recipe_can_be_pasted() -> None:
    """Each placeholder is explained, and no command of Unix is shown for Windows."""
    each(RECIPES, _can_be_pasted)


def _can_be_pasted(recipe: Recipe) -> None:
    words = [
        word
        for step in recipe.steps
        for word in (*step.run, *step.install, *step.env.values(), step.index or "")
    ]
    wanted = {name for word in words for name in _ASKED.findall(word)}
    assert wanted <= recipe.ask.keys()
    unix = any(step.run and (step.run[0] in _UNIX or step.sudo) for step in recipe.steps)
    if unix and "ls" not in [step.run[0] for step in recipe.steps if step.run]:
        assert any(one.fact == LINUX.fact for one in recipe.conditions)
    assert recipe.steps or recipe.snippet


def test_torch_moves_with_its_companions() -> None:
    """A torch of another release beside the old torchvision fails to load."""
    each(RECIPES, _moves_with_its_companions)


def _moves_with_its_companions(recipe: Recipe) -> None:
    for step in recipe.steps:
        if any(re.match(r"torch(?![\w-])", one) for one in step.install):
            assert any("torchvision" in one for one in step.companions)
            assert step.index
