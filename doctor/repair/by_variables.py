"""Bring a program further without one variable of the shell, or past a proxy."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from doctor.base.text import enumerate_words
from doctor.model.plans import Plan
from doctor.repair.failures import is_another
from doctor.repair.merging import combined
from doctor.repair.plan_reading import set_by
from doctor.repair.requests import Original
from doctor.repair.settings import (
    leaving_out,
    spoken_of,
    suspected,
    without_proxies,
    without_settings,
)
from doctor.repair.states import State, Trials

_ALONE, _NAMED = 4, 3
"""Variables that are tried one by one, and those that are named of several."""


def by_settings(
    state: State,
    trials: Trials,
    original: Original,
    goes_on: Callable[[], bool],
    *,
    by_value: bool = False,
) -> State | None:
    """Return the state without one variable of the shell that the failing packages read."""
    env = {**original.host.env, **set_by(state.plan)}
    ways = [what for what, _ in without_settings(state.failure, env, by_value=by_value)]
    if not by_value:
        # One run says whether any variable is the matter, of which no message need speak.
        ways += [name for name in suspected(env) if name not in ways]
        if not ways or _less(state, trials, ways) is None:
            return None
    return _first(state, trials, ways, goes_on)


def by_names(state: State, trials: Trials, original: Original) -> State | None:
    """Return the state without one variable of the shell that the message speaks of.

    Where it has the value, another failure is a step forward, wherever it lies: the program goes
    another way then, so that lines tell nothing. Not where it asks for the variable.
    """
    env = {**original.host.env, **set_by(state.plan)}
    for what, steps in without_proxies(state.failure, env):
        found = trials.ends(combined(state.plan, Plan(title="", steps=steps)), f"with {what}")
        if found is not None and trials.is_further(state, found, ["proxy"]):
            return found
    other: State | None = None
    for name in spoken_of(state.failure, env):
        plan = combined(state.plan, Plan(title="", steps=leaving_out([name])))
        found = trials.ends(plan, f"with {name} unset")
        if found is not None and trials.is_further(state, found, [name]):
            return found
        valued = name not in state.failure.error
        if valued and found is not None and is_another(state.failure, found.failure, name):
            other = other or found
    return other


def _first(
    state: State, trials: Trials, names: Sequence[str], goes_on: Callable[[], bool]
) -> State | None:
    """Return the state without one variable; by halves where there are several."""
    for name in names[:_ALONE] if len(names) <= _ALONE else ():
        if not goes_on():
            return None
        if (found := _less(state, trials, [name])) is not None:
            return found
    if len(names) <= _ALONE:
        return None
    half = len(names) // 2
    for part in (names[:half], names[half:]):
        if goes_on() and _less(state, trials, part) is not None:
            return _first(state, trials, part, goes_on)
    return None


def _less(state: State, trials: Trials, names: Sequence[str]) -> State | None:
    """Return the state without some variables, where the program comes further.

    A failure that names one of them is no step forward: the program asks for it.
    """
    plan = combined(state.plan, Plan(title="", steps=leaving_out(names)))
    more = [f"{len(names) - _NAMED} more variables"] if len(names) > _NAMED else []
    what = enumerate_words([*names[:_NAMED], *more])
    found = trials.ends(plan, f"with {what} unset")
    return found if found is not None and trials.is_further(state, found, names) else None
