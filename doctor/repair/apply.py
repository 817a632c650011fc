"""Apply what was proved, after a snapshot; check again, and restore where that fails."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from doctor.environments.environment import Environment
from doctor.environments.installer import installed
from doctor.environments.snapshots import Snapshot, restore, take
from doctor.environments.variables import variables
from doctor.fixes.shell import line
from doctor.host import CompletedCommand, Host, run
from doctor.host.scratch import Scratch
from doctor.model.checks import Progress
from doctor.model.fixes import Command
from doctor.model.plans import Change, Plan
from doctor.model.watching import of_progress
from doctor.pipeline import check as pipeline
from doctor.repair import commands
from doctor.repair.commands import Kind, Task
from doctor.repair.examination import OFFLINE
from doctor.repair.merging import install_of
from doctor.repair.new_environment import making, tasks_of
from doctor.repair.project import edited, put_back, remember, renamed
from doctor.repair.prove import Attempted
from doctor.repair.requests import Original, Repair, actionable
from doctor.repair.trial import differ, removed, rewritten_by, why_not

_SECONDS, _SILENCE, _LOG = 3600.0, 600.0, 256 << 10
PROJECT_FILES = ".project"
"""Ending of the file beside a snapshot that holds the manifests of the project."""


def why_not_applied(attempted: Attempted, original: Original) -> str:
    """Return why a plan cannot be applied here; empty where it can."""
    environment = original.environment
    if not attempted.ok:
        return "Nothing was applied: the plan is not proved."
    if making(tasks_of(attempted.plan.steps, environment)) is not None:
        return (
            "Nothing was applied: the plan makes a new environment here. Its commands leave the "
            "old one as it is, so run them yourself."
        )
    tasks = tasks_of(attempted.plan.steps, environment)
    if any(one.kind is Kind.RENAME and not _is_inside(one, environment) for one in tasks):
        return (
            "Nothing was applied: the plan renames a file of your own. Do that yourself, and run "
            "doctor fix again."
        )
    if not environment.writable:
        return f"Nothing was applied: {environment.why_closed}. {_new_environment(original)}"
    if installed(environment) != original.packages:
        return "Nothing was applied: the environment changed since the check. Run doctor fix again."
    return ""


def _is_inside(task: Task, environment: Environment) -> bool:
    argv = task.step.command.argv if task.step.command is not None else ("",)
    return commands.is_inside(argv[-1], environment)


def how_to_apply(attempted: Attempted, original: Original) -> str:
    """Return a sentence with the command that applies a proved plan; empty where none can."""
    if not attempted.plan.steps or why_not_applied(attempted, original):
        return ""
    target = next(iter(original.report.observation.targets), None)
    program = original.request.program
    apply = Command(
        argv=(
            *("doctor", "fix", "--apply", *(target.options if target else ())),
            *(("--", *program) if program else ()),
        )
    )
    return f"Nothing was changed. `{line(apply)}` carries it out here, after a snapshot."


def _new_environment(original: Original) -> str:
    """Return how to have the plan in an environment that may be changed."""
    uv = original.host.which("uv") is not None
    python = f"python{'.'.join(original.environment.version.split('.')[:2])}"
    make = f"uv venv --python {python} .venv" if uv else f"{python} -m venv .venv"
    return f"Make an environment of your own with `{make}`, and run the plan in that."


def apply(attempted: Attempted, original: Original, progress: Progress) -> Repair:
    """Carry a proved plan out in the environment itself, from a snapshot of it.

    Where a step fails, or the result is not that of the proof, everything is restored. Raises
    SnapshotError where no snapshot is possible: nothing is changed then.
    """
    plan, environment = attempted.plan, original.environment
    progress("taking a snapshot", 0.0)
    snapshot = take(environment, original.host)
    project = original.request.check.observe.project.absolute()
    remember(project, _edited_files(plan), project_file(snapshot))
    try:
        why = _carry_out(attempted, original, project, progress)
        why = why or _differs(original, plan)
        if not why:
            return _checked(plan, original, snapshot, progress)
    except BaseException:
        _restore(snapshot, original)
        raise
    _restore(snapshot, original)
    told = f"Nothing was applied: {why}. The environment is what it was before."
    return Repair(report=original.report, plan=plan, remarks=(told,))


def project_file(snapshot: Snapshot) -> Path:
    """Return where the manifests of the project are kept for a snapshot."""
    return snapshot.manifest.with_name(snapshot.manifest.name + PROJECT_FILES)


def _edited_files(plan: Plan) -> tuple[str, ...]:
    return tuple(step.edit.file for step in plan.steps if step.edit is not None)


def _restore(snapshot: Snapshot, original: Original) -> None:
    restore(snapshot, original.host)
    put_back(project_file(snapshot))


def _carry_out(attempted: Attempted, original: Original, project: Path, progress: Progress) -> str:
    """Run the steps; return why one failed, empty where none did."""
    plan, environment = attempted.plan, original.environment
    tasks = [commands.task(step, environment) for step in plan.steps]
    with Scratch() as scratch:
        env = variables(original.host.env, environment, (), scratch.folder)
        env |= OFFLINE if original.request.offline else {}
        for number, each in enumerate(tasks):
            moved = attempted.moved[number] if number < len(attempted.moved) else ()
            label = f"applying step {number + 1} of {len(tasks)}"
            failed = _step(each, moved, environment, project, env, scratch, label, progress)
            if failed:
                return f"step {number + 1} failed: {failed}"
    return ""


def _step(
    each: Task,
    moved: Sequence[Change],
    environment: Environment,
    project: Path,
    env: Mapping[str, str],
    scratch: Scratch,
    label: str,
    progress: Progress,
) -> str:
    if each.kind is Kind.VARIABLES:
        return ""
    if each.kind is Kind.EDIT and each.step.edit is not None:
        inside = commands.is_inside(each.step.edit.file, environment)
        return edited(each.step.edit, environment.root if inside else project)
    command = each.step.command
    if command is not None and each.kind is Kind.RENAME:
        return renamed(Path(command.argv[-2]), Path(command.argv[-1]), environment.root)
    if command is None or each.kind in (Kind.REFUSED, Kind.CREATE):
        return each.why or "it is no command"
    if each.kind is Kind.REMOVE:
        return removed(command)
    exact = exactly(command, each, moved, scratch.folder / f"{time.monotonic_ns()}.txt")
    program = Host(env=env, cwd=project).which(exact.argv[0])
    if program is None:
        return f"{exact.argv[0]} is not on PATH"

    def ran(more: Mapping[str, str]) -> CompletedCommand:
        return run(
            [program, *exact.argv[1:]],
            timeout=_SECONDS,
            silence=_SILENCE,
            env={**env, **exact.env, **more},
            cwd=Path(exact.cwd) if exact.cwd else scratch.folder,
            limit=_LOG,
            merge=True,
            tick=lambda passed: progress(label, passed),
            mark=scratch.mark(),
            supervisor=scratch.supervisor,
        )

    # uv downloads again what it is to write again; the proof left it in the cache.
    names = rewritten_by(each.step)
    if names and ran(OFFLINE).ok and not differ(names, environment):
        return ""
    last = ran({})
    return "" if last.ok else why_not(last)


def exactly(command: Command, each: Task, moved: Sequence[Change], place: Path) -> Command:
    """Return an installation that takes the releases of the proof, and no others."""
    install = install_of(each.step)
    if install is None or not moved:
        return command
    lines = [f"{one.name}=={one.after}" for one in moved if one.after]
    place.write_text("\n".join(lines) + "\n", encoding="utf-8")
    # Behind the rest: `-e` and its folder stay together.
    argv = (*command.argv, "--constraint", str(place))
    return Command(argv=argv, env=command.env, cwd=command.cwd)


def _differs(original: Original, plan: Plan) -> str:
    """Return how the environment differs from the clone of the proof; empty where it does not."""
    wanted: dict[str, str | None] = dict(original.packages)
    for change in plan.changes:
        wanted[change.name] = change.after
    here = installed(original.environment)
    for name in sorted({*wanted, *here}):
        if wanted.get(name) != here.get(name):
            was = wanted.get(name) or "no release"
            return f"{name} is {here.get(name) or 'absent'} here, and {was} in the proof"
    return ""


def _checked(plan: Plan, original: Original, snapshot: Snapshot, progress: Progress) -> Repair:
    asked = original.request.check
    report = pipeline.check_whole(
        msgspec.structs.replace(asked, observe=msgspec.structs.replace(asked.observe, fresh=True)),
        of_progress(lambda what, passed: progress(f"checking again: {what}", passed)),
        host=_host(plan, original),
    )
    left = [found.id for found in actionable(report) if found.id in plan.solves]
    if left:
        _restore(snapshot, original)
        told = f"Restored: after the plan doctor still finds {', '.join(dict.fromkeys(left))}."
        return Repair(report=original.report, plan=plan, remarks=(told,))
    target = next(iter(report.observation.targets), None)
    undo = Command(argv=("doctor", "fix", "--undo", *(target.options if target else ())))
    remarks = [f"Applied, and checked again. `{line(undo)}` restores what was there before."]
    remarks += _to_be_set(plan)
    titles = {found.id: found.title for found in original.report.findings}
    return Repair(report=report, plan=plan, applied=True, remarks=tuple(remarks), titles=titles)


def _host(plan: Plan, original: Original) -> Host:
    wanted: dict[str, str | None] = {}
    for step in plan.steps:
        wanted |= commands.variables(step) or {}
    return Host(env=commands.with_variables(original.host.env, wanted), cwd=original.host.cwd)


def _to_be_set(plan: Plan) -> list[str]:
    if any(commands.variables(step) for step in plan.steps):
        return ["The variables are for your shell: set them as the plan says."]
    return []
