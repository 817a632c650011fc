"""Bring a program further without a move of any package.

The installed release comes again, a file of the project gets another name, or what comes from
outside stays out.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Sequence
from pathlib import Path

import msgspec

from doctor.model.fixes import Step
from doctor.model.plans import Plan
from doctor.repair.beside import beside, own_steps
from doctor.repair.bounds import project_lists, unmet_bounds
from doctor.repair.by_variables import by_names
from doctor.repair.damage import Damage, damaged, damaged_libraries, listed
from doctor.repair.examination import Bench
from doctor.repair.failures import misses
from doctor.repair.intruders import LISTS, without_intruders, without_lines
from doctor.repair.leftovers import leftovers
from doctor.repair.merging import combined, moved_names
from doctor.repair.moved import moved_editables, other_sources
from doctor.repair.plan_reading import set_by
from doctor.repair.project_settings import every_line, lines_spoken_of
from doctor.repair.reading import tops
from doctor.repair.rebuilding import rebuildings
from doctor.repair.requests import Original
from doctor.repair.shadows import shadows, unspoken
from doctor.repair.shell_files import entries, read_first
from doctor.repair.states import State, Trials, is_as_far
from doctor.repair.strays import strays
from doctor.repair.suspects import beneath, suspects
from doctor.repair.switches import switches
from doctor.repair.unowned import unowned

_FEW = 6
"""Lines of settings that are tried one by one."""
_HIDDEN = "failure/module-hidden"


def without_moves(state: State, trials: Trials, original: Original, bench: Bench) -> State | None:
    """Return a state in which the program comes further and no package moved; None without any."""
    return (
        by_reinstalling(state, trials, original)
        or _by_files_beside(state, trials, original)
        or by_names(state, trials, original)
        or _by_renaming(state, trials, original, bench)
        or _by_settings_of_project(state, trials, original)
        or _by_new_places(state, trials, original)
        or _by_building(state, trials, original)
        or _by_intruders(state, trials, original)
        or by_namespaces(state, trials, original)
        or _by_unowned_files(state, trials, original)
        or _without_leftovers(state, trials, original)
        or _by_renaming(state, trials, original, bench, unlikely=True)
        or _by_all_of_these(state, trials, original)
    )


def by_reinstalling(
    state: State, trials: Trials, original: Original, *, shared: bool = False
) -> State | None:
    """Return the state with the installed releases of damaged packages: nothing moves.

    Where a package `shared` a file with another one, a finding may know more: that comes last.
    """
    broken = [one for one in _broken(state, trials, original) if one.shared is shared]
    if not broken:
        return None
    found = trials.again(state, [one.package for one in broken])
    if found is None:
        return None
    notes = tuple(f"{one.package.name} {one.package.version}: {one.why}." for one in broken)
    return found._replace(
        plan=msgspec.structs.replace(found.plan, notes=(*found.plan.notes, *notes)),
        again=True,
    )


def _by_files_beside(state: State, trials: Trials, original: Original) -> State | None:
    """Return the state with a package again whose program or data file names what is gone."""
    roots = (original.request.check.observe.project.absolute(), original.host.cwd.parent)
    facts = original.report.observation.facts
    for one in beside(state.failure, trials.here, original.environment):
        package = one.package
        if package.direct_url:
            again = Plan(title="", steps=own_steps(package, facts, roots))
        else:
            again = trials.plan_of_again([package])
        if not again.steps or package.name in moved_names(state.plan):
            continue
        found = trials.ends(combined(state.plan, again), f"with {package.name} again")
        if found is not None and trials.is_further(state, found, ()):
            notes = (*found.plan.notes, f"{package.name} {package.version}: {one.why}.")
            return found._replace(plan=msgspec.structs.replace(found.plan, notes=notes), again=True)
    return None


def _broken(state: State, trials: Trials, original: Original) -> list[Damage]:
    """Return the damaged packages that a failure speaks of, and those beneath them."""
    around, here = original.environment, trials.here
    blamed = [one.name for one in suspects(state.failure, here, around)]
    found = damaged(blamed, here, around, beneath(state.failure, here, around))
    if state.ending.signal and not found:
        found = damaged_libraries(here, around)
    moved = moved_names(state.plan)
    return [one for one in found if one.package.name not in moved]


def _by_all_of_these(state: State, trials: Trials, original: Original) -> State | None:
    """Return the state with every damage and every hiding file mended, less what is needless.

    The message of one may be that of the next: "optional dependency is missing".
    """
    parts: list[tuple[Plan, str]] = []
    for one in _broken(state, trials, original):
        note = f"{one.package.name} {one.package.version}: {one.why}."
        parts.append((trials.plan_of_again([one.package]), note))
    modules = frozenset(top for one in trials.here.values() for top in tops(one))
    hiding = shadows(state.failure, modules, original.environment, original.host.cwd)
    parts += [(Plan(title="", steps=(one.step,)), one.note) for one in hiding]
    stray = unowned(state.failure, trials.here, original.environment)
    parts += [(Plan(title="", steps=(step,)), note) for _, step, note in stray]

    def ends(some: Sequence[tuple[Plan, str]], what: str) -> State | None:
        plan = state.plan
        for one, _ in some:
            plan = combined(plan, one)
        found = trials.ends(plan, what)
        return found if found is not None and trials.is_further(state, found, ()) else None

    found = ends(parts, "with all of these at once") if len(parts) > 1 else None
    for part in tuple(parts) if found is not None else ():
        rest = [one for one in parts if one is not part]
        fewer = ends(rest, "without one of these")
        if fewer is not None and found is not None and is_as_far(fewer, found):
            found, parts = fewer, rest
    if found is None:
        return None
    notes = (*found.plan.notes, *(note for _, note in parts))
    return found._replace(plan=msgspec.structs.replace(found.plan, notes=notes), again=True)


def _by_renaming(
    state: State, trials: Trials, original: Original, bench: Bench, *, unlikely: bool = False
) -> State | None:
    """Return the state with another name for a file that hides a module."""
    modules = frozenset(top for one in trials.here.values() for top in tops(one))
    place = (state.failure, modules, original.environment, original.host.cwd)
    listed = original.host.env.get("PYTHONPATH", "").split(os.pathsep)
    for shadow in unspoken(*place) if unlikely else shadows(*place, listed):
        plan = combined(state.plan, Plan(title="", steps=(shadow.step,)))
        found = trials.ends(plan, f"with {shadow.file.name} renamed")
        if found is not None and _went_on(state, found, shadow.file, trials):
            known = bench.titles.get(_HIDDEN, "")
            bench.titles[_HIDDEN] = f"{known}; {shadow.words}" if known else shadow.words
            plan = msgspec.structs.replace(
                found.plan,
                notes=(*found.plan.notes, shadow.note),
                solves=(*found.plan.solves, _HIDDEN),
            )
            return found._replace(plan=plan, again=True)
    return None


def _by_settings_of_project(state: State, trials: Trials, original: Original) -> State | None:
    """Return the state without a line of a settings file that the failure speaks of."""
    for step, note in lines_spoken_of(state.failure, original.host.cwd, read_first(original)):
        plan = combined(state.plan, Plan(title="", steps=(step,)))
        how = "a comment" if step.edit and step.edit.after.startswith("#") else "fewer words"
        found = trials.ends(plan, f"with {how} where {note}")
        if found is not None and trials.is_further(state, found, ()):
            plan = msgspec.structs.replace(found.plan, notes=(*found.plan.notes, f"{note}."))
            return found._replace(plan=plan, again=True)
    return None


def by_files_of_settings(
    state: State, trials: Trials, original: Original, goes_on: Callable[[], bool]
) -> State | None:
    """Return the state without one line of the settings that the failing packages read.

    The message need not speak of it. Many lines are halved, a few are tried one by one.
    """
    modules = [top for one in trials.here.values() for top in tops(one)]
    around = original.environment
    folders = original.host.cwd, around.root
    lines = list(every_line(state.failure, *folders, modules, read_first(original)))

    def less(some: Sequence[tuple[Step, str]], what: str) -> State | None:
        plan = combined(state.plan, Plan(title="", steps=tuple(step for step, _ in some)))
        found = trials.ends(plan, what)
        return found if found is not None and trials.is_further(state, found, ()) else None

    while len(lines) > _FEW:
        half = len(lines) // 2
        halves = (lines[:half], lines[half:])
        words = f"with {half} lines of settings less"
        lines = next((one for one in halves if goes_on() and less(one, words)), [])
    for line in lines:
        found = less([line], f"with a comment where {line[1]}") if goes_on() else None
        if found is not None:
            plan = msgspec.structs.replace(found.plan, notes=(*found.plan.notes, f"{line[1]}."))
            return found._replace(plan=plan, again=True)
    return None


def by_switches(
    state: State, trials: Trials, original: Original, listed: Collection[str]
) -> State | None:
    """Return the state with a variable that goes before a settings file of a library."""
    env = {**original.host.env, **set_by(state.plan)}
    modules = {top for one in trials.here.values() for top in tops(one)}
    for what, step in switches(state.failure, env, modules, listed):
        plan = combined(state.plan, Plan(title="", steps=(step,)))
        found = trials.ends(plan, f"with {what}")
        if found is not None and trials.is_further(state, found, ()):
            return found._replace(again=True)
    return None


def _by_new_places(state: State, trials: Trials, original: Original) -> State | None:
    """Return the state with an editable install from where its sources lie today."""
    roots = (original.request.check.observe.project.absolute(), original.host.cwd.parent)
    facts = original.report.observation.facts
    ways = [*moved_editables(state.failure, trials.here, facts, roots)]
    wanted = unmet_bounds(original, trials.releases)
    ways += other_sources(state.failure, wanted, trials.here, facts, roots[0])
    for name, steps, note in ways:
        if name in moved_names(state.plan):
            continue
        plan = combined(state.plan, Plan(title="", steps=steps))
        found = trials.ends(plan, f"with {name} from where it lies")
        if found is not None and trials.is_further(state, found, ()):
            plan = msgspec.structs.replace(found.plan, notes=(*found.plan.notes, note))
            return found._replace(plan=plan, again=True)
    return None


def _by_building(state: State, trials: Trials, original: Original) -> State | None:
    """Return the state with an extension of the project's own that was built again."""
    facts = original.report.observation.facts
    project = original.request.check.observe.project.absolute()
    for one in rebuildings(state.failure, trials.here, facts, project):
        plan = combined(state.plan, Plan(title="", steps=(one.step,)))
        found = trials.ends(plan, f"with {one.name} built again")
        if found is not None and trials.is_further(state, found, ()):
            plan = msgspec.structs.replace(found.plan, notes=(*found.plan.notes, one.note))
            return found._replace(plan=plan, again=True)
    return None


def by_namespaces(
    state: State, trials: Trials, original: Original, *, owned: bool = False
) -> State | None:
    """Return the state with another name for a file that ends a namespace of several packages.

    Where a package `owned` that file, another release of it may do without, and comes first.
    """
    project = original.request.check.observe.project.absolute()
    for file, step, note in strays(state.failure, original.environment, (project,)):
        path = f"{file.parent.name}/{file.name}"
        if any(path in listed(one) for one in trials.here.values()) is not owned:
            continue
        plan = combined(state.plan, Plan(title="", steps=(step,)))
        found = trials.ends(plan, f"with {path} renamed")
        if found is not None and _went_on(state, found, file, trials):
            plan = msgspec.structs.replace(found.plan, notes=(*found.plan.notes, note))
            return found._replace(plan=plan, again=True)
    return None


def _by_unowned_files(state: State, trials: Trials, original: Original) -> State | None:
    """Return the state with another name for a file of site-packages that no package owns."""
    for file, step, note in unowned(state.failure, trials.here, original.environment):
        plan = combined(state.plan, Plan(title="", steps=(step,)))
        found = trials.ends(plan, f"with {file.name} renamed")
        if found is not None and _went_on(state, found, file, trials):
            plan = msgspec.structs.replace(found.plan, notes=(*found.plan.notes, note))
            return found._replace(plan=plan, again=True)
    return None


def _without_leftovers(state: State, trials: Trials, original: Original) -> State | None:
    """Return the state without a package of which the metadata alone are left."""
    facts = original.report.observation.facts
    wanted = {one.name for one in project_lists(original).bounds}
    for name, steps, note in leftovers(state.failure, trials.here, wanted, facts):
        plan = combined(state.plan, Plan(title="", steps=steps))
        found = trials.ends(plan, f"without {name}")
        if found is not None and trials.is_further(state, found, [name]):
            plan = msgspec.structs.replace(found.plan, notes=(*found.plan.notes, note))
            return found._replace(plan=plan, again=True)
    return None


def _went_on(state: State, found: State, file: Path, trials: Trials) -> bool:
    """Say whether a program comes further without a file, and does not ask for that one."""
    asks = not found.ending.ok and misses(found.failure, file.name.partition(".")[0])
    return trials.is_further(state, found, ()) and not asks


def _by_intruders(state: State, trials: Trials, original: Original) -> State | None:
    modules = frozenset(top for one in trials.here.values() for top in tops(one))
    env = {**original.host.env, **set_by(state.plan)}
    by_signal = (state.ending.code or 0) < 0 or bool(state.ending.signal)
    around = original.environment
    ways = without_intruders(state.failure, env, around, modules, by_signal=by_signal)
    listed = entries(read_first(original), original.host.cwd, LISTS)
    lines = without_lines(state.failure, listed, around, modules, by_signal=by_signal)
    for what, steps in (*ways, *lines):
        plan = combined(state.plan, Plan(title="", steps=steps))
        found = trials.ends(plan, f"without {what}")
        if found is not None and trials.is_further(state, found, ()):
            return found
    return None
