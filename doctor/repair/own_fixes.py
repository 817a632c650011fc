"""Plans out of the fixes that findings bring themselves, beside those of the planner."""

from __future__ import annotations

from collections.abc import Sequence

from doctor.environments.environment import Environment
from doctor.model.findings import Finding
from doctor.model.fixes import Fix
from doctor.model.plans import Plan
from doctor.model.report import Report
from doctor.repair import commands
from doctor.repair.commands import Kind
from doctor.repair.merging import combined, remains_last
from doctor.repair.requests import actionable

_KINDS = (Kind.INSTALL, Kind.REMOVE, Kind.VARIABLES)
_MOST = 3


def plans_of_fixes(report: Report, environment: Environment) -> tuple[Plan, ...]:
    """Return a few plans: the first has the first fix of each finding, the next one the second.

    Only fixes that doctor may carry out count; those with a condition come last,
    and so does what only hides a failure.
    """
    ways = {
        found.id: (found, usable)
        for found in actionable(report)
        if (usable := _usable(found, environment))
    }
    if not ways:
        return ()
    stay = tuple(dict.fromkeys(found.id for found in actionable(report) if found.id not in ways))
    number = min(max(len(usable) for _, usable in ways.values()), _MOST)
    return tuple(
        _plan([(found, usable[min(at, len(usable) - 1)]) for found, usable in ways.values()], stay)
        for at in range(number)
    )


def _usable(found: Finding, environment: Environment) -> tuple[Fix, ...]:
    fixes = [
        fix
        for fix in found.fixes
        if fix.safe
        and fix.steps
        and all(commands.task(step, environment).kind in _KINDS for step in fix.steps)
    ]
    return tuple(sorted(fixes, key=lambda fix: (bool(fix.use_if), not fix.lasting)))


def _plan(chosen: Sequence[tuple[Finding, Fix]], stay: tuple[str, ...]) -> Plan:
    title = "; ".join(dict.fromkeys(fix.title for _, fix in chosen))
    plan = Plan(title=title)
    for _, fix in chosen:
        plan = combined(plan, Plan(title=fix.title, steps=fix.steps))
    notes = tuple(
        f"{fix.title}: only if {' and '.join(fix.use_if)}." for _, fix in chosen if fix.use_if
    )
    solves = tuple(dict.fromkeys(found.id for found, _ in chosen))
    return remains_last(
        Plan(title=title, steps=plan.steps, solves=solves, leaves=stay, notes=notes)
    )
