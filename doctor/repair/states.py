"""Run the user's program after a plan, in a clone: how it ends, and whether it came further."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from types import MappingProxyType
from typing import NamedTuple

import msgspec

from doctor.base.requirements import normalize_name
from doctor.base.text import enumerate_words
from doctor.environments.installer import installed as releases_of
from doctor.environments.layout import CloneError
from doctor.fixes import installer
from doctor.fixes.environments import above, above_note, closed
from doctor.host import Host
from doctor.model.checks import Progress
from doctor.model.facts import Fact
from doctor.model.fixes import Command, Step
from doctor.model.plans import Change, Plan
from doctor.model.report import Report
from doctor.observe.installed.distributions import installed
from doctor.observe.scene import Distribution
from doctor.repair.commands import Kind
from doctor.repair.comparing import of_program
from doctor.repair.damage import dead_links
from doctor.repair.ending import Ending
from doctor.repair.examination import OFFLINE, Bench, Trial, run_program
from doctor.repair.failures import Failure, came_further, failure_of, is_detour
from doctor.repair.guarding import guarded
from doctor.repair.hiding import requests_of
from doctor.repair.links import by_links
from doctor.repair.merging import (
    combined,
    install_of,
    moved_names,
    name_in,
    steps_text,
    with_requirements,
)
from doctor.repair.new_environment import place_of, tasks_of
from doctor.repair.project import ProjectError
from doctor.repair.reading import SOURCE, read_program, tops
from doctor.repair.releases import AvailableReleases
from doctor.repair.requests import Original, actionable
from doctor.repair.trial import Runner, attempt, differences, with_project, without_path

_NAMED = 3
_OF_FILES = ("python/program-wheels-misfit", "python/program-files-gone")


class State(NamedTuple):
    """A plan, how the program ends after it, and what a whole trial of it showed.

    `again`: it came of the same releases, written once more.
    """

    plan: Plan
    ending: Ending
    trial: Trial | None = None
    again: bool = False

    @property
    def failure(self) -> Failure:
        """Return how the program failed."""
        return failure_of(self.ending.text)


class Trials:
    """Carries out plans in clones of one environment, each once; `here` is what it has."""

    def __init__(self, original: Original, bench: Bench, progress: Progress) -> None:
        self._original, self._bench, self._progress = original, bench, progress
        own = without_path(original.environment, original.host.env)
        folders = [str(folder) for folder in own.folders]
        self.here: Mapping[str, Distribution] = {one.name: one for one in installed(folders)}
        self.releases = {name: one.version for name, one in self.here.items()}
        self._requests = requests_of(self.here, original.environment)
        self._ended: dict[str, Ending | None] = {}
        self._after: dict[str, Mapping[str, str]] = {}
        self._detours: dict[str, dict[tuple[str, tuple[str, str]], State]] = {}

    def with_release(self, state: State, name: str, release: str) -> State | None:
        """Return the state with a release of a package, where the program comes further."""
        plan = combined(state.plan, self.plan_of(name, release))
        found = self.ends(plan, f"with {name} {release}")
        if found is None or self.is_further(state, found, {name}):
            return found
        self._note_detour(state, found, name)
        return None

    def plan_of(self, name: str, release: str) -> Plan:
        """Return the plan that installs a release of a package, and nothing else."""
        facts, first, notes = self._where()
        made = installer.install_set([f"{name}=={release}"], facts)
        steps = (*first, *(Step(command=one) for one in made))
        return by_links(Plan(title="", steps=steps, notes=notes), self._bench.links)

    def _where(self) -> tuple[Mapping[str, Fact], tuple[Step, ...], tuple[str, ...]]:
        """Return the facts of what is installed into, the steps that make it, and notes."""
        facts = self._original.report.observation.facts
        if why := closed(facts):
            inner, first = above(facts)
            return inner, first, (above_note(why),)
        return facts, (), ()

    def _note_detour(self, state: State, found: State, name: str) -> None:
        moved = {name, *(tops(self.here[name]) if name in self.here else ())}
        if not state.ending.ok and is_detour(state.failure, found.failure, moved):
            known = self._detours.setdefault(steps_text(state.plan), {})
            known.setdefault((name, found.failure.mark), found)

    def detours(self, state: State) -> tuple[State, ...]:
        """Return what was tried from a state and ended in another failure, one of each kind."""
        return tuple(self._detours.get(steps_text(state.plan), {}).values())

    def again(self, state: State, packages: Sequence[Distribution]) -> State | None:
        """Return the state with packages written once more, where the program comes further."""
        names = [one.name for one in packages]
        plan = combined(state.plan, self.plan_of_again(packages))
        found = self.ends(plan, f"with {enumerate_words(names[:_NAMED])} again")
        # The lines of the same release can be compared.
        return found if found is not None and self.is_further(state, found, ()) else None

    def plan_of_again(self, packages: Sequence[Distribution]) -> Plan:
        """Return the plan that writes packages once more, and nothing else."""
        facts, first, notes = self._where()
        names = [one.name for one in packages]
        made = installer.install_set([one.requirement for one in packages], facts, again=names)
        if first:  # what lies below is neither written again nor renamed
            inner = tuple(Step(command=one) for one in made)
            return Plan(title="", steps=(*first, *inner), notes=notes)
        links = {link: None for one in packages for link in dead_links(one)}
        aside = [("mv", "-i", str(one), f"{one}.old") for one in links]
        steps = (*(Command(argv=argv) for argv in aside), *made)
        return Plan(title="", steps=tuple(_alone(Step(command=one)) for one in steps))

    def shelf(
        self, state: State, limits: Mapping[str, str] = MappingProxyType({})
    ) -> AvailableReleases:
        """Return the releases that fit a state and `limits`, specifiers by name."""
        changes = state.trial.changes if state.trial is not None else ()
        here = {name: one.version for name, one in self.here.items()}
        here |= self._after.get(steps_text(state.plan), {})
        here |= {one.name: one.after for one in changes if one.after}
        for step in state.plan.steps:
            install = install_of(step)
            for text in install.requirements if install else ():
                name, _, release = text.partition("==")
                if release and normalize_name(name) in here:
                    here[normalize_name(name)] = release
        gone = {one.name for one in changes if not one.after}
        here = {name: version for name, version in here.items() if name not in gone}
        moved = moved_names(state.plan)
        asked = {
            name: [specifier for who, specifier in each if who not in moved]
            for name, each in self._requests.items()
        }
        for name, limit in limits.items():
            asked[name] = [*asked.get(name, ()), limit]
        facts = self._original.report.observation.facts
        return AvailableReleases(here, asked, facts, self.asking(), self._bench.links)

    def asking(self) -> Host:
        """Return the host on which installers are asked."""
        host, request = self._original.host, self._original.request
        return Host(env={**host.env, **(OFFLINE if request.offline else {})}, cwd=host.cwd)

    def whole(self, plan: Plan) -> Trial | None:
        """Return the whole trial of a plan; None where it cannot be carried out."""
        tasks = tasks_of(plan.steps, self._original.environment)
        if not tasks or any(one.kind is Kind.REFUSED for one in tasks):
            return None

        def tried() -> Trial | None:
            with suppress(CloneError, ProjectError):
                return attempt(plan, tasks, self._original, self._bench, self._progress)
            return None

        if (trial := guarded(self._bench, f"the trial of {plan.title}", tried)) is None:
            return None
        after = {one.name: one.after for one in trial.changes if one.after}
        self._after[steps_text(plan)] = {**self.releases, **after}
        return trial

    def ends(self, plan: Plan, what: str) -> State | None:
        """Return the state after a plan, by the program alone."""
        steps = steps_text(plan)
        if steps not in self._ended:
            ran = partial(self._run, plan, what)
            self._ended[steps] = guarded(self._bench, f"a run {what}", ran)
        ending = self._ended[steps]
        if ending is not None and not ending.ok and what.startswith("with "):
            self._bench.in_vain[what] = ending.last_line
        return State(plan, ending) if ending is not None else None

    def _run(self, plan: Plan, what: str) -> Ending | None:
        original = self._original
        tasks = tasks_of(plan.steps, original.environment)
        if any(one.kind in (Kind.REFUSED, Kind.PROJECT) for one in tasks):
            return None

        def progress(doing: str, passed: float) -> None:
            self._progress(f"{what}, {doing}", passed)

        try:
            with place_of(tasks, original) as (bare, there):
                copy, places, project = with_project(tasks, original, bare, there)
                runner = Runner(original, copy, places, progress, project)
                for number, each in enumerate(tasks, 1):
                    if runner.carry_out(each, f"step {number} of {len(tasks)}"):
                        return None
                self._after[steps_text(plan)] = releases_of(copy.environment)
                return run_program(original, copy, places, runner.env, progress)
        except (CloneError, ProjectError):
            return None

    def moves(self, plan: Plan) -> tuple[Change, ...]:
        """Return what a plan moved that was tried; nothing for any other."""
        after = self._after.get(steps_text(plan))
        return differences(self.releases, after) if after is not None else ()

    def still_moves(self, plan: Plan, name: str) -> bool:
        """Say whether a package moves with a plan that was tried, though it names no release."""
        after = self._after.get(steps_text(plan))
        return after is not None and after.get(name) != self.releases.get(name)

    def with_ended(self, found: State, before: State) -> Plan:
        """Return a plan that also ends what is found in the output of the program before it."""
        report = self._report(before)
        own = of_program(report)
        ended = [*actionable(own)] if own is not None else []
        if found.again:  # neither a release nor another package was the matter
            ended = [one for one in ended if not one.id.startswith("failure/")]
            ended += [one for one in actionable(report) if one.id in _OF_FILES]
        self._bench.titles |= {one.id: one.title for one in ended}
        ids = (one.id for one in ended)
        solves = tuple(dict.fromkeys((*found.plan.solves, *ids)))
        return msgspec.structs.replace(found.plan, solves=solves)

    def _report(self, state: State) -> Report:
        """Return a report with the output of the program in a state."""
        original = self._original
        if state.trial is not None and state.trial.report is not None:
            return state.trial.report
        if not state.plan.steps:
            return original.report
        seen = original.report.observation
        logs = tuple(one for one in seen.logs if one.source != SOURCE)
        report = msgspec.structs.replace(
            original.report, observation=msgspec.structs.replace(seen, logs=logs)
        )
        return read_program(report, state.ending.text, original.request.check, original.environment)

    def is_further(self, before: State, after: State, moved: Iterable[str]) -> bool:
        """Say whether the program comes further, with packages that moved in between."""
        if after.ending.ok or before.ending.ok:
            return after.ending.ok and not before.ending.ok
        names = {*moved}
        names |= {top for name in names if name in self.here for top in tops(self.here[name])}
        return came_further(before.failure, after.failure, names)


def _alone(step: Step) -> Step:
    """Return an installation that lets everything be that it does not name."""
    install = install_of(step)
    if install is None or "--no-deps" in install.head:
        return step
    return with_requirements(step, (*install.head, "--no-deps"), install.requirements)


def is_as_far(one: State, other: State) -> bool:
    """Say whether the program ends well, or fails as it does in another state."""
    return one.ending.ok or (not other.ending.ok and one.failure.mark == other.failure.mark)


def release_of(state: State, name: str) -> str:
    """Return the release that the plan of a state names for a package, or brought in its trial."""
    if release := _release_in(state.plan, name):
        return release
    trial = state.trial
    changes = trial.changes if trial is not None else ()
    return next((one.after for one in changes if one.name == name and one.after), "")


def _release_in(plan: Plan, name: str) -> str:
    """Return the release of a package that the steps of a plan name."""
    texts = [text for step in plan.steps if (one := install_of(step)) for text in one.requirements]
    releases = [text.partition("==")[2] for text in texts if name_in(text) == name]
    return releases[-1] if releases else ""
