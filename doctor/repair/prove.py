"""Prove plans in clones, one after the other, until one heals."""

from __future__ import annotations

import time
from collections.abc import Sequence

import msgspec

from doctor.environments.layout import CloneError
from doctor.facts.derive.reach import shown
from doctor.model.checks import Progress
from doctor.model.facts import value_of
from doctor.model.fixes import Step
from doctor.model.plans import Plan, Proof, ProofVerdict
from doctor.repair import commands
from doctor.repair.commands import Kind, Task
from doctor.repair.examination import Bench, Trial
from doctor.repair.merging import combined, pinned, without_idle
from doctor.repair.requests import Patient
from doctor.repair.trial import attempt

_ROUNDS, _PLANS = 3, 6


def prove(plans: Sequence[Plan], patient: Patient, progress: Progress) -> Plan:
    """Return the first plan that heals, with its proof; else the best one, with what is wrong.

    Where a plan leaves something, the plan of the clone's own report is added, and both together
    are tried anew, so that what is returned was proved from the original state.
    """
    begun = time.monotonic()
    bench = Bench(patient, progress)
    best: Plan | None = None
    rest = list(plans)
    for number, plan in enumerate(plans[:_PLANS], 1):
        rest.remove(plan)
        label = f"plan {number} of {len(plans)}, " if len(plans) > 1 else ""
        tried = _in_rounds(plan, patient, bench, _labelled(progress, label))
        done = _with_seconds(tried, time.monotonic() - begun)
        proof = done.proof
        if proof is not None and proof.verdict is ProofVerdict.PROVED:
            others = (*((best,) if best is not None else ()), *rest)
            return msgspec.structs.replace(done, alternatives=_alone(others))
        if best is None or _rank(done) < _rank(best):
            best = done
        if patient.left() <= 0:
            break
    if best is None:
        raise ValueError("no plan to prove")
    others = tuple(one for one in plans if one.title != best.title)
    return msgspec.structs.replace(best, alternatives=_alone(others))


def _alone(plans: Sequence[Plan]) -> tuple[Plan, ...]:
    return tuple(msgspec.structs.replace(one, alternatives=()) for one in plans)


def _rank(plan: Plan) -> tuple[int, int]:
    proof = plan.proof
    if proof is None:
        return (2, 0)
    return (int(proof.verdict is ProofVerdict.NOT_POSSIBLE), len(proof.left))


def _labelled(progress: Progress, label: str) -> Progress:
    return lambda what, passed: progress(label + what, passed)


def _with_seconds(plan: Plan, seconds: float) -> Plan:
    if plan.proof is None:
        return plan
    proof = msgspec.structs.replace(plan.proof, seconds=round(seconds, 1))
    return msgspec.structs.replace(plan, proof=proof)


def _in_rounds(plan: Plan, patient: Patient, bench: Bench, progress: Progress) -> Plan:
    """Try a plan, and with it what the clone still asks for, a few times."""
    known: list[tuple[Step, ...]] = []
    done = plan
    for number in range(1, _ROUNDS + 1):
        tasks = tuple(commands.task(step, patient.environment) for step in plan.steps)
        if why := _not_possible(tasks, patient):
            return _proof(plan, ProofVerdict.NOT_POSSIBLE, why, patient)
        label = f"round {number}, " if number > 1 else ""
        try:
            tried = attempt(plan, tasks, patient, bench, _labelled(progress, label))
        except CloneError as error:
            return _proof(plan, ProofVerdict.NOT_POSSIBLE, str(error), patient)
        done = _judged(plan, tried, patient)
        known.append(plan.steps)
        if tried.ok or tried.follow_up is None or patient.left() <= 0:
            break
        plan = combined(plan, tried.follow_up)
        if plan.steps in known:
            break
    return done


def _not_possible(tasks: Sequence[Task], patient: Patient) -> str:
    if not tasks:
        return "it has no steps"
    if any(one.kind in (Kind.PROJECT, Kind.EDIT, Kind.CREATE) for one in tasks):
        return "steps on the files of a project are not proved yet"
    for number, one in enumerate(tasks, 1):
        if one.kind is Kind.REFUSED:
            return f"step {number} is not run in a clone: {one.why}"
    return ""


def _proof(plan: Plan, verdict: ProofVerdict, why: str, patient: Patient) -> Plan:
    return msgspec.structs.replace(plan, proof=Proof(verdict=verdict, why=why, open=_open(patient)))


def _judged(plan: Plan, tried: Trial, patient: Patient) -> Plan:
    proof = Proof(
        verdict=ProofVerdict.PROVED if tried.ok else ProofVerdict.NOT_PROVED,
        why=_why(tried),
        left=tried.left,
        open=(*_open(patient), *tried.remarks),
    )
    plan = msgspec.structs.replace(plan, proof=proof)
    if tried.failed:
        return plan
    cost = msgspec.structs.replace(plan.cost, seconds=round(tried.seconds, 1))
    plan, _ = without_idle(pinned(plan, tried.by_step), tried.by_step)
    return msgspec.structs.replace(plan, changes=tried.changes, resolved=True, cost=cost)


def _why(tried: Trial) -> str:
    parts = [tried.failed, *tried.wrong]
    if tried.left:
        parts.append(f"still found: {', '.join(tried.left)}")
    return "; ".join(filter(None, parts))


def _open(patient: Patient) -> tuple[str, ...]:
    facts = patient.report.observation.facts
    missing = []
    if not patient.request.check.observe.canaries:
        missing.append("no canary ran: the proof is about files, versions and imports")
    elif value_of(facts, "torch.version") and not shown(facts):
        missing.append("no GPU here: nothing ran on one")
    return tuple(missing)
