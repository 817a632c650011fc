"""What the project's own lists ask for, and which of it a plan leaves.

A list that the program is installed from leads: `requirements.txt`, `pyproject.toml`, and what they
include. A list for something else (tests, a linter, a baseline) is mentioned where a plan leaves
it, and decides nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import PurePosixPath
from typing import NamedTuple

import msgspec

from doctor.base.errors import DoctorError
from doctor.base.requirements import may_meet, normalize_name
from doctor.base.versions import major, parse, public
from doctor.host import Host
from doctor.model.facts import value_of
from doctor.model.plans import Change, Plan
from doctor.planning.requests_solver import Wish
from doctor.repair.request_files import from_file
from doctor.repair.requests import Original

_OF_OTHERS = re.compile(
    r"(?:^|[^a-z])(?:dev|tests?|testing|lint|docs?|ci|build|baselines?|examples?|legacy|old"
    r"|tools?|typing|bench(?:mark)?s?|optional|extras?)(?:[^a-z]|$)"
)
_LISTS = (".txt", ".in")
_MOST, _SHOWN = 12, 3


class Bound(NamedTuple):
    """What a line asks of a package: a specifier, and where it stands; `leads`: it decides."""

    name: str
    specifier: str
    source: str
    leads: bool


def bounds_of(original: Original, here: Mapping[str, str]) -> tuple[Bound, ...]:
    """Return what the lists of the project ask of installed packages, each line once.

    Of lines that ask different things of one package, for one Python or another, those count that
    the installed release in `here` meets.
    """
    found: dict[tuple[str, str], Bound] = {}
    for one in _bounds(original):
        if one.name in here and one.specifier:
            known = found.setdefault((one.name, one.specifier), one)
            found[one.name, one.specifier] = known if known.leads else one
    return tuple(
        one
        for one in found.values()
        if is_met(here[one.name], one.specifier)
        or sum(other.name == one.name for other in found.values()) == 1
    )


def _bounds(original: Original) -> Iterator[Bound]:
    root = original.request.check.observe.project.absolute()
    host = Host(env=original.host.env, cwd=root)
    listed = value_of(original.report.observation.facts, "project.manifests")
    names = [str(one) for one in listed] if isinstance(listed, list | tuple) else []
    for name in [one for one in names if _is_list(one)][:_MOST]:
        wishes = list[Wish]()
        with suppress(DoctorError):
            wishes += from_file(root / name, host)
        for one in wishes:
            yield Bound(one.name, one.specifier, one.source, not _OF_OTHERS.search(name.lower()))


def _is_list(name: str) -> bool:
    path = PurePosixPath(name)
    return path.name == "pyproject.toml" or (
        path.suffix in _LISTS and "require" in name and "constraint" not in name
    )


def is_met(version: str, specifier: str) -> bool:
    """Return whether a release is in a range; one that nobody can compare is."""
    return may_meet(public(version), specifier)


def limits_of(bounds: Sequence[Bound]) -> dict[str, str]:
    """Return the specifier for each package that the leading lists name."""
    found: dict[str, list[str]] = {}
    for one in bounds:
        if one.leads:
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
    return msgspec.structs.replace(plan, notes=tuple(dict.fromkeys((*plan.notes, text))))


def leaves_pins(
    named: Mapping[str, str], limits: Mapping[str, str], here: Mapping[str, str]
) -> bool:
    """Return whether a plan names a release that limits exclude, or moves what they fix.

    `named`, `limits` and `here` have specifiers and installed releases by name.
    """
    for name, limit in limits.items():
        wanted = named.get(name)
        if wanted is None or not is_met(here[name], limit):
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
