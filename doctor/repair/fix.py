"""`doctor fix`: check a target, plan, confirm the plan, and prove it where that is asked for."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import NamedTuple

import msgspec

from doctor.base.errors import UsageError
from doctor.base.requirements import normalize_name
from doctor.environments.layout import CloneError
from doctor.host import Host
from doctor.model.checks import Progress
from doctor.model.plans import Plan, Proof, ProofVerdict
from doctor.model.report import Report
from doctor.model.scales import Severity
from doctor.model.watching import of_progress
from doctor.observe.runner.start import CACHES
from doctor.pipeline import check as pipeline
from doctor.repair.bounds import unmet_bounds, unmet_words
from doctor.repair.ending import Ending
from doctor.repair.examination import OFFLINE, Bench
from doctor.repair.guarding import faults_in_words, guarded
from doctor.repair.limits import stale_metadata, within_limits
from doctor.repair.links import by_links
from doctor.repair.merging import install_of, moved_names
from doctor.repair.nearest import nearest
from doctor.repair.own_fixes import plans_of_fixes
from doctor.repair.prove import Attempted, prove
from doctor.repair.reading import (
    Unmet,
    is_spoken_of,
    packages_in,
    packages_of,
    packages_of_command,
    read_program,
    unmet,
    without_twins,
)
from doctor.repair.requests import FixRequest, Original, Repair, actionable, original_of
from doctor.repair.resolve import confirm, costed

_MOST_LET_BE = 3


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
    host = Host().with_own_uv()
    # The program is the proof. Canaries take minutes and try what it may never use, so that they
    # come only where there is none, or where it cannot run here.
    first = request if not (request.prove and request.program) else _without_canaries(request)
    report = _checked(first, host, progress)
    original = original_of(first, host, report, deadline)
    if original is None:
        if request.prove:
            raise UsageError("--prove: there is no interpreter to prove anything in")
        return Outcome(Repair(report=report, plan=plan_of(report)))
    bench = Bench(original, progress)
    ended, impossible = _ran(original, bench)
    text = ended.text if ended is not None and not ended.ok else ""
    if first is not request and ended is None:
        report = _checked(request, host, progress)
        original = msgspec.structs.replace(original, request=request, report=report)
    original, others = _read(original, text)
    report, plan = original.report, plan_of(original.report)
    if ended is not None and ended.ok and not _errors(report):
        plan = _calm(report, ended, original.host.env)
        remarks = (*_let_be(others, plan), *_missed(original, plan))
        return Outcome(Repair(report=report, plan=plan, remarks=remarks), original)
    asked = Host(env={**host.env, **(OFFLINE if request.offline else {})}, cwd=host.cwd)
    several = (plan, *plan.alternatives)
    progress("asking the installer for the nearest releases", 0.0)
    known = unmet(original.problems), original.environment
    search = partial(nearest, report, _concerned(original), *known, asked)
    shortest = guarded(bench, "the search for the nearest releases", search)
    several = (shortest, *several) if shortest is not None else several
    if text:  # what the program needs may be another way than that of the fewest changes
        several += guarded(bench, "fixes", partial(plans_of_fixes, report, known[1])) or ()
    several = _distinct(tuple(by_links(one, bench.links) for one in several))
    facts = report.observation.facts
    confirmed = (
        confirm(several, original.environment, asked, progress) if several[0].steps else None
    )
    within = within_limits(confirmed.plans if confirmed else several, facts, original.environment)
    plans = tuple(alone(one) for one in within)
    remarks = confirmed.remarks if confirmed else ()
    remarks = (*remarks, *stale_metadata(original.environment, facts))
    if not plans:
        left = tuple(found.id for found in actionable(report))
        plans = (Plan(title="No plan of doctor's changes anything here", leaves=left),)
    proved = _proved(plans, original, bench, asked, (remarks, others), progress)
    if proved is not None:
        return proved
    plan = msgspec.structs.replace(plans[0], alternatives=plans[1:])
    if impossible:
        plan = _untried(plan, impossible)
    elif ended is not None:
        plan = _beside(plan, ended, () if ended.ok else bench.words_in_vain())
    remarks = (*remarks, *_let_be(others, plan), *_missed(original, plan), *faults_in_words(bench))
    return Outcome(Repair(report=report, plan=plan, remarks=remarks), original)


def _proved(
    plans: Sequence[Plan],
    original: Original,
    bench: Bench,
    host: Host,
    told: tuple[tuple[str, ...], Sequence[Unmet]],
    progress: Progress,
) -> Outcome | None:
    """Prove plans, with remarks and the requirements that are let be in `told`.

    None where nobody asks for a proof, or there is no plan and the program leads to none.
    """
    steps = [one for one in plans if one.steps]
    attempted = prove(steps, original, bench, progress) if original.request.prove else None
    if attempted is None:
        return None
    attempted = attempted._replace(plan=costed(attempted.plan, original.environment, host))
    repair = Repair(
        report=original.report,
        plan=attempted.plan,
        remarks=(
            *told[0],
            *_let_be(_still_unmet(original, attempted, told[1]), attempted.plan),
            *_missed(original, attempted.plan),
            *faults_in_words(bench),
        ),
        titles={**_on_the_way(attempted, bench), **_titles(original.report, attempted)},
    )
    return Outcome(repair, original, attempted)


def _titles(report: Report, attempted: Attempted) -> dict[str, str]:
    """Return the titles of what a plan heals; those of one kind as one text."""
    found = [(one.id, one.title) for one in actionable(report)]
    told: dict[str, dict[str, None]] = {}
    for name, title in (*found, *attempted.healed):
        told.setdefault(name, {})[title] = None
    moved = moved_names(attempted.plan)
    return {
        name: "; ".join(about(titles, moved))
        for name, titles in told.items()
        if name in attempted.plan.solves
    }


def about(titles: Collection[str], moved: Collection[str]) -> list[str]:
    """Return those of several titles that name what a plan moves; all where none does.

    An analyzer may have several explanations of one failure, and the plan tells which one it was.
    """
    words = [(one, f" {normalize_name(one)} ".replace(":", " ")) for one in titles]
    named = [one for one, text in words if any(f" {name} " in text for name in moved)]
    return named or [*titles]


def _on_the_way(attempted: Attempted, bench: Bench) -> dict[str, str]:
    return {name: bench.titles[name] for name in attempted.plan.solves if name in bench.titles}


def _ids(report: Report) -> tuple[str, ...]:
    return tuple(dict.fromkeys(found.id for found in actionable(report)))


def _errors(report: Report) -> bool:
    return any(found.severity is Severity.ERROR for found in actionable(report))


def _calm(report: Report, ended: Ending, env: Mapping[str, str]) -> Plan:
    """Return the plan where the program runs and nothing is an error: what runs is not moved."""
    left = _ids(report)
    plan = _beside(Plan(title="Nothing to do"), ended)
    notes = (f"not errors, so they are let be: {', '.join(left)}",) if left else ()
    return msgspec.structs.replace(plan, notes=(*notes, *_other_caches(env)))


def _without_canaries(request: FixRequest) -> FixRequest:
    observe = msgspec.structs.replace(request.check.observe, canaries=False)
    return msgspec.structs.replace(
        request, check=msgspec.structs.replace(request.check, observe=observe)
    )


def _checked(request: FixRequest, host: Host, progress: Progress) -> Report:
    return pipeline.check_whole(
        request.check,
        of_progress(lambda what, passed: progress(f"checking: {what}", passed)),
        host=host,
    )


def _read(original: Original, text: str) -> tuple[Original, tuple[Unmet, ...]]:
    """Return the original with what a failed program says, and requirements that are let be.

    An unmet requirement counts where the program, a finding or the plan names one of the two
    packages; many environments live with others.
    """
    asked, environment, report = original.request.check, original.environment, original.report
    if text:
        report = read_program(report, text, asked, environment)
    named = {one.name for one in packages_in(text, environment)} if text else set[str]()
    if text:
        named |= {one.name for one in packages_of_command(original.request.program, environment)}
    for found in actionable(report):
        named |= packages_of(found)
    if report.plan is not None:
        named |= {normalize_name(one.name) for one in report.plan.changes}
    problems = without_twins(unmet(original.problems), environment)
    concerned = [one for one in problems if is_spoken_of(one, named, environment)]
    if concerned:
        report = read_program(report, "", asked, environment, concerned)
    watched = frozenset(name for one in concerned for name in (one.package, one.wanted))
    original = msgspec.structs.replace(original, report=report, watched=watched)
    return original, tuple(one for one in problems if one not in concerned)


def _still_unmet(
    original: Original, attempted: Attempted, others: Sequence[Unmet]
) -> tuple[Unmet, ...]:
    """Return the requirements that a proof let be: all but those that the plan leaves by name."""
    if not attempted.ok:
        return tuple(others)
    left = {name.partition("/")[2] for name in attempted.plan.leaves}
    return tuple(one for one in unmet(original.problems) if one.package not in left)


def _let_be(others: Sequence[Unmet], plan: Plan) -> tuple[str, ...]:
    """Return sentences about the requirements that are not met and that a plan does not touch."""
    moved = {normalize_name(one.name) for one in plan.changes}
    apart = [one.text for one in others if not moved & {one.package, one.wanted}]
    told = [f"Let be, for nothing here speaks of it: {one}" for one in apart[:_MOST_LET_BE]]
    if more := len(apart) - len(told):
        told.append(f"Let be: {more} more unmet requirements.")
    return tuple(told)


def _missed(original: Original, plan: Plan) -> tuple[str, ...]:
    """Return sentences about lines of the project that are not met, and that a plan lets be."""
    here = {normalize_name(name): version for name, version in original.packages.items()}
    moved = {normalize_name(one.name) for one in plan.changes}
    found = [one for one in unmet_bounds(original, here) if one.name not in moved]
    return unmet_words(found, here)


def _concerned(original: Original) -> list[Unmet]:
    found = without_twins(unmet(original.problems), original.environment)
    return [one for one in found if _is_watched(one, original)]


def _is_watched(one: Unmet, original: Original) -> bool:
    return is_spoken_of(one, original.watched, original.environment)


def _distinct(plans: Sequence[Plan]) -> tuple[Plan, ...]:
    """Return plans that differ; one without steps only where there is no other."""
    found: list[Plan] = []
    for one in plans:
        if one.steps and all(_installs(one) != _installs(other) for other in found):
            found.append(one)
    return tuple(found or plans[:1])


def _installs(plan: Plan) -> list[object]:
    """Return what the steps of a plan do, without the options of installers."""
    parts = [(step, install_of(step)) for step in plan.steps]
    return [install.requirements if install else step for step, install in parts]


def _ran(original: Original, bench: Bench) -> tuple[Ending | None, str]:
    """Return how the program ends before any change, and why no copy could be made for it."""
    if not original.request.prove:
        return None, ""
    try:
        return bench.program(), ""
    except CloneError as error:
        return None, str(error)


def _untried(plan: Plan, why: str) -> Plan:
    """Return a plan of which nothing is known: without a run, an empty one is not calm."""
    if plan.is_empty:
        plan = msgspec.structs.replace(plan, title="Your program was not tried")
    return _unproved(plan, ProofVerdict.NOT_POSSIBLE, why)


def _beside(plan: Plan, ended: Ending, notes: Sequence[str] = ()) -> Plan:
    """Return a plan without steps, with what came of the program: calm only where it ran."""
    plan = msgspec.structs.replace(plan, notes=(*plan.notes, *notes))
    if ended.ok:
        title = f"{plan.title}: your program ran in a copy, exit code 0"
        return msgspec.structs.replace(plan, title=title) if plan.is_empty else plan
    why = f"your program {ended.words}" + (f": {ended.last_line}" if ended.last_line else "")
    if plan.is_empty:
        plan = msgspec.structs.replace(
            plan, title="Your program fails, and doctor does not see why"
        )
    return _unproved(plan, ProofVerdict.NOT_PROVED, why)


def _other_caches(env: Mapping[str, str]) -> tuple[str, ...]:
    """Return a sentence about folders that the shell names and that a copy does not use."""
    named = [f"{name}={env[name]}" for name in CACHES if env.get(name)]
    words = f"The copy kept its caches elsewhere. If it fails here, look at {', '.join(named)}."
    return (words,) if named else ()


def _unproved(plan: Plan, verdict: ProofVerdict, why: str) -> Plan:
    return msgspec.structs.replace(plan, proof=Proof(verdict=verdict, why=why))


def plan_of(report: Report) -> Plan:
    """Return the plan of a report, or one without steps that says what stays."""
    if report.plan is not None:
        return report.plan
    left = _ids(report)
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
