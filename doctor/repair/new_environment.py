"""Prove what a plan does in a new environment above one that is closed.

The new environment is made in a temporary folder by the plan's own command. It sees the packages of
the old one, so that an empty one stands for the state before the plan.
"""

from __future__ import annotations

import contextlib
import shlex
import time
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePath

import msgspec

from doctor.base.text import one_line
from doctor.environments.clone import Clone, clone
from doctor.environments.environment import Environment, environment_at
from doctor.environments.layout import CloneError
from doctor.environments.variables import variables
from doctor.fixes.environments import above, above_note, closed, linked_folders
from doctor.host import Host, run
from doctor.host.scratch import Scratch, ScratchError
from doctor.host.which import OWN_UV
from doctor.model.fixes import Command, Step
from doctor.model.plans import Plan
from doctor.observe.descriptions import TargetError
from doctor.redact import without_secrets
from doctor.repair import commands
from doctor.repair.commands import Kind, Places, Task
from doctor.repair.requests import Original

_SECONDS, _LOG, _TAIL = 300.0, 64 << 10, 300
_FLAGS = frozenset({"-m", "venv", "--seed", "--system-site-packages", "--python"})
_NOT_ABOVE = frozenset({Kind.CREATE, Kind.REMOVE, Kind.PROJECT})
_SHARES = "--system-site-packages"


class NewEnvironment(Clone):
    """A new environment in a temporary folder; `original` is the one whose packages it sees."""

    def translated(self, word: str) -> str:
        """Return a word of a command, with a program of the old environment replaced.

        Only what the new one has as well: a script of the old one goes on with its interpreter.
        """
        place = PurePath(word)
        inner = self.environment.scripts / place.name
        if place.is_absolute() and Path(place.parent) == self.original.scripts and inner.exists():
            return str(inner)
        return word


@contextlib.contextmanager
def unchanged(original: Original) -> Iterator[Clone]:
    """Make a place that is like the environment before any plan, for programs and imports.

    That is a clone. What doctor does not clone gets an empty environment above it, where a program
    cannot install into the old one. Raises CloneError.
    """
    if original.environment.kind != "system":
        with clone(original.environment, original.host) as copy:
            yield copy
        return
    _, steps = above(original.report.observation.facts)
    with environment_of(steps[0].command or Command(argv=()), original) as new:
        yield new


@contextlib.contextmanager
def environment_of(
    make: Command, original: Original, link: Command | None = None
) -> Iterator[NewEnvironment]:
    """Make the environment of a command in a temporary folder, which is removed at the end.

    `link` lets it see the packages of the old one. Raises CloneError where a command fails.
    """
    begun, old = time.monotonic(), original.environment
    with contextlib.ExitStack() as stack:
        try:
            scratch = stack.enter_context(Scratch())
            folder = scratch.folder / make.argv[-1]
            env = _variables(original, old, scratch)
            host = Host(env=env, cwd=original.host.cwd)
            offline = {"UV_OFFLINE": "1"} if original.request.offline else {}
            ran = run(
                [host.which(make.argv[0]) or make.argv[0], *make.argv[1:-1], str(folder)],
                timeout=max(min(original.seconds_left(), _SECONDS), 1.0),
                env={**env, **offline},
                cwd=scratch.folder,
                limit=_LOG,
                merge=True,
                mark=scratch.mark(),
                supervisor=scratch.supervisor,
            )
            if not ran.ok:
                text = without_secrets((ran.output or ran.why).strip())
                text = one_line(text.partition("error: ")[2] or text, _TAIL)
                raise CloneError(f"no new environment can be made: {text}")
            if link is not None:
                words = [str(_python(folder)), *link.argv[1:]]
                if not run(words, timeout=_SECONDS, env=env, cwd=scratch.folder).ok:
                    raise CloneError("the new environment cannot be linked with the old one")
            new = environment_at(_python(folder), original.host)
        except (ScratchError, TargetError, OSError) as error:
            raise CloneError(f"no new environment can be made: {error}") from error
        inside = _variables(original, new, scratch)
        yield NewEnvironment(
            environment=new,
            original=old,
            host=Host(env=inside, cwd=original.host.cwd),
            how={},
            seconds=time.monotonic() - begun,
            bytes=0,
            notes=(),
            scratch=scratch,
        )


def _variables(original: Original, environment: Environment, scratch: Scratch) -> dict[str, str]:
    """Return the variables for an environment; root may write bytecode into the old one as well."""
    env = variables(original.host.env, environment, (), scratch.folder)
    return {**env, "PYTHONPYCACHEPREFIX": str(scratch.folder / "bytecode")}


def _python(folder: Path) -> Path:
    windows = folder / "Scripts" / "python.exe"
    return windows if windows.exists() else folder / "bin" / "python"


@contextlib.contextmanager
def place_of(tasks: Sequence[Task], original: Original) -> Iterator[tuple[Clone, Places]]:
    """Make what a plan is carried out in: its new environment, else a clone; raises CloneError."""
    make = making(tasks)
    facts = original.report.observation.facts
    if make is None and not closed(facts):
        with clone(original.environment, original.host) as copy:
            yield copy, Places.between(original.environment, copy.environment)
        return
    if make is None:
        # What the next plan installs belongs above what is closed, so that this one is tried there.
        tasks = tuple(Task(one, Kind.CREATE) for one in above(facts)[1])
        tasks = (tasks[0], *(one._replace(kind=Kind.LINK) for one in tasks[1:]))
        make = tasks[0].step.command or Command(argv=())
    link = next((one.step.command for one in tasks[1:2] if one.kind is Kind.LINK), None)
    with environment_of(make, original, link) as new:
        yield new, _places(make, new.environment.root)


def _places(make: Command, root: Path) -> Places:
    return Places(((make.argv[-1], str(root)),))


def making(tasks: Sequence[Task]) -> Command | None:
    """Return the command with which a plan makes its environment; None where it makes none."""
    first = tasks[0] if tasks else None
    return first.step.command if first is not None and first.kind is Kind.CREATE else None


def tasks_of(steps: Sequence[Step], environment: Environment) -> tuple[Task, ...]:
    """Return what each step is; those after a new environment are judged by that one."""
    tasks = tuple(commands.task(step, environment) for step in steps)
    make = making(tasks)
    linked = any(_is_link(step, environment) for step in steps[1:2])
    if make is None or not _is_above(make.argv, environment, linked=linked):
        why = "it makes a new environment, which has nothing to be compared with"
        return tuple(
            Task(one.step, Kind.REFUSED, why) if one.kind is Kind.CREATE else one for one in tasks
        )
    root = Path("/", make.argv[-1]).absolute()
    new = msgspec.structs.replace(environment, root=root, folders=())
    places = _places(make, root)
    return (tasks[0], *(_above(step, places, new) for step in steps[1:]))


def _above(step: Step, places: Places, new: Environment) -> Task:
    told = commands.task(places.step(step), new)
    if told.kind in _NOT_ABOVE:
        return Task(step, Kind.REFUSED, "it changes more than the new environment")
    return told._replace(step=step)


def _is_link(step: Step, environment: Environment) -> bool:
    """Say whether a step lets a new environment see the packages of this one."""
    argv = step.command.argv if step.command is not None else ()
    return any(commands.is_inside(one, environment) for one in linked_folders(argv))


def _is_above(argv: Sequence[str], environment: Environment, *, linked: bool) -> bool:
    """Say whether a command makes an environment that sees this one, and does nothing else."""
    bare = PurePath(argv[0]).name == argv[0] and argv[0].removesuffix(".exe") == "uv"
    by_uv = bare or argv[0] == Host().with_own_uv().env.get(OWN_UV)
    names = [word for word in argv[int(by_uv) : -1] if word not in _FLAGS]
    return (
        (_SHARES in argv or linked)
        and len(names) == 1
        and commands.is_inside(names[0], environment)
    )


def begun(plan: Plan, original: Original) -> Plan:
    """Return a plan that makes the environment above a closed one, where it installs into that."""
    facts = original.report.observation.facts
    why = closed(facts)
    first = above(facts)[1] if why else ()
    folder = first[0].command.argv[-1] if first and first[0].command is not None else ""
    words = [word for one in plan.steps if one.command is not None for word in one.command.argv]
    inside = any(PurePath(folder) in PurePath(word).parents for word in words) if folder else False
    if not inside or beginning(plan.steps):
        return plan
    notes = tuple(dict.fromkeys((*plan.notes, above_note(why))))
    return msgspec.structs.replace(plan, steps=(*first, *plan.steps), notes=notes)


def followed(plan: Plan, more: Plan) -> Plan:
    """Return a plan for the environment that another one makes, which makes it as well."""
    first = beginning(plan.steps)
    if not first or more.steps[: len(first)] == first:
        return more
    rest = more.steps[len(beginning(more.steps)) :]
    return msgspec.structs.replace(more, steps=(*first, *rest))


def beginning(steps: Sequence[Step]) -> tuple[Step, ...]:
    """Return the steps that make a new environment above another; none where there are none."""
    words = [one.command.argv if one.command is not None else () for one in steps[:2]]
    if not words or "venv" not in words[0][1:3]:
        return ()
    link = len(words) > 1 and bool(linked_folders(words[1]))
    return tuple(steps[: 1 + link]) if link or _SHARES in words[0] else ()


def with_start(plan: Plan, make: Command | None, original: Original) -> Plan:
    """Return a plan that says how the user's program is started in the new environment."""
    if make is None or original.host.platform == "win32":
        return plan
    scripts, program = f"{make.argv[-1]}/bin", original.request.program
    name = PurePath(program[0]).name if program else "python"
    words = (f"{scripts}/{name}", *program[1:]) if program else (f"{scripts}/python", "PROGRAM")
    if not name.startswith("python"):
        text = f'Start your program with PATH="$PWD/{scripts}:$PATH" {shlex.join(program)}'
    else:
        text = f"Start your program with {shlex.join(words)}"
    proof = plan.proof and msgspec.structs.replace(
        plan.proof, why=f"{plan.proof.why}, in {make.argv[-1]}" if plan.proof.why else ""
    )
    return msgspec.structs.replace(
        plan, proof=proof, notes=tuple(dict.fromkeys((*plan.notes, text)))
    )
