"""Return packages to what the lists and the lock of the project say, where a program fails on them.

What the project asks for was green once. It comes before every other release.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

from doctor.environments.environment import Environment
from doctor.repair.bounds import is_met
from doctor.repair.examination import Bench
from doctor.repair.lists import Bound
from doctor.repair.merging import combined, moved_names
from doctor.repair.states import State, Trials
from doctor.repair.suspects import suspects

_MOST = 12


def by_every_list(
    state: State,
    trials: Trials,
    environment: Environment,
    lists: tuple[Sequence[Bound], Sequence[Bound]],
    limits: Mapping[str, str],
    bench: Bench,
    goes_on: Callable[[], bool],
) -> State | None:
    """Return a state by the lists that lead, then by those for something else."""
    bounds, wishes = lists
    held = bench.held
    wished = {one.name: one.specifier for one in wishes} | {**limits}
    leading = [one for one in bounds if one.leads]
    for some, within in ((leading, limits), (wishes, wished)):
        found = by_lists(state, trials, environment, some, within, held, goes_on)
        if found is not None or bench.held != held:
            return found
    return None


def by_lists(
    state: State,
    trials: Trials,
    environment: Environment,
    bounds: Sequence[Bound],
    limits: Mapping[str, str],
    held: Collection[str],
    goes_on: Callable[[], bool],
) -> State | None:
    """Return a state with a package that the failure speaks of in the range of the project.

    `limits` are specifiers by name; `held` packages stay. What left a lock together goes back
    together, where no single package helps.
    """
    out = {one.name for one in bounds if not is_met(trials.releases[one.name], one.specifier)}
    out -= moved_names(state.plan).union(held)
    blamed = suspects(state.failure, trials.here, environment) if out else ()
    shelf = trials.shelf(state, limits)
    for name in [one.name for one in blamed if one.name in out]:
        near = [lines[0] for up in (True, False) if (lines := shelf.lines(name, up=up))]
        for release in near if goes_on() else ():
            if found := trials.with_release(state, name, release):
                return found
    exact = {one.name: one.specifier for one in bounds if one.specifier.startswith("==")}
    names = sorted(out & exact.keys())
    if not blamed or not 1 < len(names) <= _MOST:
        return None
    plan = state.plan
    for name in names:
        plan = combined(plan, trials.plan_of(name, exact[name].removeprefix("==")))
    together = trials.ends(plan, f"with {len(names)} packages as the project says")
    return together if together and trials.is_further(state, together, names) else None
