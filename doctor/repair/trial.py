"""Try one plan in a clone of the environment."""

from __future__ import annotations

import itertools
import os
import re
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import msgspec

from doctor.base.requirements import normalize_name
from doctor.base.text import one_line
from doctor.environments.asking import NO_LIBRARIES, is_of_loader
from doctor.environments.clone import Clone
from doctor.environments.environment import Environment
from doctor.environments.installer import dry_run, installed
from doctor.host import CompletedCommand, Host, Termination
from doctor.host.removal import remove_tree
from doctor.model.checks import Progress
from doctor.model.fixes import Command, Step
from doctor.model.plans import Change, Plan
from doctor.observe.installed import distributions
from doctor.redact import without_secrets
from doctor.repair import commands
from doctor.repair.commands import Kind, Places, Task
from doctor.repair.damage import changed
from doctor.repair.examination import OFFLINE, Bench, Examination, Trial
from doctor.repair.merging import install_of, name_in, steps_text
from doctor.repair.merging import sources as built_from
from doctor.repair.new_environment import NewEnvironment, place_of
from doctor.repair.project import copy_project, edited, renamed
from doctor.repair.project_settings import is_setting
from doctor.repair.requests import Original
from doctor.repair.resolve import without_wheels
from doctor.repair.shell_files import read_first

_STEP_SECONDS, _SILENCE = 1800.0, 600.0
BUILD_SECONDS = 120.0
"""Seconds that a step may take which compiles something, where nobody gave a budget."""
_TAIL, _NAMED = 300, 3
_AGAIN = "--reinstall-package="
_BARE = re.compile(r"[A-Za-z0-9][\w.-]*")
_LOG = 256 << 10
_ERROR = re.compile(r"× |\berror:|\bERROR:")


def attempt(
    plan: Plan, tasks: Sequence[Task], original: Original, bench: Bench, progress: Progress
) -> Trial:
    """Carry out a plan in a fresh clone or its new environment, and check everything again there.

    Steps that were tried before are not tried again. Raises CloneError where neither is possible.
    """
    steps = steps_text(plan)
    if steps not in bench.trials:
        bench.trials[steps] = _attempt(plan, tasks, original, bench, progress)
    return msgspec.structs.replace(bench.trials[steps], plan=plan)


def _attempt(
    plan: Plan, tasks: Sequence[Task], original: Original, bench: Bench, progress: Progress
) -> Trial:
    begun = time.monotonic()
    with place_of(tasks, original) as (bare_copy, there):
        copy, places, inner = with_project(tasks, original, bare_copy, there)
        own = without_path(copy.environment, original.host.env)
        bare = installed(own)
        runner = Runner(original, copy, places, progress, inner)
        moved = []
        for number, each in enumerate(tasks, 1):
            before = installed(own)
            failed = runner.carry_out(each, f"step {number} of {len(tasks)}")
            if failed:
                return Trial(
                    plan=plan,
                    seconds=time.monotonic() - begun,
                    failed=f"step {number} failed: {places.back(failed)}",
                )
            moved.append(moved_by(each.step, before, installed(own)))
        changes = differences(bare, installed(own))
        again = {one.name: one for step in moved for one in step if one.before == one.after}
        changes = with_rewritten(changes, again.values())
        result = Examination(original, copy, places, runner.env, bench, progress, project=inner).of(
            plan, changes
        )
        return msgspec.structs.replace(
            result, seconds=time.monotonic() - begun, changes=changes, by_step=tuple(moved)
        )


def without_path(environment: Environment, env: Mapping[str, str]) -> Environment:
    """Return an environment without the folders of PYTHONPATH, which no installer looks at."""
    listed = {Path(one) for one in env.get("PYTHONPATH", "").split(os.pathsep) if one}
    folders = tuple(one for one in environment.folders if one not in listed)
    return msgspec.structs.replace(environment, folders=folders or environment.folders)


def with_project(
    tasks: Sequence[Task], original: Original, copy: Clone, there: Places
) -> tuple[Clone, Places, Path]:
    """Return a clone with its places and the project, which is a copy where a step changes it.

    The program runs in that copy where it meets the change. Raises ProjectError without a copy.
    """
    project = original.request.check.observe.project.absolute()
    copy, there = _with_outside(tasks, original, copy, there)
    if not any(_of_project(one, original) for one in tasks):
        return copy, there, project
    inner = copy.scratch.folder / "project" / project.name
    copy_project(project, inner)
    _lead_to_clone(original.environment.root, project, inner, copy)
    places = Places((*there.pairs, (str(project), str(inner))))
    read = read_first(original)
    if any(_is_read(one, read) and _of_project(one, original) for one in tasks):
        cwd = Path(places.there(str(original.host.cwd)))
        env = dict(copy.host.env)
        if listed := env.get("PYTHONPATH"):  # it may name a folder of the project
            env["PYTHONPATH"] = places.there(listed)
        copy = replace(copy, host=Host(env=env, cwd=cwd))
    return copy, places, inner


def _lead_to_clone(root: Path, project: Path, inner: Path, copy: Clone) -> None:
    """Let an environment inside a copied project, which its scripts may name, be the clone."""
    if root == project or not root.is_relative_to(project) or isinstance(copy, NewEnvironment):
        return
    link = inner / root.relative_to(project)
    if not link.exists():
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(copy.environment.root, target_is_directory=True)


def _with_outside(
    tasks: Sequence[Task], original: Original, copy: Clone, there: Places
) -> tuple[Clone, Places]:
    """Return a clone whose variables name copies of the folders beside it that a step changes."""
    project = original.request.check.observe.project.absolute()
    for number, file in enumerate(filter(None, map(_renamed_file, tasks))):
        if file.is_relative_to(project) or commands.is_inside(str(file), original.environment):
            continue
        inner = copy.scratch.folder / "outside" / str(number) / file.parent.name
        copy_project(file.parent, inner)
        there = Places((*there.pairs, (str(file.parent), str(inner))))
        env = {name: there.there(value) for name, value in copy.host.env.items()}
        copy = replace(copy, host=Host(env=env, cwd=copy.host.cwd))
    return copy, there


def _renamed_file(task: Task) -> Path | None:
    argv = task.step.command.argv if task.step.command is not None else ()
    return Path(argv[-2]) if task.kind is Kind.RENAME else None


def _is_read(task: Task, read: Collection[Path]) -> bool:
    """Say whether a program meets what a step changes: it reads no list of packages.

    `read` are the files that a shell reads before it.
    """
    edit = task.step.edit
    if edit is None:
        return task.kind is Kind.RENAME
    return is_setting(edit.file) or Path(edit.file) in read


def _of_project(task: Task, original: Original) -> bool:
    """Say whether a step changes the files of a project."""
    edit = task.step.edit
    argv = task.step.command.argv if task.step.command is not None else ()
    file = edit.file if edit is not None else argv[-1] if task.kind is Kind.RENAME else ""
    inside = bool(file) and commands.is_inside(file, original.environment)
    # A build writes into the sources.
    sources = original.request.check.observe.project.absolute()
    inside = inside or (task.kind is Kind.RENAME and not Path(file).is_relative_to(sources))
    built = any(Path(word).is_relative_to(sources) for word in built_from(task.step))
    return built or (task.kind in (Kind.PROJECT, Kind.EDIT, Kind.RENAME) and not inside)


class Runner:
    """Runs the steps of a plan in a clone, and keeps the variables that they set."""

    def __init__(
        self, original: Original, copy: Clone, places: Places, progress: Progress, project: Path
    ) -> None:
        self._project = project
        self._original, self._copy, self._places = original, copy, places
        self._progress = progress
        self.env: dict[str, str | None] = {}

    def carry_out(self, each: Task, label: str) -> str:
        """Run a step in the clone; return why it failed, empty where it did not."""
        if each.kind is Kind.VARIABLES:
            self.env |= commands.variables(each.step) or {}
            return ""
        if each.kind in (Kind.CREATE, Kind.LINK):
            return ""  # it is what the other steps are carried out in
        if each.kind is Kind.RENAME and each.step.command is not None:
            source, target = map(self._places.there, each.step.command.argv[-2:])
            inside = commands.is_inside(each.step.command.argv[-1], self._original.environment)
            root = self._copy.environment.root if inside else self._copy.scratch.folder
            return renamed(Path(source), Path(target), root)
        if each.kind is Kind.EDIT and each.step.edit is not None:
            edit = each.step.edit
            there = msgspec.structs.replace(edit, file=self._places.there(edit.file))
            inside = commands.is_inside(edit.file, self._original.environment)
            return edited(there, self._copy.environment.root if inside else self._project)
        step = self._places.step(each.step)
        again = commands.task(step, self._copy.environment)
        if step.command is None or again.kind is not each.kind:
            return again.why or "it leads out of the clone"
        if each.kind is Kind.REMOVE:
            return removed(step.command)
        limit = min(self._original.seconds_left(), _STEP_SECONDS)
        built = self._built(again)
        if built and self._original.request.check.observe.budget is None:
            limit = min(limit, BUILD_SECONDS)
        ran = self._run(step.command, each, label, limit)
        if ran.ok:
            return ""
        return (
            f"{built}; after {limit:.0f} s it was not done"
            if built and _late(ran)
            else (f"{why_not(ran)} ({built})" if built else why_not(ran))
        )

    def _run(self, command: Command, each: Task, label: str, limit: float) -> CompletedCommand:
        """Run a command; what uv is to write again comes from its cache, where it lies there.

        uv downloads it again otherwise, in each trial, and keeps every download.
        """

        def ran(more: Mapping[str, str]) -> CompletedCommand:
            done = run(more)
            return run({**more, **NO_LIBRARIES}) if is_of_loader(done) else done

        def run(more: Mapping[str, str]) -> CompletedCommand:
            return run_in(
                self._copy,
                command.argv,
                {**command.env, **more},
                Path(command.cwd) if command.cwd else self._project_or_scratch(each),
                timeout=limit,
                progress=lambda passed: self._progress(f"{label}: {doing(each.step)}", passed),
            )

        if names := rewritten_by(each.step):
            cached = ran(OFFLINE)
            if cached.ok and not differ(names, self._copy.environment):
                return cached
        return ran(OFFLINE if self._original.request.offline else {})

    def _built(self, each: Task) -> str:
        """Return what a step compiles, in words; empty where it installs wheels alone."""
        if each.kind is not Kind.INSTALL or each.step.command is None:
            return ""
        answer = dry_run(each.step.command, self._copy.host, sizes=False)
        return without_wheels(answer, each.step, self._copy.environment)

    def _project_or_scratch(self, each: Task) -> Path:
        return self._project if each.kind is Kind.PROJECT else self._copy.scratch.folder


def differ(names: Collection[str], environment: Environment) -> bool:
    """Say whether a package is not as its RECORD says: the cache shares its files, perhaps."""
    folders = [str(one) for one in environment.own_folders]
    found = {one.name: one for one in distributions.installed(folders)}
    return any(name not in found or changed(found[name]) for name in names)


def doing(step: Step) -> str:
    """Return what a step does in a few words: `installing tokenizers, torch`."""
    install, command = install_of(step), step.command
    argv = command.argv if command is not None else ()
    if install is not None and install.requirements:
        names = [name_in(text) for text in install.requirements]
        more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
        return f"installing {', '.join(names[:_NAMED])}{more}"
    if "uninstall" in argv:
        names = [word for word in argv[argv.index("uninstall") + 1 :] if _BARE.fullmatch(word)]
        return f"removing {', '.join(names[:_NAMED])}"
    return one_line(step.title or " ".join(argv), 60)


def moved_by(step: Step, before: Mapping[str, str], after: Mapping[str, str]) -> tuple[Change, ...]:
    """Return the packages that a step moved, and those that it wrote again, by name."""
    install = install_of(step)
    again = rewritten_by(step)
    if install is not None and not again and any("reinstall" in word for word in install.head):
        again = {normalize_name(name_in(text)) for text in install.requirements}
    written = [
        Change(name=name, before=after[name], after=after[name])
        for name in again
        if name in after and before.get(name) == after[name]
    ]
    return with_rewritten(differences(before, after), written)


def rewritten_by(step: Step) -> set[str]:
    """Return the packages that a step of uv names to be written again."""
    install = install_of(step)
    head = install.head if install is not None else ()
    pairs = itertools.pairwise(head)
    named = [value for word, value in pairs if word == "--reinstall-package"]
    named += [word.partition("=")[2] for word in head if word.startswith(_AGAIN)]
    return {normalize_name(name) for name in named}


def with_rewritten(changes: Sequence[Change], written: Iterable[Change]) -> tuple[Change, ...]:
    """Return changes together with the packages that are written again in the same release."""
    moved = {one.name for one in changes}
    more = [one for one in written if one.name not in moved]
    return tuple(sorted((*changes, *more), key=lambda one: one.name))


def run_in(
    copy: Clone,
    argv: Sequence[str],
    env: Mapping[str, str],
    cwd: Path,
    *,
    timeout: float,
    progress: Callable[[float], None],
) -> CompletedCommand:
    """Run a command in a clone, bounded in time and output."""
    return copy.run(
        argv,
        timeout=max(timeout, 1.0),
        silence=_SILENCE,
        env=env,
        cwd=cwd,
        limit=_LOG,
        tick=progress,
    )


def why_not(ran: CompletedCommand) -> str:
    """Return the part of an output that says why a command failed."""
    if _late(ran):
        return "it took too long"
    text = without_secrets(" ".join((ran.output or ran.why).split()))
    start = _ERROR.search(text)
    if start is not None:
        return whole_words(text[start.start() :], _TAIL)
    if len(text) <= _TAIL:
        return text or "it printed nothing"
    return "… " + text[-_TAIL:].partition(" ")[2]


def whole_words(text: str, most: int) -> str:
    """Return the beginning of a text, which ends with a whole word."""
    return text if len(text) <= most else f"{text[: most + 1].rpartition(' ')[0][:most]} …"


def _late(ran: CompletedCommand) -> bool:
    return ran.ended is Termination.TIMEOUT


def removed(command: Command) -> str:
    """Remove what a step names, and return nothing; commands.task has looked at where that lies."""
    for word in command.argv[1:]:
        place = Path(word)
        if word.startswith("-"):
            continue
        if place.is_dir() and not place.is_symlink():
            remove_tree(place)
        else:
            place.unlink(missing_ok=True)
    return ""


def differences(before: Mapping[str, str], after: Mapping[str, str]) -> tuple[Change, ...]:
    """Return the packages that moved, by name."""
    return tuple(
        Change(name=name, before=before.get(name), after=after.get(name))
        for name in sorted({*before, *after})
        if before.get(name) != after.get(name)
    )
