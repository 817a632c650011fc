"""The fixes of a finding as data: what to install, to remove, to set and to run.

A plan for several findings puts them together and writes the commands anew.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from doctor.facts.placeholders import fill, fill_each
from doctor.fixes.effect import joined, name_of
from doctor.fixes.prescribe import fitting_recipes, in_workspace, standing, steps_of, write
from doctor.model.facts import Facts, value_of
from doctor.model.findings import Detection
from doctor.model.fixes import Fix, Step
from doctor.model.issues import Action, Option


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """One step of a wish, placeholders filled: packages, or other steps as they are written.

    `asked` are the requirements of the author, `wanted` those with the installed companions.
    """

    asked: tuple[str, ...] = ()
    wanted: tuple[str, ...] = ()
    unwanted: tuple[str, ...] = ()
    options: tuple[Option, ...] = ()
    index: str | None = None
    find_links: str | None = None
    build: Mapping[str, str] = msgspec.field(default_factory=dict)
    env: Mapping[str, str] = msgspec.field(default_factory=dict)
    steps: tuple[Step, ...] = ()


class CandidateFix(msgspec.Struct, frozen=True, kw_only=True):
    """One fix that applies here and changes something: for a reader, and in its parts."""

    fix: Fix
    parts: tuple[Part, ...]

    @property
    def is_for_human(self) -> bool:
        """Return whether a person has to put something in, or to read code."""
        return bool(self.fix.asks or self.fix.snippet is not None)


def wishes_for(found: Detection, facts: Facts) -> tuple[CandidateFix, ...]:
    """Return the fixes of a finding as wishes, in the order of `fixes_for`."""
    workspace = value_of(facts, "cargo.workspace")
    wishes = []
    for recipe in fitting_recipes(found, facts):
        fix = write(recipe, facts, found.captures)
        if fix is None:
            continue
        parts = [_part(action, facts, found.captures) for action in recipe.steps]
        if workspace:
            fix = in_workspace(fix, str(workspace))
            parts = [
                msgspec.structs.replace(
                    part,
                    steps=tuple(standing(step, str(workspace)) for step in part.steps),
                )
                for part in parts
            ]
        wishes.append(CandidateFix(fix=fix, parts=tuple(parts)))
    return tuple(wishes)


def _part(action: Action, facts: Facts, captures: Mapping[str, str]) -> Part:
    """Return the parts of an action; `write` has shown that each placeholder can be filled."""
    env = {name: fill(value, facts, captures) or "" for name, value in action.env.items()}
    if not (action.install or action.uninstall):
        steps = steps_of(action, facts, captures) or []
        only_env = not (action.run or action.system or action.edit)
        return Part(steps=tuple(steps), env=env if only_env else {})
    return Part(
        asked=fill_each(action.install, facts, captures) or (),
        wanted=joined(action, facts, captures) or (),
        unwanted=_names(fill_each(action.uninstall, facts, captures) or ()),
        options=action.options,
        index=fill(action.index, facts, captures) if action.index else None,
        find_links=fill(action.find_links, facts, captures) if action.find_links else None,
        build=action.build,
        env=env,
    )


def _names(requirements: tuple[str, ...]) -> tuple[str, ...]:
    """Return bare names: pip also takes `name==1.0` where it uninstalls."""
    return tuple(name_of(one) for one in requirements)
