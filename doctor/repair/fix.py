"""`doctor fix`: check a target, plan, and prove the plan where that is asked for."""

from __future__ import annotations

import time

import msgspec

from doctor.base.errors import UsageError
from doctor.host import Host
from doctor.model.checks import Progress
from doctor.model.plans import Plan, ProofVerdict
from doctor.model.watching import of_progress
from doctor.pipeline import check as pipeline
from doctor.repair.prove import prove
from doctor.repair.requests import FixRequest, Repair, patient_of
from doctor.repair.simple import plans_of


def silent(_what: str, _seconds: float) -> None:
    """Show no progress."""


def fix(request: FixRequest, progress: Progress = silent) -> Repair:
    """Check, plan and prove.

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
    plans = plans_of(report)
    plan = msgspec.structs.replace(plans[0], alternatives=plans[1:])
    if not request.prove or (plan.is_empty and not request.program):
        return Repair(report=report, plan=plan)
    patient = patient_of(request, host, report, deadline)
    if patient is None:
        raise UsageError("--prove: there is no interpreter to prove anything in")
    return Repair(report=report, plan=prove(plans, patient, progress))


def exit_code(repair: Repair) -> int:
    """Return 0 where nothing is to be done or the plan is proved, 1 where a finding stays."""
    plan: Plan = repair.plan
    if plan.is_empty:
        return 0
    proved = plan.proof is not None and plan.proof.verdict is ProofVerdict.PROVED
    return 0 if (proved or repair.applied) and not plan.leaves else 1
