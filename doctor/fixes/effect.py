"""Whether a fix would change anything here.

A requirement that is met already is passed over by every installer.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from doctor.base.requirements import InvalidRequirement, Line, meets, normalize_name, read_line
from doctor.facts.families import requirements
from doctor.facts.placeholders import fill, fill_each
from doctor.model.facts import Facts, value_of
from doctor.model.issues import Action, Option, Recipe


def joined(action: Action, facts: Facts, captures: Mapping[str, str]) -> tuple[str, ...] | None:
    """Return what a step installs, with those companions that are installed already.

    None where a placeholder stays open. A companion may bring a bound for another package:
    `torchaudio torch<=2.14.1`. Where nobody could list the packages, companions stay out: most of
    them would be new there.
    """
    here = packages(facts) or {}
    present = tuple(
        part for one in action.companions if name_of(one) in here for part in one.split()
    )
    return fill_each((*action.install, *present), facts, captures)


def unlisted(recipe: Recipe, facts: Facts) -> tuple[str, ...]:
    """Return the companions of which nobody could say whether they are installed."""
    if packages(facts) is not None:
        return ()
    named = (name_of(one) for action in recipe.steps for one in action.companions)
    return tuple(dict.fromkeys(named))


def changes(action: Action, facts: Facts, captures: Mapping[str, str]) -> bool:
    """Return whether a step would change anything.

    True where nobody looked, or only an installer can tell.
    """
    if action.run or action.system or action.edit:
        return True
    wanted = joined(action, facts, captures) or ()
    unwanted = fill_each(action.uninstall, facts, captures) or ()
    if not (wanted or unwanted):
        return any(
            value_of(facts, f"env.{name}") != fill(value, facts, captures)
            for name, value in action.env.items()
        )
    here = packages(facts)
    if here is None or (Option.REINSTALL in action.options and wanted):
        return True
    moved = any(_moves(one, action.options, here) for one in wanted)
    lacking = Option.NO_DEPS not in action.options and _lacks(wanted, facts)
    return moved or lacking or any(name_of(name) in here for name in unwanted)


def pinned_by(recipe: Recipe, facts: Facts, captures: Mapping[str, str]) -> tuple[str, ...]:
    """Return who asks for exactly the installed release of what a recipe moves, a sentence each."""
    here, moved, names = packages(facts) or {}, dict[str, str](), set[str]()
    for action in recipe.steps:
        for one in joined(action, facts, captures) or ():
            names.add(name_of(one))
            line = _line(one)
            name = normalize_name(line.name) if line else ""
            if name in here and _moves(one, action.options, here):
                moved[name] = here[name]
    if not moved:
        return ()
    return tuple(
        f"{wish.package} asks for {wish.wanted}=={moved[wish.wanted]} and has to move as well"
        for wish in requirements(facts, "specifier")
        if wish.wanted in moved
        and wish.package not in names
        and wish.text("specifier", facts) == f"=={moved[wish.wanted]}"
    )


def is_idle(recipe: Recipe, facts: Facts, captures: Mapping[str, str]) -> bool:
    """Return whether a recipe that installs something would change nothing here."""
    if any(not (one.install or one.uninstall) for one in recipe.steps):
        return False
    filled = [joined(one, facts, captures) for one in recipe.steps]
    return (
        None not in filled
        and any(filled)
        and not any(changes(one, facts, captures) for one in recipe.steps)
    )


def packages(facts: Facts) -> Mapping[str, str] | None:
    """Return every distribution and its version; None where nobody could list them."""
    listed = value_of(facts, "packages")
    return listed if isinstance(listed, dict) else None


def _moves(requirement: str, options: Sequence[Option], here: Mapping[str, str]) -> bool:
    line = _line(requirement)
    if line is None or line.address or line.extras or normalize_name(line.name) not in here:
        return True
    if Option.UPGRADE in options and not line.specifier.startswith("=="):
        return True
    try:
        return not meets(here[normalize_name(line.name)], line.specifier)
    except InvalidRequirement:
        return True


def _lacks(wanted: Sequence[str], facts: Facts) -> bool:
    """Say whether what is wanted, or what that asks for, asks for something that is not here.

    An installer then brings it.
    """
    asked: dict[str, list[tuple[str, bool]]] = {}
    for wish in requirements(facts):
        asked.setdefault(wish.package, []).append((wish.wanted, wish.is_unmet(facts)))
    known, new = set[str](), {name_of(one) for one in wanted}
    while new:
        known |= new
        if any(unmet for name in new for _, unmet in asked.get(name, ())):
            return True
        new = {other for name in new for other, _ in asked.get(name, ())} - known
    return False


def _line(requirement: str) -> Line | None:
    try:
        return read_line(requirement)
    except InvalidRequirement:
        return None


def name_of(requirement: str) -> str:
    """Return the normalized name that a requirement begins with; empty where there is none."""
    found = re.match(r"[A-Za-z0-9][A-Za-z0-9._-]*", requirement)
    return normalize_name(found[0]) if found else ""
