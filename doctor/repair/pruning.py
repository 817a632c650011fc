"""Take out of a plan what the program does without, once the program ends well.

A step of an early round may have become needless by a later one. Halves are tried before single
packages, so a plan of which much can go takes few runs.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from pathlib import PurePath
from typing import TypeAlias

import msgspec

from doctor.base.text import enumerate_words
from doctor.model.fixes import Step
from doctor.model.plans import Plan
from doctor.repair.commands import variables
from doctor.repair.merging import install_of, name_in, named_in, uninstalled, without
from doctor.repair.reading import Unmet
from doctor.repair.states import State, Trials

_RUNS, _NAMED = 6, 3
_Unit: TypeAlias = "str | Step"
"""A package that a plan installs, or one of its other steps."""


def pruned(
    state: State, trials: Trials, needed: Collection[str], goes_on: Callable[[], bool]
) -> State:
    """Return a state without what the program does without; `needed` are packages that stay."""
    units = [one for one in _units(state.plan) if isinstance(one, Step) or one not in needed]
    half = (len(units) + 1) // 2
    waiting = [units[:half], units[half:]]
    runs = 0
    while waiting and runs < _RUNS and goes_on():
        group = waiting.pop(0)
        plan = _less(state.plan, group)
        if group and plan.steps:
            runs += 1
            fewer = trials.ends(plan, f"without {enumerate_words(_words(group)[:_NAMED])}")
            along = any(trials.still_moves(plan, one) for one in group if isinstance(one, str))
            if fewer is not None and fewer.ending.ok and not along:
                state = fewer
                continue
        if len(group) > 1:
            half = len(group) // 2
            waiting = [group[:half], group[half:], *waiting]
    return state


def still_needed(problems: Sequence[Unmet], moved: Collection[str]) -> set[str]:
    """Return what requirements ask for; another release of who asks may not ask for it."""
    return {one.wanted for one in problems if one.package not in moved}


def _units(plan: Plan) -> list[_Unit]:
    found: dict[str, _Unit] = {}
    for number, step in enumerate(plan.steps):
        install = install_of(step)
        for text in install.requirements if install else ():
            found[name_in(text)] = name_in(text)
        # What is installed in another release need not go first.
        gone = {*uninstalled(step)} & named_in(plan).keys()
        if step.edit is not None or variables(step) is not None or gone or _renamed(step):
            found[f"step {number}"] = step
    return list(found.values())


def _renamed(step: Step) -> str:
    """Return the name of the file that a step renames; empty where it does something else."""
    argv = step.command.argv if step.command is not None else ()
    return PurePath(argv[-2]).name if len(argv) > 2 and argv[0] == "mv" else ""


def _less(plan: Plan, units: Sequence[_Unit]) -> Plan:
    for one in units:
        if isinstance(one, str):
            plan = without(plan, one)
        else:
            steps = tuple(step for step in plan.steps if step != one)
            plan = msgspec.structs.replace(plan, steps=steps)
    return plan


def _words(units: Sequence[_Unit]) -> list[str]:
    return [one if isinstance(one, str) else _word(one) for one in units]


def _word(step: Step) -> str:
    """Return what a step changes: the variable or the file."""
    if step.edit is not None:
        return f"the change of {PurePath(step.edit.file).name}"
    if gone := uninstalled(step):
        return f"the removal of {enumerate_words(gone)}"
    if name := _renamed(step):
        return f"another name for {name}"
    names = [*(variables(step) or {})]
    return f"the change of {enumerate_words(names)}" if names else "a variable"
