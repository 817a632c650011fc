"""Whether a fix would change anything here: a requirement that is met already is passed over by every installer."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from doctor.base.requirements import InvalidRequirement, Line, meets, normalize_name, read_line
from doctor.facts.placeholders import fill, fill_each
from doctor.model.facts import Facts, value_of
from doctor.model.issues import Recipe

_PARTS = 3


def joined(recipe: Recipe, facts: Facts, captures: Mapping[str, str]) -> tuple[str, ...] | None:
    """Return what a recipe installs, with those companions that are here.

    None where a placeholder of these stays open.

    A companion may bring a bound for another package: `torchaudio torch<=2.14.1`. Where nobody
    could look what is installed, companions stay out: most of them would be new there.
    """
    here = packages(facts) or {}
    present = tuple(part for one in recipe.companions if _name(one) in here for part in one.split())
    return fill_each((*recipe.install, *present), facts, captures)


def unlisted(recipe: Recipe, facts: Facts) -> tuple[str, ...]:
    """Name the companions of which nobody could say whether they are installed."""
    return () if packages(facts) is not None else tuple(_name(one) for one in recipe.companions)


def changes(recipe: Recipe, wanted: Sequence[str], unwanted: Sequence[str], facts: Facts) -> bool:
    """Say whether a recipe does anything where these packages are.

    True where nobody looked, or only an installer can tell.
    """
    if recipe.run or recipe.system or recipe.edit:
        return True
    if recipe.env and not (wanted or unwanted):
        return any(
            value_of(facts, f"env.{name}") != fill(value, facts, {})
            for name, value in recipe.env.items()
        )
    here = packages(facts)
    if here is None or ("reinstall" in recipe.options and wanted):
        return True
    moved = any(_moves(one, recipe.options, here) for one in wanted) or (
        "no-deps" not in recipe.options and _lacks(wanted, facts)
    )
    return moved or any(_name(name) in here for name in unwanted)


def pinned_by(recipe: Recipe, facts: Facts, captures: Mapping[str, str]) -> tuple[str, ...]:
    """Name who asks for exactly the release that is here of what a recipe moves, and would not find it any more."""
    here, moved, wanted = (
        packages(facts) or {},
        dict[str, str](),
        joined(recipe, facts, captures) or (),
    )
    for one in wanted:
        if (
            (line := _line(one)) is not None
            and normalize_name(line.name) in here
            and _moves(one, recipe.options, here)
        ):
            moved[normalize_name(line.name)] = here[normalize_name(line.name)]
    names = {_name(one) for one in wanted}
    told = list[str]()
    for name in facts:
        _, package, other, rest = (
            name.split(".", 3)
            if name.startswith("requires.") and name.count(".") == _PARTS
            else ("", "", "", "")
        )
        if (
            rest == "specifier"
            and other in moved
            and package not in names
            and value_of(facts, name) == f"=={moved[other]}"
        ):
            told.append(f"{package} asks for {other}=={moved[other]} and has to move as well")
    return tuple(told)


def is_idle(recipe: Recipe, facts: Facts, captures: Mapping[str, str]) -> bool:
    """Say whether a recipe that installs something would change nothing here."""
    wanted, unwanted = joined(recipe, facts, captures), fill_each(recipe.uninstall, facts, captures)
    return (
        bool(wanted)
        and wanted is not None
        and unwanted is not None
        and not changes(recipe, wanted, unwanted, facts)
    )


def packages(facts: Facts) -> Mapping[str, str] | None:
    """Return every distribution and its version; None where nobody could list them."""
    listed = value_of(facts, "packages")
    return listed if isinstance(listed, dict) else None


def _moves(requirement: str, options: Sequence[str], here: Mapping[str, str]) -> bool:
    line = _line(requirement)
    if line is None or line.address or line.extras or normalize_name(line.name) not in here:
        return True
    if "upgrade" in options and not line.specifier.startswith("=="):
        return True
    try:
        return not meets(here[normalize_name(line.name)], line.specifier)
    except InvalidRequirement:
        return True


def _lacks(wanted: Sequence[str], facts: Facts) -> bool:
    """Say whether what is wanted, or what that asks for, asks for something that is not here: an installer then brings it."""
    asked: dict[str, list[tuple[str, bool]]] = {}
    for name in facts:
        if name.startswith("requires.") and name.endswith(".met"):
            _, package, other, _ = (
                name.split(".", 3) if name.count(".") == _PARTS else ("", "", "", "")
            )
            asked.setdefault(package, []).append((other, value_of(facts, name) is False))
    known, new = set[str](), {_name(one) for one in wanted}
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


def _name(requirement: str) -> str:
    found = re.match(r"[A-Za-z0-9][A-Za-z0-9._-]*", requirement)
    return normalize_name(found[0]) if found else ""
