"""Follow a failure that names a package which the failing packages ask for, perhaps in an extra.

Metadata do not complain where an extra is not met: `pip check` passes over it, and the program says
it when it gets there. A name counts only if a package of the traceback or a list of the project has
it as well, so that no text can bring in a package of its own.
https://packaging.python.org/en/latest/specifications/core-metadata/#provides-extra-multiple-use
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from typing import NamedTuple

from doctor.analyzers.advice_texts import wanted_release
from doctor.base.patterns import compile_pattern
from doctor.base.requirements import may_meet, normalize_name
from doctor.base.versions import public
from doctor.fixes import installer
from doctor.model.facts import Facts
from doctor.model.fixes import Step
from doctor.observe.scene import Distribution
from doctor.repair.failures import Failure
from doctor.repair.merging import combined, instead, moved_names, named_in
from doctor.repair.reading import every_line, tops
from doctor.repair.standing import both
from doctor.repair.states import State, Trials

_ASKS = re.compile(
    r"\bpip3? install |\b(?:require[sd]?|need(?:s|ed)?|missing|installed)\b|No module named",
    re.IGNORECASE,
)
_REMOVES = r"\bpip3? uninstall (?:-y )?(?P<name>[A-Za-z0-9][\w.-]{0,100})"
_MOST, _LONGEST = 3, 2000


class Advice(NamedTuple):
    """A package that a failure names, and the releases of it that are asked for."""

    name: str
    specifier: str


def advice(
    failure: Failure, here: Mapping[str, Distribution], listed: Collection[str] = ()
) -> tuple[Advice, ...]:
    """Return the packages that a failure asks for and that are absent, or in another release.

    `here` are the installed packages, `listed` the names in the lists of the project.
    """
    text = failure.error[:_LONGEST]
    if not _ASKS.search(text):
        return ()
    known: dict[str, str] = dict.fromkeys(listed, "")
    for name, specifier in _of_metadata(failure, here):
        known[name] = both(known.get(name, ""), specifier)
    release = wanted_release([text])
    if release is not None:
        name = normalize_name(release.name)
        if name in known or name in here:
            known[name] = both(known.get(name, ""), release.specifier)
    words = normalize_name(text)
    found = []
    for name, specifier in known.items():
        at = here.get(name)
        met = at is not None and may_meet(public(at.version), specifier)
        if not met and re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", words):
            found.append(Advice(name, specifier))
    return tuple(sorted(found, key=lambda one: words.index(one.name)))[:_MOST]


def _of_metadata(failure: Failure, here: Mapping[str, Distribution]) -> Iterator[tuple[str, str]]:
    """Yield what the packages of a traceback ask for, also under an extra."""
    names = {frame.top for frame in failure.every if frame.top}
    for one in here.values() if names else ():
        if not names & tops(one):
            continue
        for line in every_line(one):
            if not line.address:
                yield normalize_name(line.name), line.specifier


def in_its_place(failure: Failure, here: Mapping[str, Distribution]) -> tuple[str, ...]:
    """Return the installed packages that a message says to uninstall, and nobody asks for."""
    pattern = compile_pattern(_REMOVES)
    found = pattern.search(failure.error[:_LONGEST])
    name = normalize_name(found.groups["name"] or "") if found is not None else ""
    if name not in here:
        return ()
    lines = (line for one in here.values() for line in every_line(one))
    if any(normalize_name(line.name) == name and "extra" not in line.marker for line in lines):
        return ()
    return (name,)


def by_advice(
    state: State,
    trials: Trials,
    facts: Facts,
    limits: Mapping[str, str],
    listed: Collection[str],
    held: Collection[str],
) -> State | None:
    """Return a state with a package that the failure asks for; None where none helps.

    `limits` are the specifiers of the project by name, `listed` all names in its lists. What the
    message says to uninstall goes where the package alone does not help.
    """
    moved = moved_names(state.plan)
    for one in advice(state.failure, trials.here, listed):
        if one.name in held or one.name in named_in(state.plan):
            continue
        release = _release(state, trials, one, limits)
        if not release:
            continue
        if found := trials.with_release(state, one.name, release):
            return found
        gone = [
            name
            for name in in_its_place(state.failure, trials.here)
            if name not in {*limits, *listed, *held, *moved}
        ]
        if gone:
            installed = combined(state.plan, trials.plan_of(one.name, release))
            # It goes first: the two may own the same files.
            removals = (Step(command=each) for each in installer.uninstall(gone, facts))
            plan = instead(installed, installed, (*removals, *installed.steps))
            found = trials.ends(plan, f"with {one.name} {release} in place of {gone[0]}")
            if found is not None and trials.is_further(state, found, {one.name, *gone}):
                return found
    return None


def _release(state: State, trials: Trials, one: Advice, limits: Mapping[str, str]) -> str:
    """Return the nearest release that is asked for; empty where there is none."""
    shelf = trials.shelf(state, limits)
    if one.name not in trials.here:
        return shelf.newest(one.name, both(one.specifier, limits.get(one.name, "")))
    for up in (True, False):
        for release in shelf.lines(one.name, up=up):
            if may_meet(release, one.specifier):
                return release
    return ""
