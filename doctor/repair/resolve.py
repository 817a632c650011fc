"""Let the installer have the last word about a plan, by a dry run that changes nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from operator import itemgetter
from typing import NamedTuple

import msgspec

from doctor.base.requirements import normalize_name
from doctor.base.text import one_line
from doctor.environments.environment import Environment
from doctor.environments.installer import (
    Answer,
    Conflict,
    NoAnswer,
    NoAnswerReason,
    Resolution,
    dry_run,
)
from doctor.host import Host
from doctor.model.checks import Progress
from doctor.model.fixes import Step
from doctor.model.plans import Change, Plan
from doctor.repair import commands
from doctor.repair.commands import Kind, Task
from doctor.repair.merging import install_of, name_in, titled

_TEXT, _NAMED = 400, 3
_BLAMED = re.compile(r"Wheels are required for `([\w.-]{1,200})`")
_SIDES = 2
_DEPENDS = re.compile(r" depends on ", re.IGNORECASE)
_REQUIRED = re.compile(r"^(?:and )?you require ", re.IGNORECASE)
_PYTHON = re.compile(r"python(\d+\.\d+)")
_COMPILED = "it would be compiled"
_ASKED = (Kind.INSTALL, Kind.PROJECT)


class Confirmed(NamedTuple):
    """Plans that their installers can carry out, and why others were dropped."""

    plans: tuple[Plan, ...]
    remarks: tuple[str, ...]


def confirm(
    plans: Sequence[Plan],
    environment: Environment,
    host: Host,
    progress: Progress,
    *,
    sizes: bool = True,
) -> Confirmed:
    """Ask the installers about each plan: real changes and bytes; drop what cannot be.

    A plan is dropped where its requirements exclude each other, and where nothing would change.
    """
    kept: list[tuple[bool, Plan]] = []
    remarks: list[str] = []
    for number, plan in enumerate(plans, 1):
        progress(f"asking the installer, plan {number} of {len(plans)}", 0.0)
        tasks = [commands.task(step, environment) for step in plan.steps]
        answers = [(each, _answer(each, host, sizes=sizes)) for each in tasks]
        if why := _dropped(answers):
            remarks.append(f"Not offered: {titled(plan).title}: {why}")
            continue
        built = [
            text for each, one in answers if (text := without_wheels(one, each.step, environment))
        ]
        notes = tuple(
            dict.fromkeys((*plan.notes, *(f"{text[:1].upper()}{text[1:]}." for text in built)))
        )
        noted = msgspec.structs.replace(_with_changes(plan, answers), notes=notes)
        kept.append((bool(built), noted))
    # What has to be compiled may take an hour and fail.
    kept.sort(key=itemgetter(0))
    return Confirmed(tuple(plan for _, plan in kept), tuple(remarks))


def costed(plan: Plan, environment: Environment, host: Host) -> Plan:
    """Return a plan with the bytes that its own steps download, unknown where nobody can tell.

    Its notes say what these steps compile.
    """
    tasks = [commands.task(step, environment) for step in plan.steps]
    answers = [(each, _answer(each, host, sizes=True)) for each in tasks]
    sizes = [
        one.download_bytes if isinstance(one, Resolution) else None
        for _, one in answers
        if one is not None
    ]
    built = [text for each, one in answers if (text := without_wheels(one, each.step, environment))]
    told = tuple(f"{text[:1].upper()}{text[1:]}." for text in built)
    plan = msgspec.structs.replace(plan, notes=tuple(dict.fromkeys((*plan.notes, *told))))
    total = sum(one for one in sizes if one is not None) if sizes and None not in sizes else None
    return msgspec.structs.replace(
        plan, cost=msgspec.structs.replace(plan.cost, download_bytes=total)
    )


def without_wheels(answer: Answer | None, step: Step, environment: Environment) -> str:
    """Return which requirement of a step has no wheel, in words; empty where each has one."""
    if isinstance(answer, Resolution) and answer.builds:
        named = ", ".join(answer.builds[:_NAMED])
    elif _needs_build(answer):
        install = install_of(step)
        texts = install.requirements if install else ()
        blamed = set(_BLAMED.findall(_text(answer)))
        named = ", ".join([text for text in texts if name_in(text) in blamed] or sorted(blamed))
        named = named or ", ".join(texts[:_NAMED]) or "what it installs"
    else:
        return ""
    versions = [found[1] for one in environment.folders if (found := _PYTHON.search(str(one)))]
    python = f"Python {versions[0]}" if versions else "this Python"
    return f"no wheel of {named} for {python}: {_COMPILED}"


def compiles(plan: Plan) -> bool:
    """Return whether an installer said that a plan compiles something."""
    return any(_COMPILED in note for note in plan.notes)


def _answer(each: Task, host: Host, *, sizes: bool) -> Answer | None:
    command = each.step.command
    if each.kind not in _ASKED or command is None:
        return None
    return dry_run(command, host, sizes=sizes)


def _dropped(answers: Sequence[tuple[Task, Answer | None]]) -> str:
    """Return why a plan cannot be carried out, or would change nothing; empty otherwise."""
    for _, answer in answers:
        if isinstance(answer, Conflict) and not _lacks_wheels(answer):
            return conflict_words(answer.rules)
    idle = [isinstance(one, Resolution) and one.is_no_op for _, one in answers]
    forced = any("reinstall" in word for each, _ in answers for word in _words(each))
    if idle and all(idle) and not forced:
        return "it would change nothing."
    return ""


def conflict_words(rules: Sequence[str]) -> str:
    """Return a sentence about the two rules that exclude each other, as an installer names them.

    It leaves out what lies between: `depends on` may be the wish of another package on the way.
    """
    words = []
    for rule in rules:
        text = _DEPENDS.sub(" with what it needs asks for ", rule)
        text = _REQUIRED.sub("the plan keeps ", text)
        words.append(one_line(text.strip().rstrip("."), _TEXT))
    return f"{', and '.join(words)}." if words else "no releases go together for it."


def _needs_build(answer: Answer | None) -> bool:
    if isinstance(answer, NoAnswer):
        return answer.why is NoAnswerReason.NEEDS_BUILD
    return isinstance(answer, Conflict) and _lacks_wheels(answer)


def _lacks_wheels(found: Conflict) -> bool:
    """Say whether a conflict is only that a release has no wheel that fits: its source may do."""
    apart = len(found.rules) < _SIDES or any(" has wheels for " in rule for rule in found.rules)
    return apart and _BLAMED.search(found.text) is not None


def _text(answer: Answer | None) -> str:
    return answer.text if isinstance(answer, Conflict | NoAnswer) else ""


def _words(each: Task) -> tuple[str, ...]:
    return each.step.command.argv if each.step.command else ()


def _with_changes(plan: Plan, answers: Sequence[tuple[Task, Answer | None]]) -> Plan:
    """Return a plan with the changes and the bytes that the installers named."""
    asked = [answer for _, answer in answers if answer is not None]
    known = [answer for answer in asked if isinstance(answer, Resolution)]
    if not known or len(known) < len(asked):
        return plan
    sizes = [one.download_bytes for one in known]
    total = None if None in sizes else sum(size for size in sizes if size is not None)
    return msgspec.structs.replace(
        plan,
        changes=tuple(_folded(answers)),
        resolved=True,
        cost=msgspec.structs.replace(plan.cost, download_bytes=total),
    )


def _folded(answers: Sequence[tuple[Task, Answer | None]]) -> Iterator[Change]:
    """Yield the changes of all steps together, by name.

    Each step was asked about the environment as it is: what an earlier one removes and a later one
    names comes back.
    """
    found: dict[str, Change] = {}
    for each, answer in answers:
        if not isinstance(answer, Resolution):
            continue
        for change in answer.changes:
            before = found[change.name].before if change.name in found else change.before
            found[change.name] = Change(name=change.name, before=before, after=change.after)
        install = install_of(each.step)
        for text in install.requirements if install else ():
            name, _, release = text.partition("==")
            name = normalize_name(name.partition("[")[0])
            if release and name in found and found[name].after is None:
                found[name] = Change(name=name, before=found[name].before, after=release)
    yield from sorted(found.values(), key=lambda one: one.name)
