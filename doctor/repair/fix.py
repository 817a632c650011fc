"""`doctor fix`: check a target, plan, confirm the plan, and prove it where that is asked for."""

from __future__ import annotations

import time
from typing import NamedTuple

import msgspec

from doctor.base.errors import UsageError
from doctor.environments.layout import CloneError
from doctor.host import Host
from doctor.model.checks import Progress
from doctor.model.plans import Plan, Proof, ProofVerdict
from doctor.model.report import Report
from doctor.model.watching import of_progress
from doctor.pipeline import check as pipeline
from doctor.repair.examination import Bench, Ending
from doctor.repair.prove import Attempted, prove
from doctor.repair.reading import read_program
from doctor.repair.requests import FixRequest, Original, Repair, actionable, original_of
from doctor.repair.resolve import confirm
from doctor.repair.trial import OFFLINE


def silent(_what: str, _seconds: float) -> None:
    """Show no progress."""


class Outcome(NamedTuple):
    """What was found out, and what is needed to apply it."""

    repair: Repair
    original: Original | None = None
    attempted: Attempted | None = None


def fix(request: FixRequest, progress: Progress = silent) -> Outcome:
    """Check, plan, confirm and prove.

    Raises UsageError for a mistake in the request, another DoctorError where the target cannot be
    examined.
    """
    deadline = time.monotonic() + request.seconds
    host = Host()
    report = pipeline.check(
        request.check,
        of_progress(lambda what, passed: progress(f"checking: {what}", passed)),
        host=host,
    )
    original = original_of(request, host, report, deadline)
    if original is None:
        if request.prove:
            raise UsageError("--prove: there is no interpreter to prove anything in")
        return Outcome(Repair(report=report, plan=plan_of(report)))
    bench = Bench(original, progress)
    ended, impossible = _ran(original, bench)
    if ended is not None and not ended.ok:
        report = read_program(report, ended.text, request.check, original.environment)
        original = msgspec.structs.replace(original, report=report)
    plan = plan_of(report)
    asked = Host(env={**host.env, **(OFFLINE if request.offline else {})}, cwd=host.cwd)
    several = (plan, *plan.alternatives)
    confirmed = confirm(several, original.environment, asked, progress) if plan.steps else None
    plans = tuple(alone(one) for one in (confirmed.plans if confirmed else several))
    remarks = confirmed.remarks if confirmed else ()
    if not plans:
        left = tuple(found.id for found in actionable(report))
        plans = (Plan(title="No plan of doctor's changes anything here", leaves=left),)
    if request.prove and plans[0].steps:
        attempted = prove([one for one in plans if one.steps], original, bench, progress)
        repair = Repair(report=report, plan=attempted.plan, remarks=remarks)
        return Outcome(repair, original, attempted)
    plan = msgspec.structs.replace(plans[0], alternatives=plans[1:])
    if impossible:
        plan = _unproved(plan, ProofVerdict.NOT_POSSIBLE, impossible)
    elif ended is not None:
        plan = _beside(plan, ended)
    return Outcome(Repair(report=report, plan=plan, remarks=remarks), original)


def _ran(original: Original, bench: Bench) -> tuple[Ending | None, str]:
    """Return how the program ends before any change, and why no copy could be made for it."""
    if not original.request.prove:
        return None, ""
    try:
        return bench.program(), ""
    except CloneError as error:
        return None, str(error)


def _beside(plan: Plan, ended: Ending) -> Plan:
    """Return a plan without steps, with what came of the program: calm only where it ran."""
    if ended.ok:
        title = f"{plan.title}: your program ran in a copy, exit code 0"
        return msgspec.structs.replace(plan, title=title) if plan.is_empty else plan
    why = f"your program {ended.words}" + (f": {ended.last_line}" if ended.last_line else "")
    if plan.is_empty:
        plan = msgspec.structs.replace(
            plan, title="Your program fails, and doctor does not see why"
        )
    return _unproved(plan, ProofVerdict.NOT_PROVED, why)


def _unproved(plan: Plan, verdict: ProofVerdict, why: str) -> Plan:
    return msgspec.structs.replace(plan, proof=Proof(verdict=verdict, why=why))


def plan_of(report: Report) -> Plan:
    """Return the plan of a report, or one without steps that says what stays."""
    if report.plan is not None:
        return report.plan
    left = tuple(dict.fromkeys(found.id for found in actionable(report)))
    return Plan(title="No fix is known" if left else "Nothing to do", leaves=left)


def alone(plan: Plan) -> Plan:
    """Return a plan without its alternatives."""
    return msgspec.structs.replace(plan, alternatives=())


def exit_code(repair: Repair) -> int:
    """Return 0 where nothing is to be done or the plan is proved, 1 where a finding stays."""
    plan = repair.plan
    if plan.is_empty and plan.proof is None:
        return 0
    if repair.applied:
        return 1 if plan.leaves else 0
    proved = plan.proof is not None and plan.proof.verdict is ProofVerdict.PROVED
    return 0 if proved and not plan.leaves else 1
