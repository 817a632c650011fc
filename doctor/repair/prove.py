"""Prove plans in clones, one after the other, until one heals."""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence
from functools import partial
from typing import NamedTuple

import msgspec

from doctor.base.requirements import normalize_name
from doctor.environments.layout import CloneError
from doctor.facts.derive.reach import vendors_shown
from doctor.model.checks import Progress
from doctor.model.facts import value_of
from doctor.model.fixes import Step
from doctor.model.plans import Change, Plan, Proof, ProofVerdict
from doctor.repair.bounds import bounds_of, broken, noted
from doctor.repair.commands import Kind, Task
from doctor.repair.examination import Bench, Trial
from doctor.repair.failures import came_further, failure_of
from doctor.repair.guarding import guarded
from doctor.repair.leading import lead
from doctor.repair.limits import departures
from doctor.repair.merging import (
    combined,
    contradict,
    install_of,
    instead,
    is_idle,
    moved_names,
    pinned,
    steps_text,
    titled,
)
from doctor.repair.new_environment import followed, making, tasks_of, with_start
from doctor.repair.project import ProjectError
from doctor.repair.real import of_original, of_plan
from doctor.repair.requests import Original, actionable
from doctor.repair.resolve import compiles
from doctor.repair.trial import attempt

_MOST_ROUNDS, _IDLE_ROUNDS, _PLANS = 12, 4, 6
"""Rounds of one plan, and how many of them may end in a failure that was seen before."""
_NONE_KEEPS = "No plan that keeps to the lists of the project ends well"
_FAULT = "doctor itself failed in its trial"
_Found = tuple[tuple[str, str], ...]
"""Ids and titles of findings."""


class Attempted(NamedTuple):
    """A plan with its proof, and the packages that each of its steps moved.

    `healed` has ids and titles of findings that came up on the way, and that are gone at the end.
    """

    plan: Plan
    moved: tuple[tuple[Change, ...], ...] = ()
    healed: tuple[tuple[str, str], ...] = ()

    @property
    def ok(self) -> bool:
        """Return whether the plan is proved."""
        proof = self.plan.proof
        return proof is not None and proof.verdict is ProofVerdict.PROVED


def prove(
    plans: Sequence[Plan], original: Original, bench: Bench, progress: Progress
) -> Attempted | None:
    """Return the first plan that heals, with its proof; else the best one, with what is wrong.

    None where there is no plan, and the program leads to none.

    Where a plan leaves something, the plan of the clone's own report is added, and both together
    are tried anew, so that what is returned was proved from the original state.
    """
    begun = time.monotonic()
    tried: list[Plan] = []
    best: Attempted | None = None
    search = partial(lead, plans, original, bench, progress)
    led, leads = guarded(bench, "the search by the program", search), 0
    if led is not None:
        first = (led, bench.unpruned) if bench.unpruned is not None else (led,)
        leads, known = len(first), [one.steps for one in first]
        plans = (*first, *(one for one in plans if one.steps not in known))
    plans = without_held(plans, leads, bench.held)
    for number, plan in enumerate(plans[:_PLANS], 1):
        label = f"plan {number} of {len(plans)}, " if len(plans) > 1 else ""
        rounds = partial(_in_rounds, plan, original, bench, _labelled(progress, label))
        done = guarded(bench, f"plan {number}", rounds) or Attempted(
            _proof(plan, ProofVerdict.NOT_POSSIBLE, _FAULT, original)
        )
        done = done._replace(plan=_with_seconds(done.plan, time.monotonic() - begun))
        if best is None or done.ok or _rank(done.plan) < _rank(best.plan):
            best = done
        if done.ok or (led is not None and number >= leads) or original.seconds_left() <= 0:
            # Where the program leads, the other plans were tried on the way.
            others = (*plans[max(number, leads) :], *tried)
            break
        tried.append(done.plan)
    else:
        others = tuple(tried)
    if best is None:
        return None
    others = tuple(one for one in others if one.steps != best.plan.steps)
    if best.ok:
        # The program is the judge. What it did not judge may take away what it needs.
        facts = original.report.observation.facts
        judged = led is not None or bool(original.request.program)
        others = (*_longer(bench, original), *others)
        others = tuple(one for one in others if not judged and is_other_way(one, best.plan))
        others = tuple(one for one in others if not departures(one, facts))
    elif original.request.program:
        best, others = _within_lists(best, (*tried, *others), original)
    plan = noted(best.plan, bounds_of(original, original.packages)) if best.ok else best.plan
    if not best.ok:
        why = plan.proof.why if plan.proof is not None else ""
        plan = msgspec.structs.replace(plan, notes=(*plan.notes, *bench.words_in_vain(why)))
    return best._replace(plan=msgspec.structs.replace(plan, alternatives=_alone(others)))


def _within_lists(
    best: Attempted, others: Sequence[Plan], original: Original
) -> tuple[Attempted, tuple[Plan, ...]]:
    """Return an unproved plan that keeps to the lists of the project, and what else is worth a try.

    A plan that leaves them is worth it only where the program ends well.
    """
    bounds = bounds_of(original, original.packages)

    def keeps(plan: Plan) -> bool:
        return not any(one.leads for one in broken(plan.changes, bounds))

    if not keeps(best.plan):
        left = tuple(dict.fromkeys((*best.plan.leaves, *best.plan.solves)))
        proof = best.plan.proof
        ended = [one for one in others if one.proof is not None and one.steps and keeps(one)]
        empty = Plan(title=_NONE_KEEPS, leaves=left, proof=proof)
        best = Attempted(min(ended, key=_rank) if ended else empty)
    known = [best.plan]
    for one in others:
        if keeps(one) and not any(_is_part(one, plan) for plan in known):
            known.append(one)
    return best, tuple(known[1:])


def _is_part(plan: Plan, known: Plan) -> bool:
    """Say whether a plan does nothing but what another one does."""
    if plan.resolved and known.resolved:
        moves = {(one.name, one.after) for one in plan.changes}
        rest = [one for one in plan.steps if install_of(one) is None]
        done = {(one.name, one.after) for one in known.changes}
        return moves <= done and all(one in known.steps for one in rest)
    return all(one in known.steps for one in plan.steps)


def without_held(plans: Sequence[Plan], leads: int, held: Collection[str]) -> Sequence[Plan]:
    """Return plans that move nothing of what is held, unless there is no other.

    The program judged those in front, the `leads`: another round of its search held what they move.
    """
    rest = [one for one in plans[leads:] if not moved_names(one) & {*held}]
    return [*plans[:leads], *rest] or plans


def _longer(bench: Bench, original: Original) -> tuple[Plan, ...]:
    """Return the proved plan that ends as much and lifts a package farther; none where none is."""
    tried = bench.trials.get(steps_text(bench.longer)) if bench.longer is not None else None
    if bench.longer is None or tried is None or not tried.ok:
        return ()
    return (_judged(bench.longer, tried, original).plan,)


def is_other_way(plan: Plan, proved: Plan) -> bool:
    """Return whether a plan is worth showing beside a proved one: it ends as much, by other moves.

    One that compiles, or moves what the proved one moves and more, is worse than what is proved.
    """
    if compiles(plan) or not {*proved.solves} <= {*plan.solves}:
        return False
    here, there = moved_names(proved), moved_names(plan)
    return not (here <= there or there <= here)


def _alone(plans: Sequence[Plan]) -> tuple[Plan, ...]:
    return tuple(titled(msgspec.structs.replace(one, alternatives=())) for one in plans)


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


def _in_rounds(plan: Plan, original: Original, bench: Bench, progress: Progress) -> Attempted:
    """Try a plan, and with it what the clone still asks for, as long as that leads on."""
    waiting: list[tuple[Plan, _Found]] = [(plan, ())]
    known, failures = list[tuple[Step, ...]](), set[tuple[str, ...]]()
    best: Attempted | None = None
    farthest: Trial | None = None
    while waiting and _goes_on(known, failures) and original.seconds_left() > 0:
        now, seen = waiting.pop(0)
        if now.steps in known:
            continue
        tasks = tasks_of(now.steps, original.environment)
        if why := _not_possible(tasks):
            return best or Attempted(_proof(now, ProofVerdict.NOT_POSSIBLE, why, original))
        label = f"round {len(known) + 1}, " if known else ""
        known.append(now.steps)
        try:
            tried = attempt(now, tasks, original, bench, _labelled(progress, label))
        except (CloneError, ProjectError) as error:
            return best or Attempted(_proof(now, ProofVerdict.NOT_POSSIBLE, str(error), original))
        done = _judged(now, tried, original)
        if tried.ok:
            done = done._replace(plan=with_start(done.plan, making(tasks), original))
            return _with_healed(done, seen, tried, original)
        failures.add((tried.failed, *tried.wrong, *tried.left))
        seen = tuple(dict.fromkeys((*seen, *_titles(tried))))
        better = best is None or _rank(done.plan) < _rank(best.plan)
        if better and not (farthest is not None and goes_back(farthest, tried)):
            best, farthest = done, tried
        more: list[tuple[Plan, _Found]] = []
        for follow_up in tried.follow_ups:
            # What contradicts the plan may do without it.
            follow = followed(now, follow_up)
            more += [(instead(now, follow), ())] if contradict(now, follow) else []
            more.append((combined(now, follow), seen))
        waiting = [one for one in more if one[0].steps not in known] + waiting
    return best or Attempted(plan)


def goes_back(before: Trial, after: Trial) -> bool:
    """Say whether the program stops earlier, or elsewhere, than in another trial."""
    if before.program is None or after.program is None or after.program.ok:
        return False
    one, other = failure_of(before.program.text), failure_of(after.program.text)
    tops = {normalize_name(change.name).replace("-", "_") for change in after.changes}
    return before.program.ok or not (one.mark == other.mark or came_further(one, other, tops))


def _goes_on(known: Sequence[object], failures: Collection[object]) -> bool:
    """Say whether another round is worth its time: each new failure is a step out of several."""
    return len(known) < _MOST_ROUNDS and len(known) - len(failures) < _IDLE_ROUNDS


def _titles(tried: Trial) -> _Found:
    found = () if tried.report is None else actionable(tried.report)
    return tuple((one.id, one.title) for one in found)


def _with_healed(done: Attempted, seen: _Found, tried: Trial, original: Original) -> Attempted:
    """Return what was proved with the findings of the rounds before that are gone."""
    still = {*_titles(tried)}
    known = {*done.plan.solves, *(name for name, _ in seen)}
    met = [(f"requires/{one.package}", one.words) for one in tried.met]
    seen = of_original((*seen, *(one for one in met if one[0] not in known)), original)
    healed = tuple(one for one in seen if one not in still)
    names = (name for name, _ in healed if name not in done.plan.leaves)
    solves = tuple(dict.fromkeys((*done.plan.solves, *names)))
    plan = of_plan(msgspec.structs.replace(done.plan, solves=solves), original)
    return done._replace(plan=plan, healed=healed)


def _not_possible(tasks: Sequence[Task]) -> str:
    if not tasks:
        return "it has no steps"
    for number, one in enumerate(tasks, 1):
        if one.kind is Kind.REFUSED:
            return f"step {number} is not run in a clone: {one.why}"
    return ""


def _proof(plan: Plan, verdict: ProofVerdict, why: str, original: Original) -> Plan:
    return msgspec.structs.replace(
        plan, proof=Proof(verdict=verdict, why=why, open=_open(original))
    )


def _judged(plan: Plan, tried: Trial, original: Original) -> Attempted:
    proof = Proof(
        verdict=ProofVerdict.PROVED if tried.ok else ProofVerdict.NOT_PROVED,
        why=_why(tried),
        left=tried.left,
        open=(*_open(original), *tried.remarks),
    )
    plan = msgspec.structs.replace(plan, proof=proof)
    if tried.failed:
        return Attempted(titled(plan))
    cost = msgspec.structs.replace(plan.cost, seconds=round(tried.seconds, 1))
    still = set() if tried.report is None else {one.id for one in tried.report.findings}
    ended = tuple(one for one in plan.leaves if one not in still)
    plan = msgspec.structs.replace(
        plan,
        changes=tried.changes,
        resolved=True,
        cost=cost,
        solves=(*plan.solves, *ended),
        leaves=tuple(one for one in plan.leaves if one in still),
    )
    pins = pinned(plan, tried.by_step)
    kept = [
        number for number, _ in enumerate(pins.steps) if not is_idle(pins, tried.by_step, number)
    ]
    plan = msgspec.structs.replace(pins, steps=tuple(pins.steps[number] for number in kept))
    return Attempted(titled(plan), tuple(tried.by_step[number] for number in kept))


def _why(tried: Trial) -> str:
    if tried.ok:
        return tried.program.words_beside(tried.program_before) if tried.program else ""
    parts = [tried.failed, *tried.wrong]
    if tried.left:
        parts.append(f"still found: {', '.join(tried.left)}")
    return "; ".join(filter(None, parts))


def _open(original: Original) -> tuple[str, ...]:
    facts = original.report.observation.facts
    missing = []
    if not original.request.check.observe.canaries:
        known = "your program, " if original.request.program else ""
        missing.append(f"no canary ran: the proof is about {known}files, versions and imports")
    elif value_of(facts, "torch.version") and not vendors_shown(facts):
        missing.append("no GPU here: nothing ran on one")
    return tuple(missing)
