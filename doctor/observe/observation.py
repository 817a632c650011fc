"""Look at a host and its targets: probes, fact scripts, and the canaries whose needs are met."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timezone
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from doctor import __version__
from doctor.base.globs import matches_any
from doctor.base.time_limit import TIME_LIMIT
from doctor.host import Host
from doctor.host.threads import run_in_threads
from doctor.model.checks import Check, Kind
from doctor.model.facts import ASSUMED, Fact, Facts, present, unknown, value_of
from doctor.model.observation import Deselected, Log, Observation, Target, TargetKind
from doctor.model.outcomes import RED, Outcome, Verdict
from doctor.model.scales import Tier
from doctor.model.watching import Watcher
from doctor.observe.checkouts import find_workspace
from doctor.observe.descriptions import TargetError
from doctor.observe.installed.distributions import installed
from doctor.observe.installed.record_check import RecordCheck, look_early
from doctor.observe.run_probes import probes, run_probes
from doctor.observe.scene import Interpreter, ProbeInput
from doctor.observe.targets import Choice, choose_interpreter, describe
from doctor.redact import load_rules

_LAST = 5.0
"""Seconds that a judgement is given though the budget of the run is used up."""
_FOLLOWS = {
    "nvidia.capabilities": (
        *(
            "nvidia.gpus",
            "nvidia.visible",
            "nvidia.gpu_names",
            "nvidia.gpu_count",
            "nvidia.capability_min",
            "nvidia.capability_max",
        ),
        "torch.cuda_devices",
    ),
    "nvidia.driver_version": ("nvidia.driver_branch", "nvidia.cuda_version"),
}
"""What this machine says of its own GPU and driver, which does not hold of a declared one."""
FRAMEWORKS = ("torch", "jax", "tensorflow", "onnxruntime-gpu")
"""Distributions that make an interpreter worth examining where nobody asked for it."""


class Bounds(msgspec.Struct, frozen=True, kw_only=True):
    """The bounds of an examination: whether to run checks, their tier, and their seconds.

    `fresh` runs every check, also one whose verdict is known from an earlier run in the same
    environment. `changed` also recalls failures and what ran on a GPU.
    """

    canaries: bool = True
    fresh: bool = False
    changed: bool = False
    tier: Tier = Tier.QUICK
    timeout: float | None = None
    budget: float | None = None


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """What to look at, and how far to go.

    `settings` are variables that checks are told (checks/README.md).

    `in_project` is whether an environment that lies in the project is taken where no other is named
    or active.
    """

    host: Host
    project: Path
    python: str | None = None
    in_project: bool = True
    features: tuple[str, ...] = ()
    checks: Sequence[Check] = ()
    bounds: Bounds = Bounds()
    assumed: Mapping[str, Any] = msgspec.field(default_factory=dict)
    settings: Mapping[str, str] = msgspec.field(default_factory=dict)
    logs: Sequence[Log] = ()


def left_to_judge(budget: float | None, begun: float) -> float:
    """Return the seconds left for the diagnosis, which began at `started`; a few in any case."""
    return (
        TIME_LIMIT
        if budget is None
        else min(max(begun + budget - time.monotonic(), _LAST), TIME_LIMIT)
    )


def observe(
    request: Request,
    watcher: Watcher,
    meanwhile: Callable[[], object] = bool,
) -> Observation:
    """Look once at everything.

    Raises TargetError where the interpreter that was asked for does not start.

    `meanwhile` is called while the interpreter describes itself.
    """
    started = time.monotonic()
    scene, choice, why = _scene(request, meanwhile)
    targets = _targets(scene, choice, _elsewhere(request))
    watcher.targets(targets)
    deadline = started + request.bounds.budget if request.bounds.budget else float("inf")
    facts, failures = run_probes(scene, deadline=deadline)
    facts = with_assumed(facts, request.assumed)
    if why:
        facts["python.executable"] = unknown(why, "targets")
    observation = Observation(
        doctor_version=__version__,
        taken=datetime.now(timezone.utc).isoformat(timespec="seconds"),
        targets=targets,
        facts=facts,
        logs=tuple(request.logs),
        probe_failures=failures,
        static=not request.bounds.canaries,
    )
    if not request.bounds.canaries:
        return observation
    return _with_checks(observation, request, scene, deadline, watcher)


def with_assumed(facts: Facts, assumed: Mapping[str, Any]) -> dict[str, Fact]:
    """Return facts as if what is assumed were there, in place of what was seen of it."""
    told = {name for declared in assumed for name in _FOLLOWS.get(declared, ())}
    kept = {name: fact for name, fact in facts.items() if name not in told}
    return kept | {name: present(value, ASSUMED) for name, value in assumed.items()}


def _scene(
    request: Request, meanwhile: Callable[[], object]
) -> tuple[ProbeInput, Choice | None, str]:
    workspace = find_workspace(request.project)
    alone = ProbeInput(
        host=request.host, project=request.project, workspace=workspace, features=request.features
    )
    try:
        choice = choose_interpreter(
            request.host, request.python, request.project if request.in_project else None
        )
        interpreter, early = _described(request.host, choice.path, meanwhile)
    except TargetError as error:
        if request.python is not None or workspace is None:
            raise
        return alone, None, str(error)
    distributions = installed(interpreter.path)
    if (
        workspace
        and choice.by_chance
        and not any(each.name in FRAMEWORKS for each in distributions)
    ):
        # Whatever python3 a Rust programmer's shell happens to hold is no target.
        return alone, None, ""
    return (
        msgspec.structs.replace(
            alone, interpreter=interpreter, distributions=distributions, early=early
        ),
        choice,
        "",
    )


def _described(
    host: Host, path: Path, meanwhile: Callable[[], object]
) -> tuple[Interpreter, RecordCheck | None]:
    """Start the interpreter, and load the probes and what blanks secrets while it answers.

    A look at the files beside it begins as well.
    """
    early: list[RecordCheck | None] = []

    def load() -> None:
        early.append(look_early(host, path))
        probes()
        load_rules()
        meanwhile()

    said = run_in_threads({"": partial(describe, host, path)}, meanwhile=load)
    return said[""], early[0]


def _elsewhere(request: Request) -> str:
    """Return the project folder where it is not the current folder."""
    folder = (request.host.cwd / request.project).resolve()
    return "" if folder == request.host.cwd.resolve() else str(folder)


def _targets(scene: ProbeInput, choice: Choice | None, project: str) -> tuple[Target, ...]:
    found = []
    if scene.interpreter and choice:
        found.append(
            Target(
                name="interpreter",
                kind=TargetKind.INTERPRETER,
                path=scene.interpreter.executable,
                chosen_by=choice.chosen_by,
                project=project,
            )
        )
    if scene.workspace:
        found.append(
            Target(
                name="cargo",
                kind=TargetKind.CARGO,
                path=str(scene.workspace),
                chosen_by="--project",
                project=project,
            )
        )
    return tuple(found)


def _with_checks(
    observation: Observation, request: Request, scene: ProbeInput, deadline: float, watcher: Watcher
) -> Observation:
    # Threads, pipes, temporary folders and derived facts, which the static check does without here.
    from doctor.facts.derive.reach import vendors_shown
    from doctor.host.keeping import cache_folder
    from doctor.observe.cache import Store, fingerprint
    from doctor.observe.run_checks import check_all, concerns, plans_for, unmet_need

    bounds, facts = request.bounds, observation.facts
    plans = {
        kind: msgspec.structs.replace(
            plan,
            settings={**plan.settings, **request.settings},
            tier=bounds.tier,
            timeout=bounds.timeout,
            deadline=deadline,
        )
        for kind, plan in plans_for(observation.targets, request.host, facts).items()
    }
    possible = [
        check for check in request.checks if check.header.target in plans and concerns(check, facts)
    ]
    pending = [check for check in possible if _in_tier(check, bounds.tier, facts)]
    deselected = [
        check for check in possible if check not in pending and not unmet_need(check, facts)
    ]
    watcher.static(observation, tuple(check.id for check in pending))
    where = cache_folder(request.host.env)
    before = fingerprint(scene, facts) if where else ""
    store = Store(
        where,
        before,
        has_gpu=bool(vendors_shown(facts)),
        fresh=bounds.fresh,
        changed=bounds.changed,
    )
    done = check_all(pending, plans, facts, watcher, store)
    store.save(lambda: fingerprint(scene, facts))
    return msgspec.structs.replace(
        observation,
        facts={**facts, **done.facts},
        outcomes=done.outcomes,
        deselected=tuple(
            Deselected(
                id=check.id,
                summary=check.header.summary,
                tier=check.header.tier,
                seconds=check.header.timeout,
            )
            for check in deselected
        ),
        interrupted=done.interrupted,
    )


def _in_tier(check: Check, tier: Tier, facts: Facts) -> bool:
    header = check.header
    return (
        header.tier is Tier.QUICK
        or tier is Tier.DEEP
        or (header.quick_where != "" and value_of(facts, header.quick_where) is True)
    )


def selected_checks(
    checks: Mapping[str, Check], only: Sequence[str], skip: Sequence[str]
) -> tuple[Check, ...]:
    """Return the checks that the globs of `--only` and `--skip` leave.

    What another check leans on stays.
    """
    kept = [check for check in checks.values() if not only or matches_any(check.id, only)]
    kept = [check for check in kept if not matches_any(check.id, skip)]
    targets = {check.header.target for check in kept}
    facts = [
        check
        for check in checks.values()
        if check.header.kind is Kind.FACTS and check.header.target in targets
    ]
    needed = [check for check in facts if check not in kept and not matches_any(check.id, skip)]
    return (*needed, *kept)


def ran_anything(outcomes: Iterable[Outcome]) -> bool:
    """Say whether any check came to a verdict about the target."""
    return any(outcome.verdict in (Verdict.PASSED, *RED) for outcome in outcomes)
