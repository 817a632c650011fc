"""Make plans out of the fixes of findings, without a search."""

from __future__ import annotations

from doctor.model.fixes import Fix
from doctor.model.plans import Cost, Plan
from doctor.model.report import Report
from doctor.repair.merging import combined
from doctor.repair.requests import actionable


def plans_of(report: Report) -> tuple[Plan, ...]:
    """Return a plan of the first fix of each finding, and others that begin with another fix."""
    findings = actionable(report)
    solves = tuple(dict.fromkeys(found.id for found in findings))
    leaves = tuple(found.id for found in findings if not found.fixes)
    first = [found.fixes[0] for found in findings if found.fixes]
    if not first:
        return (Plan(title="Nothing to do", leaves=leaves),)
    plans = [_plan(first, solves, leaves)]
    others = next((found.fixes[1:] for found in findings if len(found.fixes) > 1), ())
    plans += [_plan([other, *first[1:]], solves, leaves) for other in others]
    return tuple(plans)


def _plan(fixes: list[Fix], solves: tuple[str, ...], leaves: tuple[str, ...]) -> Plan:
    plan = Plan(title=fixes[0].title, solves=solves, leaves=leaves)
    for fix in fixes:
        plan = combined(plan, Plan(title="", steps=fix.steps))
    cost = Cost(sudo=any(f.sudo for f in fixes), reboot=any(f.reboot for f in fixes))
    return Plan(title=plan.title, steps=plan.steps, solves=solves, leaves=leaves, cost=cost)
