"""The plan that moves the fewest packages, and each of them no farther than it has to go.

The installer gets every package that stays as a requirement, at the release that is here. So its
answer suits all of them. What came last is what departed, so it moves first. Downwards the newest
release that fits is the nearest; upwards it is the last patch of the lowest line that fits.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import NamedTuple

import msgspec

from doctor.base.requirements import InvalidRequirement, may_meet, normalize_name, read_line
from doctor.base.versions import parse, public
from doctor.environments.answers import Resolution
from doctor.environments.environment import Environment
from doctor.environments.installer import dry_run
from doctor.fixes import installer
from doctor.fixes.environments import above, above_note, closed
from doctor.host import Host
from doctor.model.facts import Facts
from doctor.model.findings import Finding
from doctor.model.fixes import Command, Fix, Step
from doctor.model.plans import Plan
from doctor.model.report import Report
from doctor.repair import commands
from doctor.repair.commands import Kind, Task
from doctor.repair.merging import combined, install_of, name_in, uninstalled
from doctor.repair.new_environment import beginning, tasks_of
from doctor.repair.reading import OF_PROJECT, Unmet, packages_of
from doctor.repair.requests import actionable
from doctor.repair.standing import (
    InstalledReleases,
    asked_by_project,
    both,
    is_later,
    is_same_release,
    line_of,
    standing_of,
)

_MOST_EDGES, _MOST_TRIES, _MOST_HELD, _SECONDS = 10, 5, 1000, 60.0
_AGAINST_TIME = 1.5
"""What it costs to move a package that came before the one that it does not fit."""
_TOGETHER = 1.0
"""Seconds between two packages of one installation."""


class Demand(NamedTuple):
    """What a fix wants of versions: specifiers by name; `newer` are to leave their release."""

    specifiers: Mapping[str, str]
    newer: frozenset[str]


def nearest(
    report: Report,
    concerned: Sequence[Unmet],
    problems: Sequence[Unmet],
    environment: Environment,
    host: Host,
    *,
    times: Mapping[str, float] | None = None,
    held: frozenset[str] = frozenset(),
) -> Plan | None:
    """Return the plan of the fewest and shortest moves; None where there is none without torch.

    `concerned` are the requirements to meet, `problems` all that are not met. `times` say when
    packages were installed, where the environment itself cannot tell. `held` packages do not move.
    """
    standing = standing_of(environment)
    if times:
        standing = standing._replace(times={**standing.times, **times})
    search = _Nearest(report, concerned, problems, environment, host, standing, held)
    return search.plan()


class _Nearest:
    def __init__(
        self,
        report: Report,
        concerned: Sequence[Unmet],
        problems: Sequence[Unmet],
        environment: Environment,
        host: Host,
        standing: InstalledReleases,
        held: frozenset[str],
    ) -> None:
        self._report, self._environment, self._host = report, environment, host
        self._standing = standing
        self._edges = tuple(concerned)[:_MOST_EDGES]
        apart = {one.text for one in concerned}
        self._loose = {one.package for one in problems if one.text not in apart}
        self._found = actionable(report)
        self._held, self._again = held, frozenset[str]()
        self._facts: Facts = report.observation.facts
        self._asked = asked_by_project(self._facts, standing.here)

    def plan(self) -> Plan | None:
        """Return the first set of moves that the installer can carry out."""
        other, solved = self._without_moves()
        self._again = frozenset(
            normalize_name(name_in(text))
            for install in map(install_of, other.steps)
            for text in (install.requirements if install else ())
        )
        if gone := {name for step in other.steps for name in uninstalled(step)}:
            # What goes need not find what it asks for, and a failure inside of what its files lay
            # over shows nothing yet.
            self._edges = tuple(one for one in self._edges if one.package not in gone)
            away = {f"requires/{name}" for name in gone}
            self._found = tuple(
                one
                for one in self._found
                if one.id in solved or not (one.id in away or one.id.startswith("failure/"))
            )
        for cover in self._covers():
            demands = self._demands(cover)
            if demands is None:
                continue
            movers = cover | demands.specifiers.keys()
            if movers & self._standing.sourced:
                continue
            if not movers:
                return self._written({}, movers, other, solved) if other.steps else None
            releases = self._releases(movers, demands)
            if releases is not None:
                return self._written(releases, movers, other, solved)
        return None

    def _covers(self) -> Sequence[frozenset[str]]:
        """Return sets of packages that meet every requirement if they move, the cheapest first."""
        ways = [(edge.package, edge.wanted) for edge in self._edges if edge.here]
        found = {self._with_absent(frozenset(chosen)) for chosen in product(*ways)}
        priced = {one: self._price(one) for one in found if not one & self._held}
        ordered = sorted(priced, key=lambda one: (priced[one], sorted(one)))
        return ordered[:_MOST_TRIES]

    def _with_absent(self, cover: frozenset[str]) -> frozenset[str]:
        """Return a cover with what is missing, but for packages whose other release may not ask."""
        missing = [edge for edge in self._edges if not edge.here and edge.package not in cover]
        return cover | {edge.wanted for edge in missing}

    def _price(self, cover: frozenset[str]) -> float:
        return sum(1.0 + (0.0 if self._is_late(name) else _AGAINST_TIME) for name in cover)

    def _is_late(self, name: str) -> bool:
        """Say whether a package came after one that it does not fit, or is not here."""
        times, pairs = self._standing.times, [(one.package, one.wanted) for one in self._edges]
        if name not in self._standing.here or name in self._asked:
            return True
        return any(
            times.get(name, 0.0) > times.get(pair[1 - pair.index(name)], 0.0) + _TOGETHER
            for pair in pairs
            if name in pair
        )

    def _demands(self, cover: frozenset[str]) -> Demand | None:
        """Return what the findings want of versions, beside a cover; None where they disagree."""
        wanted: dict[str, str] = {}
        newer = set[str]()
        for found in self._found:
            of_package = found.id.startswith("requires/") and found.id != OF_PROJECT
            if of_package or packages_of(found) <= self._again:
                continue
            if away := packages_of(found) & self._asked.keys() & self._standing.here.keys():
                # What left the release that the project asks for is the first to be suspected.
                wanted |= {name: f"=={self._asked[name]}" for name in away}
                continue
            certain, unsure = self._options(found)
            options = certain or (() if packages_of(found) & (cover | wanted.keys()) else unsure)
            if not options:
                continue
            best = min(options, key=lambda one: self._age(one, cover))
            for name, specifier in best.specifiers.items():
                wanted[name] = both(wanted.get(name, ""), specifier)
            newer |= best.newer
        heavy = any(_is_heavy(name) for name in (*wanted, *cover))
        return None if heavy else Demand(wanted, frozenset(newer))

    def _age(self, option: Demand, cover: frozenset[str]) -> tuple[int, float, int]:
        """Return an order: no further package, then what came last, then a range, not a release."""
        times = self._standing.times
        latest = max((times.get(name, 0.0) for name in option.specifiers), default=0.0)
        fixed = sum(one.startswith("==") for one in option.specifiers.values())
        return len(option.specifiers.keys() - cover), -latest, fixed

    def _options(self, found: Finding) -> tuple[tuple[Demand, ...], tuple[Demand, ...]]:
        """Return what the fixes of a finding want of versions: for certain, and on a condition."""
        certain, unsure = list[Demand](), list[Demand]()
        for fix in found.fixes:
            tasks = self._tasks(fix)
            kinds = {one.kind for one in tasks}
            if not fix.safe or Kind.INSTALL not in kinds or kinds - {Kind.INSTALL, Kind.REMOVE}:
                continue
            installs = [one.step for one in tasks if one.kind is Kind.INSTALL]
            demand = None if _uninstalls(fix.steps) else self._demand(installs)
            if demand is None or demand.specifiers.keys() & self._held:
                continue
            if not demand.specifiers:
                return (), ()  # it is met by the releases that are here: their files are the matter
            (unsure if fix.use_if else certain).append(demand)
        return tuple(certain[:1]), tuple(unsure)

    def _demand(self, steps: Sequence[Step]) -> Demand | None:
        wanted: dict[str, str] = {}
        newer = set[str]()
        for step in steps:
            install = install_of(step)
            if install is None:
                return None
            upgrade = any(word.startswith("--upgrade") for word in install.head)
            for text in install.requirements:
                try:
                    line = read_line(text)
                except InvalidRequirement:
                    return None
                name = normalize_name(line.name)
                here = public(self._standing.here.get(name, ""))
                if line.address:
                    return None
                if upgrade and here and not line.specifier.startswith("=="):
                    newer.add(name)
                    wanted[name] = both(line.specifier, f">{here}")
                elif not here or not may_meet(here, line.specifier):
                    wanted[name] = line.specifier
        return Demand(wanted, frozenset(newer))

    def _releases(self, movers: frozenset[str], demands: Demand) -> Mapping[str, str] | None:
        """Return the nearest release of each package that moves, by the word of the installer."""
        texts = {name: demands.specifiers.get(name, "") for name in movers}
        if movers & self._asked.keys():
            locked = {name: f"=={self._asked[name]}" for name in movers & self._asked.keys()}
            if (chosen := self._ask({**texts, **locked})) is not None:
                return chosen
        newest = self._ask(self._near(texts, demands)) if demands.newer else None
        newest = newest or self._ask(texts)
        if newest is None:
            return None
        here = self._standing.here
        up = {
            name: release
            for name, release in newest.items()
            if name in here and name not in demands.newer and is_later(release, here[name])
        }
        if not up or not self._has_uv():
            return newest
        fixed = {name: f"=={newest[name]}" for name in newest.keys() - up.keys()}
        # An old release that asks for less than a later one does is no way out.
        later = {name: both(texts[name], f">{public(here[name])}") for name in up}
        lowest = self._ask({**fixed, **later}, "lowest-direct")
        if lowest is None:
            return newest
        lines = {name: both(texts[name], line_of(lowest[name])) for name in up}
        return self._ask({**fixed, **lines}) or lowest

    def _near(self, texts: Mapping[str, str], demands: Demand) -> Mapping[str, str]:
        """Return requirements that keep what is to be newer within its major release."""
        here = {name: parse(public(self._standing.here.get(name, ""))) for name in demands.newer}
        ends = {name: f"<{release.major + 1}" for name, release in here.items() if release}
        return {name: both(one, ends.get(name, "")) for name, one in texts.items()}

    def _has_uv(self) -> bool:
        return self._host.which("uv") is not None

    def _ask(self, movers: Mapping[str, str], order: str = "") -> Mapping[str, str] | None:
        """Return what the installer chooses for movers while everything else stays."""
        standing = self._standing
        held = [
            f"{name}=={version}"
            for name, version in standing.here.items()
            if name not in movers and name not in self._loose | standing.own and name != "pip"
        ][:_MOST_HELD]
        texts = [f"{name}{specifier}" for name, specifier in movers.items()]
        python = installer.python(self._facts)
        if self._has_uv():
            flags = ["--break-system-packages", *(("--resolution", order) if order else ())]
            head = ("uv", "pip", "install", "--python", python, *flags)
        else:
            head = (python, "-m", "pip", "install", "--break-system-packages")
        command = Command(argv=(*head, *held, *texts))
        answer = dry_run(command, self._host, sizes=False, timeout=_SECONDS)
        if not isinstance(answer, Resolution) or answer.builds:
            return None
        # uv would install once more what it does not see in a lower environment.
        moved = {
            one.name: one.after
            for one in answer.changes
            if one.after and one.after != standing.here.get(one.name)
        }
        if any(name in standing.here and name not in movers for name in moved):
            return None
        asked = {name: one for name, one in self._asked.items() if name not in standing.here}
        other = {
            name: f"=={asked[name]}"
            for name, release in moved.items()
            if name in asked and name not in movers and not is_same_release(release, asked[name])
        }
        if other:  # it comes along, and the project pins another release of it
            return self._ask({**movers, **other}, order)
        # What does not move although it should is no way out.
        return {name: moved.get(name) or public(standing.here.get(name, "")) for name in movers}

    def _written(
        self,
        releases: Mapping[str, str],
        movers: frozenset[str],
        other: Plan,
        solved: frozenset[str],
    ) -> Plan | None:
        here = self._standing.here
        texts = [
            f"{name}=={release}"
            for name, release in sorted(releases.items())
            if release and release != public(here.get(name, ""))
        ]
        if not texts and not other.steps:
            return None
        facts, first, notes = self._facts, tuple[Step, ...](), tuple[str, ...]()
        if why := closed(facts):
            facts, first = above(facts)
            notes = (above_note(why),)
        made = installer.install_set(texts, facts) if texts else ()
        steps = tuple(Step(command=one) for one in made)
        ended = [one.id for one in self._found if one.id in solved or packages_of(one) & movers]
        plan = Plan(
            title="",
            steps=(*first, *steps),
            notes=notes,
            solves=tuple(dict.fromkeys(ended)),
            leaves=tuple(dict.fromkeys(one.id for one in self._found if one.id not in ended)),
        )
        return combined(plan, other) if other.steps else plan

    def _tasks(self, fix: Fix) -> tuple[Task, ...]:
        """Return the steps of a fix, but for those that make a new environment."""
        made = beginning(fix.steps)
        if made:
            return tasks_of(fix.steps, self._environment)[len(made) :]
        return tuple(commands.task(step, self._environment) for step in fix.steps)

    def _without_moves(self) -> tuple[Plan, frozenset[str]]:
        """Return the fixes that move no version, as a plan, and the findings that they end."""
        plan, ended = Plan(title=""), set[str]()
        last = list[Step]()
        for found in self._found:
            for fix in found.fixes:
                tasks = self._tasks(fix)
                steps, kinds = [one.step for one in tasks], {one.kind for one in tasks}
                if not fix.safe or fix.use_if or not kinds:
                    continue
                # What shares its files with another package goes before that one is written again.
                written = [step for step in steps if not _uninstalls([step])]
                demand = self._demand(written) if kinds == {Kind.INSTALL} and written else None
                removals = [one.step for one in tasks if one.kind is Kind.REMOVE]
                if kinds == {Kind.INSTALL, Kind.REMOVE} and not _uninstalls(steps):
                    last += [step for step in removals if step not in last]
                    break
                if demand is not None and not demand.specifiers:
                    plan = combined(plan, Plan(title="", steps=tuple(steps)))
                elif kinds <= {Kind.REMOVE, Kind.VARIABLES} and not _uninstalls(steps):
                    last += [step for step in steps if step not in last]
                else:
                    continue
                ended.add(found.id)
                break
        # What an interrupted installer set aside is often the only whole copy: it goes last.
        return msgspec.structs.replace(plan, steps=(*plan.steps, *last)), frozenset(ended)


def _uninstalls(steps: Sequence[Step]) -> bool:
    return any("uninstall" in (step.command.argv if step.command else ()) for step in steps)


def _is_heavy(name: str) -> bool:
    """Say whether a package is torch or comes with it; these are moved by the tables alone."""
    return name == "torch" or name.startswith("nvidia-")
