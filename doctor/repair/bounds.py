"""What the project's own lists ask for, and which of it a plan leaves.

A list that the program is installed from leads: `requirements.txt`, `pyproject.toml`, and what they
include. A list for something else (tests, a linter, a baseline) is mentioned where a plan leaves
it, and decides nothing.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from doctor.base.requirements import may_meet, normalize_name
from doctor.base.versions import major, parse, public
from doctor.environments.environment import interpreter_of
from doctor.model.plans import Change, Plan
from doctor.observe.descriptions import TargetError
from doctor.observe.installed.distributions import marker_environment
from doctor.repair.limits import departed
from doctor.repair.lists import Bound, Lists, lists_of
from doctor.repair.requests import Original

_SHOWN, _WORDS = 3, 20


def bounds_of(original: Original, here: Mapping[str, str]) -> tuple[Bound, ...]:
    """Return what the lists of the project ask of installed packages, each line once.

    A list that does not lead counts where the installed release in `here` meets it.
    """
    found: dict[tuple[str, str], Bound] = {}
    for one in project_lists(original).bounds:
        if one.name in here and one.specifier:
            known = found.setdefault((one.name, one.specifier), one)
            best = known if known.leads and not one.forced else one
            found[one.name, one.specifier] = best
    for one in _locked(original):
        if one.name in here:
            found.setdefault((one.name, one.specifier), one)
    return tuple(
        one for one in found.values() if one.leads or is_met(here[one.name], one.specifier)
    )


def absent_bounds(original: Original, here: Mapping[str, str]) -> tuple[Bound, ...]:
    """Return what the leading lists and the lock ask of packages that are not installed."""
    every = (*project_lists(original).bounds, *_locked(original))
    return tuple(one for one in every if one.leads and one.specifier and one.name not in here)


def _locked(original: Original) -> Iterator[Bound]:
    """Yield the releases of the project's lock, which leads as its lists do."""
    fact = original.report.observation.facts.get("project.locked")
    if fact is None or not isinstance(fact.value, dict):
        return
    for name, release in fact.value.items():
        # A local part names an index.
        yield Bound(str(name), f"=={public(str(release))}", Path(fact.source).name, leads=True)


def project_lists(original: Original) -> Lists:
    """Return what the lists of the working folder ask for, and those beside the program.

    That is a file of Python, or a file or folder of the project that the command names (`docs`).
    """
    root, cwd = original.request.check.observe.project.absolute(), original.host.cwd
    words = [word for word in original.request.program[1:] if word and word[0] not in "-/"]
    programs = [cwd / word for word in original.request.program if word.endswith(".py")]
    beside = [path.parent for path in programs if path.is_file()][:1]
    named = [cwd / word for word in words[:_WORDS]]
    beside += [one if one.is_dir() else one.parent for one in named if one.exists()]
    folders = dict.fromkeys(Path(os.path.normpath(one)) for one in (root, *beside))
    try:
        markers = marker_environment(interpreter_of(original.environment))
    except TargetError:
        markers = None
    return lists_of(folders, original.host.env, markers)


def unmet_bounds(original: Original, here: Mapping[str, str]) -> tuple[Bound, ...]:
    """Return what the leading lists ask for and the installed releases do not meet."""
    every = bounds_of(original, here)
    return tuple(one for one in every if one.leads and not is_met(here[one.name], one.specifier))


def unmet_words(bounds: Sequence[Bound], here: Mapping[str, str]) -> tuple[str, ...]:
    """Return a sentence about each bound that the installed release is not in."""
    told = [
        f"{one.source} asks for {one.name}{one.specifier}, and {here[one.name]} is installed."
        for one in bounds
    ]
    more = len(told) - _SHOWN
    return (*told[:_SHOWN], *([f"So it is with {more} more of its lines."] if more > 0 else ()))


def is_met(version: str, specifier: str) -> bool:
    """Return whether a release is in a range; one that nobody can compare is."""
    return may_meet(public(version), specifier)


def wishes_of(original: Original, here: Mapping[str, str]) -> tuple[Bound, ...]:
    """Return what lists for something else ask for, and the installed releases do not meet.

    They decide nothing, but where a program fails on such a package, theirs is the next release to
    try: tests fail on what the extra of the tests pins.
    """
    every = project_lists(original).bounds
    return tuple(
        one
        for one in every
        if not one.leads
        and one.specifier
        and one.name in here
        and not is_met(here[one.name], one.specifier)
    )


def limits_of(bounds: Sequence[Bound], *, forced: bool = False) -> dict[str, str]:
    """Return the specifier for each package that the leading lists name.

    `forced`: only what installers themselves refuse to leave.
    """
    found: dict[str, list[str]] = {}
    for one in bounds:
        if one.leads and (one.forced or not forced):
            found.setdefault(one.name, []).append(one.specifier)
    return {name: ",".join(each) for name, each in found.items()}


def broken(changes: Sequence[Change], bounds: Sequence[Bound]) -> tuple[Bound, ...]:
    """Return what changes leave: bounds that the releases before met and those after do not."""
    after = {
        normalize_name(one.name): one
        for one in changes
        if one.before != one.after and (one.after is None or parse(public(one.after)))
    }
    return tuple(
        one
        for one in bounds
        if (change := after.get(one.name))
        and change.before
        and is_met(change.before, one.specifier)
        and not (change.after and is_met(change.after, one.specifier))
    )


def noted(plan: Plan, bounds: Sequence[Bound]) -> Plan:
    """Return a plan that says which lines of the project it leaves."""
    left = broken(plan.changes, bounds)
    if not left:
        return plan
    after = {normalize_name(one.name): one.after for one in plan.changes}
    words = [
        f"{one.source} asks for {one.name}{one.specifier}, and the plan "
        + (f"installs {after[one.name]}" if after[one.name] else "removes it")
        for one in left[:_SHOWN]
    ]
    led = any(one.leads for one in left)
    text = "; ".join(words) + (": no plan that keeps to it was proved." if led else ".")
    known = {f"{one.name}{one.specifier}" for one in left}
    kept = [note for note in plan.notes if not departed(note) or departed(note) - known]
    return msgspec.structs.replace(plan, notes=tuple(dict.fromkeys((*kept, text))))


def leaves_pins(
    named: Mapping[str, str], limits: Mapping[str, str], here: Mapping[str, str]
) -> bool:
    """Return whether a plan names a release that limits exclude, or moves what they fix.

    `named`, `limits` and `here` have specifiers and installed releases by name.
    """
    for name, limit in limits.items():
        wanted = named.get(name)
        if wanted is None:
            continue
        if name not in here:
            if wanted.startswith("==") and not is_met(wanted[2:], limit):
                return True
            continue
        if not is_met(here[name], limit):
            continue
        fixed = limit.startswith("==") and not (wanted and is_met(here[name], wanted))
        if fixed or (wanted.startswith("==") and not is_met(wanted[2:], limit)):
            return True
    return False


def leaps(changes: Sequence[Change], names: Iterable[str]) -> bool:
    """Return whether changes lift one of the named packages to another major release."""
    named = {*names}
    return any(
        (major(one.after) or 0) > (major(one.before) or 0)
        for one in changes
        if one.before and one.after and normalize_name(one.name) in named
    )
