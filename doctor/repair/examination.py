"""Look at a clone after the steps of a plan: checks, requirements, imports, the user's program."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import msgspec

from doctor.base.requirements import normalize_name
from doctor.base.text import one_line
from doctor.environments.clone import Clone
from doctor.environments.installer import problems
from doctor.environments.inventory import own_check
from doctor.host import Host, Termination
from doctor.model.checks import Progress
from doctor.model.plans import Change, Plan
from doctor.model.report import Report
from doctor.model.roles import Role, check_of
from doctor.model.watching import of_progress
from doctor.observe.installed.distributions import installed
from doctor.pipeline import check as pipeline
from doctor.repair.bounds import project_lists
from doctor.repair.commands import Places, host_of
from doctor.repair.comparing import is_same_error, left_of, of_program
from doctor.repair.ending import Ending, in_vain
from doctor.repair.limits import without_sources
from doctor.repair.links import Links, by_links, links_of
from doctor.repair.modules import Import, concerned, failures, try_imports
from doctor.repair.nearest import nearest
from doctor.repair.new_environment import NewEnvironment, begun, unchanged
from doctor.repair.own_fixes import plans_of_fixes
from doctor.repair.reading import (
    Unmet,
    is_spoken_of,
    packages_in,
    read_program,
    unmet,
    without_twins,
)
from doctor.repair.requests import Original
from doctor.repair.standing import standing_of

PROGRAM_SECONDS = 600.0
_IMPORTS = check_of(Role.IMPORTS_PACKAGES)
"""The canary that imports the packages which programs use on top of a framework."""
_LOG = 256 << 10
_NO_BYTECODE = {"PYTHONDONTWRITEBYTECODE": "1"}
"""The program's own sources lie outside the clone; Python keeps bytecode beside them otherwise."""
OFFLINE = {"UV_OFFLINE": "1", "PIP_NO_INDEX": "1"}


class Trial(msgspec.Struct, frozen=True, kw_only=True):
    """What a plan did in a clone.

    `failed` says which step failed and how; `wrong` is everything that is not as it should be
    afterwards, a sentence each; `left` are ids of findings. `by_step` has the packages that each
    step moved. `met` are requirements that were not met before. `follow_ups` are plans for what the
    clone's own report shows, written for the original: the planner's, then those of the findings'
    own fixes.
    """

    plan: Plan
    seconds: float
    changes: tuple[Change, ...] = ()
    by_step: tuple[tuple[Change, ...], ...] = ()
    failed: str = ""
    wrong: tuple[str, ...] = ()
    left: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    program: Ending | None = None
    program_before: Ending | None = None
    report: Report | None = None
    follow_ups: tuple[Plan, ...] = ()
    met: tuple[Unmet, ...] = ()

    @property
    def ok(self) -> bool:
        """Return whether the plan heals."""
        return not (self.failed or self.wrong or self.left)


class Bench:
    """What is known of the original, tried once in a clone when asked for.

    `held` are the packages that the program needs as they are; `trials` are those of whole plans,
    by their steps. `unpruned` is the plan of the program before something was taken out of it,
    `longer` one that ends as much and lifts a package farther.
    `titles` are those of findings of the program on the way, by id. `in_vain` says what was tried
    and did not let the program end well, with the last line of the program. `faults` are doctor's
    own, with the part of the search that was skipped.
    """

    def __init__(self, original: Original, progress: Progress) -> None:
        self._original, self._progress = original, progress
        self._imports: dict[str, Import] = {}
        self._program: Ending | None = None
        self.held = frozenset[str]()
        self.unpruned: Plan | None = None
        self.longer: Plan | None = None
        self.titles = dict[str, str]()
        self.trials: dict[str, Trial] = {}
        self.in_vain: dict[str, str] = {}
        self.faults: dict[str, str] = {}
        self._links: Links | None = None

    @property
    def links(self) -> Links:
        """Return the folders of wheels from which the project takes its own packages."""
        if self._links is None:
            folders = [str(one) for one in self._original.environment.folders]
            here = {one.name: one for one in installed(folders)}
            self._links = links_of(project_lists(self._original).links, here)
        return self._links

    def imports(self, modules: Sequence[tuple[str, str]]) -> Mapping[str, Import]:
        """Return what came of the import of modules before any change, by module."""
        if new := [pair for pair in modules if pair[1] not in self._imports]:
            with unchanged(self._original) as copy:
                tried = try_imports(
                    copy, new, self._progress, seconds=self._original.seconds_left()
                )
            self._imports |= {one.module: one for one in tried}
        return self._imports

    def packages_named(self) -> frozenset[str]:
        """Return the packages that the program's output named before any change."""
        ended = self.program()
        text = ended.text if ended is not None and not ended.ok else ""
        found = packages_in(text, self._original.environment) if text else ()
        return frozenset(one.name for one in found)

    def program(self) -> Ending | None:
        """Return how the user's program ends before any change; None where there is none."""
        if self._program is None and self._original.request.program:
            with unchanged(self._original) as copy:
                places = Places.between(self._original.environment, copy.environment)
                self._program = run_program(self._original, copy, places, {}, self._progress)
        return self._program

    def words_in_vain(self, known: str = "") -> tuple[str, ...]:
        """Return sentences about what was tried and did not let the program end well.

        `known` is told already.
        """
        first = self._program.last_line if self._program is not None else ""
        return in_vain(self.in_vain, (first, known))


def run_program(
    original: Original,
    copy: Clone,
    places: Places,
    env: Mapping[str, str | None],
    progress: Progress,
) -> Ending:
    """Run the user's own program with a clone in place of the environment."""
    # The program may lie in a copy of its folder, and a closed environment inside that folder.
    above = copy.translated if isinstance(copy, NewEnvironment) else str
    words = ((word, above(word)) for word in in_environment(original))
    argv = tuple(new if new != word else places.there(word) for word, new in words)
    shown = one_line(" ".join(original.request.program), 60)
    host = host_of(copy.host, {**_NO_BYTECODE, **env})
    ran = _with_host(copy, host).run(
        argv,
        timeout=max(min(original.seconds_left(), PROGRAM_SECONDS), 1.0),
        cwd=copy.host.cwd,
        limit=_LOG,
        tick=lambda passed: progress(f"running {shown}", passed),
    )
    code = ran.code if ran.ended is Termination.ITSELF else None
    return Ending(
        code=code,
        text=places.back(ran.output or ran.why),
        command=shown,
        started=ran.ended is not Termination.NOT_STARTED,
    )


def in_environment(original: Original) -> tuple[str, ...]:
    """Return the user's own program with the scripts of the environment by their whole path.

    Where a path is relative or leads through a link, the original would run in place of a clone.
    """
    scripts = original.environment.scripts
    words = []
    for word in original.request.program:
        place = original.host.cwd / word
        known = place.name != word and place.parent.resolve() == scripts.resolve()
        words.append(str(scripts / place.name) if known and place.exists() else word)
    return tuple(words)


def _with_host(copy: Clone, host: Host) -> Clone:
    return replace(copy, host=host)


class Examination:
    """Checks a clone after the steps of a plan."""

    def __init__(
        self,
        original: Original,
        copy: Clone,
        places: Places,
        env: Mapping[str, str | None],
        bench: Bench,
        progress: Progress,
        *,
        project: Path,
    ) -> None:
        self._original, self._copy, self._places = original, copy, places
        self._project = project
        self._env, self._bench, self._progress = env, bench, progress
        self._moved = set[str]()
        self._wrong: list[str] = []
        self._remarks: list[str] = []
        self._problems: tuple[str, ...] = ()
        self._asked_for: tuple[Unmet, ...] = ()

    def of(self, plan: Plan, changes: Sequence[Change]) -> Trial:
        """Return what is wrong and what is left after a plan."""
        self._moved = {normalize_name(one.name) for one in changes}
        program = self._ran()
        self._compare_problems()
        report = self._checked(program, canaries=False)
        left = left_of(plan, self._original.report, report)
        if not left and not self._wrong and self._original.request.check.observe.canaries:
            # Files and tools say in a second what checks need not find out in a minute.
            report = self._checked(program, canaries=True)
            left = left_of(plan, self._original.report, report)
        if not left:
            self._import(changes, report)
        if changed := self._copy.disturbed():
            self._wrong.append(f"the plan wrote into {changed[0]} of the original")
        planned = (report.plan,) if report.plan is not None and report.plan.steps else ()
        follow = (*planned, *plans_of_fixes(report, self._copy.environment))
        if (program is not None and not program.ok) or self._asked_for:
            follow = (*self._nearest(report), *follow)
        if led := of_program(report):
            follow = (*self._nearest(led), *plans_of_fixes(led, self._copy.environment), *follow)
        # An index knows nothing of a package that has a source of its own.
        follow = tuple(by_links(one, self._bench.links) for one in follow)
        follow = without_sources(follow, self._copy.environment)
        return Trial(
            plan=plan,
            seconds=0.0,
            wrong=tuple(self._wrong),
            left=left,
            remarks=tuple(self._remarks),
            program=program,
            program_before=self._bench.program() if program else None,
            report=report,
            met=self._met(changes),
            follow_ups=tuple(
                begun(_for_original(one, self._places), self._original) for one in follow
            ),
        )

    def _import(self, changes: Sequence[Change], report: Report) -> None:
        """Import what the plan moved and what builds on that, but for what a canary imported."""
        imported = [one for one in report.observation.outcomes if one.id == _IMPORTS]
        known = {name for one in imported for name in (*one.cases, "torch")}
        moved = [change.name for change in changes if change.after]
        # What is removed may take libraries along that another package owns as well.
        libraries = bool(self._env) or len(moved) < len(changes)
        pairs = concerned(self._copy.environment, moved, libraries=libraries)
        modules = [pair for pair in pairs if pair[0] not in known]
        tried = try_imports(
            _with_host(self._copy, host_of(self._copy.host, self._env)),
            modules,
            self._progress,
            seconds=self._original.seconds_left(),
        )
        failed = failures(tried)
        if not failed:
            return
        before = self._bench.imports([(one.package, one.module) for one in failed.values()])
        for name, one in failed.items():
            error = one_line(self._places.back(one.error), 160)
            if one.needs_gpu:
                self._remarks.append(f"import {name} wants a GPU or a driver: {error}")
            elif before[name].ok:
                self._wrong.append(f"import {name} fails, and did not before: {error}")
            elif is_same_error(before[name].error, one.error):
                self._remarks.append(f"import {name} fails as it did before: {error}")
            else:
                self._remarks.append(f"import {name} fails, as it did before, but now by: {error}")

    def _ran(self) -> Ending | None:
        if not self._original.request.program:
            return None
        before = self._bench.program()
        ended = run_program(self._original, self._copy, self._places, self._env, self._progress)
        if not ended.ok:
            again = "still" if before is not None and not before.ok else "now"
            last = f": {ended.last_line}" if ended.last_line else ""
            self._wrong.append(f"the program {again} {ended.words}{last}")
            self._wrong += [f"and then: {one}" for one in ended.further]
        return ended

    def _compare_problems(self) -> None:
        known, host = set(self._original.problems), self._copy.host
        if isinstance(self._copy, NewEnvironment):
            # uv looks at a new environment alone, without the packages that it sees below.
            known = set(own_check(self._original.environment, self._original.host))
            self._problems = own_check(self._copy.environment, host)
        else:
            self._problems = problems(self._copy.environment, host)
        for problem in self._problems:
            text = self._places.back(problem)
            if text not in known:
                self._wrong.append(one_line(text, 200))

    def _met(self, changes: Sequence[Change]) -> tuple[Unmet, ...]:
        """Return the requirements that a plan meets, and that were not met before."""
        moved = {normalize_name(one.name) for one in changes}
        now = {self._places.back(one) for one in self._problems}
        gone = [one for one in unmet(self._original.problems) if one.text not in now]
        return tuple(one for one in gone if moved & {one.package, one.wanted})

    def _checked(self, program: Ending | None, *, canaries: bool) -> Report:
        asked = self._original.request.check
        observe = msgspec.structs.replace(
            asked.observe,
            python=str(self._copy.environment.python),
            fresh=True,
            canaries=canaries,
            project=self._project,
            budget=max(self._original.seconds_left(), 1.0),
        )
        # What a program said before the plan says nothing of what it says afterwards.
        asked = msgspec.structs.replace(asked, logs=()) if program is not None else asked
        host = host_of(self._copy.host, self._env)
        report = pipeline.check_whole(
            msgspec.structs.replace(asked, observe=observe),
            of_progress(lambda what, passed: self._progress(f"checking the copy: {what}", passed)),
            host=Host(env={**host.env, "DOCTOR_CACHE_DIR": ""}, cwd=host.cwd),
        )
        text = "" if program is None or program.ok else program.text
        known, counted = set(self._original.problems), set(self._original.watched)
        if program is not None and program.ok:  # it needs no more than what it passed through
            counted = self._moved | self._bench.packages_named()
        elif text:
            counted |= {one.name for one in packages_in(text, self._copy.environment)}
        self._asked_for = tuple(
            one
            for one in without_twins(unmet(self._problems), self._copy.environment)
            if self._places.back(one.text) not in known
            or is_spoken_of(one, counted, self._copy.environment)
        )
        if not text and not self._asked_for:
            return report
        return read_program(report, text, asked, self._copy.environment, self._asked_for)

    def _nearest(self, report: Report) -> tuple[Plan, ...]:
        """Return the plan of the shortest moves out of the clone; none where there is none."""
        times = standing_of(self._original.environment).times
        env = {**self._copy.host.env, **(OFFLINE if self._original.request.offline else {})}
        found = nearest(
            report,
            self._asked_for,
            unmet(self._problems),
            self._copy.environment,
            Host(env=env, cwd=self._copy.host.cwd),
            times=times,
            held=self._bench.held,
        )
        return () if found is None else (found,)


def _for_original(plan: Plan, places: Places) -> Plan:
    steps = tuple(places.step(step, back=True) for step in plan.steps)
    return msgspec.structs.replace(plan, steps=steps)
