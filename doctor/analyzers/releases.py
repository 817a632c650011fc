"""Say which releases have something, compare them with what is installed, and write the fixes."""

from __future__ import annotations

from typing import NamedTuple

from packaging.version import Version

from doctor.analyzers.inventory import NAME, Caller, is_version
from doctor.analyzers.recipes import PIN_TORCH, in_fresh_environment
from doctor.model.issues import Action, Option, Recipe
from doctor.timelines import names
from doctor.timelines.names import History

TORCH = frozenset({"torch", "torchvision", "torchaudio", "torchcodec", "triton", "torchtext"})
"""Distributions that move only together with torch."""


class Fit(NamedTuple):
    """How a release stands to what is asked for.

    `way` is "new" (it is gone since), "old" (it is not there yet), "present" (the release has it),
    "never" (no release has it) or "outside" (there are releases without it on both sides).
    `since` and `gone` are minor releases: the first that has it, the first that no longer has it.
    `again` is one that brought it back later.
    """

    way: str
    since: str | None
    gone: str | None
    version: str | None
    distribution: str
    again: str | None = None

    @property
    def requirement(self) -> str:
        """The requirement that the releases with it fulfil."""
        parts = [f">={self.since}" if self.since else "", f"<{self.gone}" if self.gone else ""]
        return self.distribution + ",".join(part for part in parts if part)

    @property
    def have_it(self) -> str:
        """The releases with it, in words."""
        if self.since and self.gone:
            back = f"; {self.again} has it again" if self.again else ""
            return f"{self.since} brought it, and {self.gone} dropped it{back}"
        if self.gone:
            return f"releases before {self.gone} have it"
        return f"releases from {self.since} on have it" if self.since else "each release has it"


def fit(history: History, version: str | None) -> Fit:
    """Compare the releases that have something with the installed one, which may be unknown."""
    distribution = history.distribution
    if not history.present:
        return Fit("never", None, None, version, distribution)
    releases = list(history.releases)
    at = len(history.present) - 1
    if version:
        wanted = Version(version)
        for number, (first, last) in enumerate(history.present):
            if _line(first) <= _pair(wanted) and wanted <= Version(last):
                return Fit("present", None, None, version, distribution)
            if Version(first) > wanted:
                # A gap between two spans: the way back is the smaller one within a major release.
                back = number and _majors(history.present[number - 1][1], version, first)
                at = number - 1 if back else number
                break
    first, last = history.present[at]
    since = None if first == releases[0] else _minor(first)
    gone = None if last == releases[-1] else _bound(last, releases[releases.index(last) + 1])
    if version:
        way = "old" if Version(version) < Version(first) else "new"
    elif len(history.present) > 1 or (since and gone):
        way = "outside"
    else:
        way = "new" if gone else ("old" if since else "present")
    later = history.present[at + 1 :] if version else ()
    return Fit(way, since, gone, version, distribution, _minor(later[0][0]) if later else None)


def _majors(before: str, here: str, after: str) -> bool:
    """Say whether a release is of the major release before it, and not of the one after it."""
    majors = [Version(one).major for one in (before, here, after)]
    return majors[0] == majors[1] != majors[2]


def _bound(last: str, absent: str) -> str:
    """Return below which release a name surely is: releases between two of the data are not known.

    Where a major release lies between them, that is the bound: 4 for 3.50.2 and 4.1.2.
    """
    major = Version(absent).major
    return str(major) if Version(last).major < major else _minor(absent)


def narrowed(found: Fit, history: History, beside: list[History]) -> Fit:
    """Decide the direction by names that the same statement had imported before this one.

    Python imports the names of one statement from left to right, so that the installed release has
    those to the left.
    """
    if found.way != "outside" or not beside:
        return found
    releases = history.releases
    possible = [
        number
        for number in range(len(releases))
        if not _has(history, number) and all(_has(one, number) for one in beside)
    ]
    there = [number for number in range(len(releases)) if _has(history, number)]
    if possible and there and min(possible) > max(there):
        return found._replace(way="new")
    if possible and there and max(possible) < min(there):
        return found._replace(way="old")
    return found


def _has(history: History, number: int) -> bool:
    releases = history.releases
    return any(
        releases.index(first) <= number <= releases.index(last) for first, last in history.present
    )


def _pair(version: Version) -> tuple[int, int]:
    return version.major, version.minor


def _line(version: str) -> tuple[int, int]:
    return _pair(Version(version))


def _minor(version: str) -> str:
    major, minor = _line(version)
    return f"{major}.{minor}" if minor or not major else f"{major}"


def fixes(found: Fit, caller: Caller | None) -> tuple[Recipe, ...]:
    """Return what puts the asked and the asking package right, the better first."""
    newer_caller = _newer(caller, found) if found.way in ("new", "outside", "never") else None
    callee = _keras(found, caller) or _move(found, caller)
    alive = caller is not None and (names.distribution_of(caller.name) in names.covered())
    # A range that lies between two others is right whichever side the installed release is on.
    first = alive and found.way != "outside"
    both = (newer_caller, callee) if first else (callee, newer_caller)
    return tuple(recipe for recipe in both if recipe is not None)


def _newer(caller: Caller | None, found: Fit) -> Recipe | None:
    """Return the recipe for a newer release of the package that asks."""
    if caller is None or caller.kind != "package":
        return None
    distribution = names.distribution_of(caller.name)
    if distribution is None or distribution in TORCH or not NAME.fullmatch(distribution):
        return None
    installed = f"{found.distribution} {found.version}" if found.version else found.distribution
    return Recipe(
        title=f"Take a newer {distribution}, which is made for the installed {found.distribution}",
        use_if=(f"a newer release of {distribution} supports {installed}",),
        steps=(Action(install=(distribution,), options=(Option.UPGRADE, Option.HOLD_TORCH)),),
    )


def _move(found: Fit, caller: Caller | None) -> Recipe | None:
    """Return the recipe for a release of the asked package that has what is asked for."""
    if found.way in ("present", "never") or not (found.since or found.gone):
        return None
    name = found.distribution
    if name in TORCH:
        return _move_torch(found)
    title = {
        "new": f"Go back to a {name} that still has it",
        "old": f"Take a {name} that has it",
        "outside": f"Take a {name} that has it",
    }[found.way]
    conditions: tuple[str, ...] = ()
    if caller is not None and caller.kind == "package" and caller.name != name:
        other = names.distribution_of(caller.name) or caller.name
        if found.way == "new" and NAME.fullmatch(other):
            conditions = (f"{other} has no release for the installed {name}",)
    if name in PIN_TORCH:
        return in_fresh_environment(f"{title}, in an environment of its own", found.requirement)
    return Recipe(
        title=title,
        use_if=conditions,
        steps=(Action(install=(found.requirement,), options=(Option.HOLD_TORCH,)),),
    )


def _keras(found: Fit, caller: Caller | None) -> Recipe | None:
    """Return the recipe for the TensorFlow that comes with Keras 3, which moves by itself no more.

    TensorFlow 2.15 and older want the Keras of their own release, and break beside another one.
    """
    if found.distribution != "keras" or found.way != "old" or found.since != "3":
        return None
    who = caller.name if caller is not None and caller.kind == "package" else "the code"
    return Recipe(
        title="Take a TensorFlow that comes with Keras 3",
        steps=(Action(install=("tensorflow>=2.16", "keras>=3"), options=(Option.HOLD_TORCH,)),),
        note=f"Where TensorFlow has to stay older, its Keras has to stay as well: take the last "
        f"release of {who} from before Keras 3 (November 2023).",
    )


def _beside(distribution: str) -> tuple[str, ...]:
    return ("torchvision", "torchaudio") if distribution == "torch" else ()


def _move_torch(found: Fit) -> Recipe | None:
    """Return the recipe for another torch: what is built for torch has to come along."""
    if found.way == "new" and found.gone:
        return Recipe(
            title=f"Go back to a {found.distribution} that has it, with the torch of its time",
            use_if=("the line that asks for it cannot be changed", "Python is as old as that"),
            note="pip takes the torch that goes with it. Extensions that were compiled for the "
            "newer one have to be installed again.",
            steps=(Action(install=(found.requirement,), companions=_beside(found.distribution)),),
        )
    if found.way != "old" or found.distribution != "torch" or found.gone:
        return None
    return Recipe(
        title=f"Take torch {found.since} or later, with what is built for it",
        note="Extensions that were compiled for the old torch have to be installed again.",
        steps=(
            Action(
                install=(found.requirement,),
                companions=("torchvision", "torchaudio"),
                options=(Option.UPGRADE,),
            ),
        ),
    )


def pinned(distribution: str, version: str) -> str | None:
    """Return the requirement for one release, None where the text is no version."""
    if not is_version(version) or not NAME.fullmatch(distribution):
        return None
    return f"{distribution}=={version}"
