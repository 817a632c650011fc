"""The other way to meet a requirement: the package that asks moves, and what it asks for stays."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from doctor.base.requirements import InvalidRequirement, meets
from doctor.base.versions import parse, public
from doctor.facts.families import Requirement, requirement_of
from doctor.fixes.effect import packages
from doctor.fixes.wishes import CandidateFix, Part
from doctor.model.facts import Facts, value_of
from doctor.model.findings import Detection
from doctor.model.fixes import Fix
from doctor.model.issues import Option


class Way(CandidateFix, frozen=True, kw_only=True):
    """The wish that `asker` moves to a release that takes what is installed, the `held` releases.

    Which release that is, only an installer can tell. `likely` says that this is the better way.
    """

    asker: str
    held: tuple[str, ...]
    likely: bool


def way_of(found: Detection, facts: Facts) -> Way | None:
    """Return the way for the requirements that a finding cites; None where there is none.

    torch and what goes with one torch are moved by the tables alone.
    """
    unmet = list(dict.fromkeys(_unmet(found, facts)))
    here = packages(facts) or {}
    askers = {one.package for one in unmet}
    if len(askers) != 1 or not askers <= here.keys():
        return None
    (asker,) = askers
    if value_of(facts, f"package.{asker}.editable") is not None:
        return None  # it has a source of its own, and no index knows it
    if any(name == "torch" for one in unmet for name in one) or asker.startswith("nvidia-"):
        return None
    if any(one.wanted not in here for one in unmet) or _is_of_one_torch(asker, facts):
        return None
    sides = {_is_above(public(here[one.wanted]), one.text("specifier", facts)) for one in unmet}
    if len(sides) != 1:
        return None
    (upward,) = sides
    release = public(here[asker])
    asked = f"{asker}>={release}" if upward else f"{asker}<{release},{_floor(release)}"
    held = tuple(f"{one.wanted}=={public(here[one.wanted])}" for one in unmet)
    options = (Option.UPGRADE, Option.HOLD_TORCH) if upward else (Option.HOLD_TORCH,)
    taken = " and ".join(one.replace("==", " ") for one in held)
    return Way(
        fix=Fix(kind="upgrade", title=f"Move {asker} to a release that takes {taken}"),
        parts=(Part(asked=(asked,), wanted=(asked, *held), options=options),),
        asker=asker,
        held=held,
        likely=_came_last(asker, unmet, facts, otherwise=upward),
    )


def held_by(wishes: Mapping[str, CandidateFix]) -> dict[str, str]:
    """Return the releases that the ways among wishes hold, as requirements by name."""
    return {
        text.partition("==")[0]: text
        for wish in wishes.values()
        if isinstance(wish, Way)
        for text in wish.held
    }


def _unmet(found: Detection, facts: Facts) -> Iterator[Requirement]:
    for piece in found.evidence:
        pair = requirement_of(piece.fact)
        if pair is not None and pair[1] == "met" and pair[0].is_unmet(facts):
            yield pair[0]


def _is_of_one_torch(package: str, facts: Facts) -> bool:
    """Say whether a package is made for one release of torch, which its metadata may not say."""
    asked = Requirement(package, "torch").text("specifier", facts)
    return asked.startswith("==") or any(name.startswith(f"extension.{package}.") for name in facts)


def _came_last(asker: str, unmet: list[Requirement], facts: Facts, *, otherwise: bool) -> bool:
    """Say whether the package that asks was installed after what it asks for.

    What came last is what departed. `otherwise` counts where the times do not tell: a newer release
    has a wheel for this Python more often than an older one.
    """
    known = [value_of(facts, one.fact("moved")) for one in unmet]
    names = [one.get("package") for one in known if isinstance(one, dict)]
    return all(name == asker for name in names) if names else otherwise


def _is_above(version: str, specifier: str) -> bool:
    """Say whether a version lies above what a specifier takes, not below."""
    at = parse(version)
    for clause in specifier.split(","):
        edge = parse(clause.strip().lstrip("=<>!~ ").removesuffix(".*"))
        try:
            broken = not meets(version, clause.strip())
        except InvalidRequirement:
            continue
        if broken and at is not None and edge is not None and at < edge:
            return False
    return True


def _floor(release: str) -> str:
    """Return the bound below which nothing falls: the major release."""
    parsed = parse(release)
    return f">={parsed.major if parsed else 0}"
