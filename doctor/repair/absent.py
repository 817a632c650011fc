"""Install what the lists of the project name and nobody installed, in place of a namesake.

Distributions of different people may bring a module of one name: `slugify` and `python-slugify`.
No metadata complain where the wrong one is installed. One that nobody asks for goes.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

import msgspec

from doctor.base.requirements import normalize_name
from doctor.fixes import installer
from doctor.model.fixes import Step
from doctor.observe.scene import Distribution
from doctor.repair.bounds import project_lists
from doctor.repair.merging import combined, instead, moved_names
from doctor.repair.reading import every_line, tops
from doctor.repair.requests import Original
from doctor.repair.states import State, Trials
from doctor.timelines.names import distributions_of

_MOST = 4


def by_absent(
    state: State, trials: Trials, original: Original, limits: Mapping[str, str]
) -> State | None:
    """Return a state with a package that the project lists and that is absent; None without any."""
    bounds = [one for one in project_lists(original).bounds if one.leads]
    listed = {one.name for one in bounds}
    absent = sorted(listed - trials.here.keys() - moved_names(state.plan))
    facts = original.report.observation.facts
    for name in absent[:_MOST]:
        release = trials.shelf(state, limits).newest(name, limits.get(name, ""))
        if not release:
            continue
        plan = trials.plan_of(name, release)
        gone = sorted(namesakes(name, trials.here, listed))
        made = installer.uninstall(gone, facts) if gone else ()
        removals = tuple(Step(command=each) for each in made)
        plan = combined(state.plan, instead(plan, plan, (*removals, *plan.steps)))
        found = trials.ends(plan, f"with {name} {release}, which the project lists")
        if found is not None and trials.is_further(state, found, {name, *gone}):
            note = f"{name} is in the lists of the project, and is not installed."
            return found._replace(
                plan=msgspec.structs.replace(found.plan, notes=(*found.plan.notes, note))
            )
    return None


def namesakes(
    name: str, here: Mapping[str, Distribution], listed: Collection[str]
) -> frozenset[str]:
    """Return installed packages with a module of a package's name, which nobody asks for."""
    words, found = {*name.split("-"), name.replace("-", "_")}, set[str]()
    for one in here.values():
        modules = {top for top in tops(one) if top.isidentifier()}
        known = any(name in distributions_of(top) for top in modules)
        if one.name not in listed and (known or {top.lower() for top in modules} & words):
            found.add(one.name)
    for one in here.values() if found else ():
        found -= {normalize_name(line.name) for line in every_line(one)}
    return frozenset(found - {"pip", "setuptools"})
