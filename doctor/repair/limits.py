"""Keep plans to what the project pins, locks and allows, and off installs of sources."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from doctor.base.requirements import (
    InvalidRequirement,
    may_meet,
    normalize_name,
    read_line,
)
from doctor.base.versions import parse, public
from doctor.environments.environment import Environment
from doctor.fixes.environments import closed
from doctor.fixes.installer import install
from doctor.fixes.lines import command_line
from doctor.model.facts import Facts, value_of
from doctor.model.fixes import Step
from doctor.model.issues import Option
from doctor.model.plans import Change, Plan
from doctor.observe.installed.distributions import (
    installed,
    plain_requirements,
    todays_requirements,
)
from doctor.observe.installed.editables import folder_of
from doctor.repair.links import of_index
from doctor.repair.standing import asked_releases

_MOST = 3
_ASKS, _LEFT = "The project asks for ", ", which this plan does not keep to."


def within_limits(plans: Sequence[Plan], facts: Facts, environment: Environment) -> list[Plan]:
    """Return plans that take no install of a source from an index, those that keep the pins first.

    One that moves a package away from what the project asks for says so in a note.
    """
    usable = without_sources(plans, environment)
    told = [(departures(one, facts), one) for one in usable]
    return [one for why, one in told if not why] + [_noted(one, why) for why, one in told if why]


def without_sources(plans: Sequence[Plan], environment: Environment) -> tuple[Plan, ...]:
    """Return plans that take from an index nothing that came from a folder or an address."""
    own = sourced(environment)
    return tuple(one for one in plans if not own.intersection(of_index(one)))


def sourced(environment: Environment) -> frozenset[str]:
    """Return the packages that came from a folder or an address (PEP 610), not from an index."""
    found = installed([str(folder) for folder in environment.folders])
    return frozenset(one.name for one in found if one.direct_url)


def departures(plan: Plan, facts: Facts) -> tuple[str, ...]:
    """Return what the project pins, locks or allows and a plan does not keep to."""
    listed = value_of(facts, "project.ranges")
    ranges = listed if isinstance(listed, dict) else {}
    asked = asked_releases(facts)
    return tuple(text for one in plan.changes for text in _broken(one, asked, ranges))


def _broken(change: Change, asked: dict[str, str], ranges: dict[str, object]) -> Iterator[str]:
    name, after = normalize_name(change.name), public(change.after or "")
    release = parse(after)
    if change.before == change.after or (change.after is not None and release is None):
        return  # nothing moves, or the installer chooses
    if name in asked and release != parse(public(asked[name])):
        yield f"{name}=={asked[name]}"
    elif (limit := ranges.get(name)) and not (after and may_meet(after, str(limit))):
        before = public(change.before or "")
        if not before or may_meet(before, str(limit)):
            yield f"{name}{limit}"


def _noted(plan: Plan, why: Sequence[str]) -> Plan:
    text = f"{_ASKS}{', '.join(why[:_MOST])}{_LEFT}"
    return msgspec.structs.replace(plan, notes=tuple(dict.fromkeys((*plan.notes, text))))


def departed(note: str) -> frozenset[str]:
    """Return what a note says that a plan leaves; nothing for a note about something else."""
    if not (note.startswith(_ASKS) and note.endswith(_LEFT)):
        return frozenset()
    return frozenset(note.removeprefix(_ASKS).removesuffix(_LEFT).split(", "))


def stale_metadata(environment: Environment, facts: Facts) -> Iterator[str]:
    """Yield a sentence for each editable install whose metadata differ from its project today."""
    for one in installed([str(folder) for folder in environment.own_folders]):
        today = todays_requirements(one)
        if today is None or _read(today) == _read(plain_requirements(one)):
            continue
        text = f"{one.name} is an editable install, and its metadata are of an older checkout."
        if closed(facts):
            yield text
            continue
        folder = str(Path(folder_of(one.direct_url)))
        (*_, command) = install(["-e", folder], [Option.NO_DEPS], None, facts)
        yield f"{text} This renews them, and moves nothing: {command_line(Step(command=command))}"


def _read(texts: Sequence[str]) -> frozenset[tuple[str, frozenset[str], str]]:
    """Return requirements by name, clauses and marker, however they are written."""
    found = set()
    for text in texts:
        try:
            line = read_line(text)
        except InvalidRequirement:
            continue
        clauses = frozenset(one.strip() for one in line.specifier.split(",") if one.strip())
        marker = line.marker.replace("'", '"').replace(" ", "")
        found.add((normalize_name(line.name), clauses, marker))
    return frozenset(found)
