"""Start one unit in the target interpreter, alone or in the fork server, and read its result."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from doctor.base.bundled import bundled
from doctor.host import Bounds, CompletedCommand, run
from doctor.host.fork_server import ForkServerError
from doctor.host.removal import remove_tree
from doctor.host.scratch import Scratch
from doctor.model.checks import Reach
from doctor.model.outcomes import Verdict
from doctor.observe.runner.resources import lacking, spared
from doctor.observe.runner.units import Unit
from doctor.observe.runner.verdicts import Batch, judged

_BOOT = (
    "import runpy,sys;sys.path[:]=[p for p in sys.path if "
    "p];sys.argv=sys.argv[1:];runpy.run_path(sys.argv[0],run_name='__main__')"
)
_LOG_LIMIT = 256 << 10
_UNTOLD = frozenset({Verdict.CRASHED, Verdict.TIMED_OUT, Verdict.BROKEN})
"""Ends that a fork itself can bring about; a wrong number is not one of them."""
_STACK = 5.0
"""Seconds before the time limit at which a script that still runs prints its stack.

A busy machine starts it late, and it counts from its own start.
"""
_FIRST_SHARE = 0.4
"""Of the bound, for the first fork on a kind of device.

Where it hangs, the rest goes to a start of its own. So a hang costs one bound.
"""
_OF_THE_FORK = "in forked subprocess"
"""What torch says of CUDA where the parent had touched it."""
CACHES = {
    "TORCHINDUCTOR_CACHE_DIR": "inductor",
    "TRITON_CACHE_DIR": "triton",
    "TRITON_HOME": "triton-home",
    "TORCH_EXTENSIONS_DIR": "extensions",
    "CUDA_CACHE_PATH": "cuda",
    "XDG_CACHE_HOME": "cache",
    "TORCH_HOME": "torch",
    "NUMBA_CACHE_DIR": "numba",
    "MPLCONFIGDIR": "matplotlib",
}
"""Every folder that a check might fill, by the variable that moves it into the temporary one."""


def start(unit: Unit, scratch: Scratch, tick: Callable[[float], None]) -> Batch:
    """Run a unit.

    Where torch is shared and the end could be the fork's doing, run it again by itself: its own
    start decides.

    A check about the machine starts tools, not kernels: it has little from a torch that is imported
    already.
    """
    if unit.alone:
        return _tried(unit, scratch, tick, _bound(unit), forked=False) or Batch(outcomes=())
    fork_server, header = scratch.fork_server, unit.check.header
    about_device = header.devices is Reach.EACH or header.fork_server
    if (
        fork_server is None
        or not fork_server.can_fork
        or not scratch.forks
        or not about_device
        or "torch" not in header.needs
    ):
        return _by_itself(unit, scratch, tick)
    known = fork_server.answers.get(unit.kind)
    if known is False:
        return _by_itself(unit, scratch, tick)
    whole = _bound(unit)
    first = whole if known or unit.kind in ("", "cpu") else whole * _FIRST_SHARE
    batch = _tried(unit, scratch, tick, first, forked=True)
    if batch is not None and not _doubtful(batch, hangs=not known or unit.kind in ("", "cpu")):
        fork_server.answers.setdefault(unit.kind, True)
        return batch
    again = _by_itself(
        unit,
        scratch,
        tick,
        whole - first if first < whole and batch is not None and _hung(batch) else None,
    )
    if batch is not None and not _doubtful(again):
        fork_server.answers.setdefault(unit.kind, False)
    return again


def _by_itself(
    unit: Unit, scratch: Scratch, tick: Callable[[float], None], bound: float | None = None
) -> Batch:
    """Run a unit in a start of its own.

    The first script of the fork server goes on in a fork, which is doubted like any other.
    """
    opens = unit.check.header.fork_server and scratch.fork_server is None and scratch.forks
    batch = _tried(unit, scratch, tick, bound or _bound(unit), forked=False) or Batch(outcomes=())
    if (
        opens
        and scratch.fork_server is not None
        and scratch.fork_server.has_forked
        and _doubtful(batch)
    ):
        scratch.forks = False
        return _tried(unit, scratch, tick, _bound(unit), forked=False) or batch
    return batch


def _bound(unit: Unit) -> float:
    own = unit.plan.timeout or unit.check.header.timeout + unit.grace
    return min(own, unit.plan.deadline - time.monotonic())


def _doubtful(batch: Batch, *, hangs: bool = True) -> bool:
    """Say whether a fork may have brought this end about.

    A hang did not come from it where a fork has answered on such a device.
    """
    untold = _UNTOLD if hangs else _UNTOLD - {Verdict.TIMED_OUT}
    return any(
        outcome.verdict in untold or _OF_THE_FORK in outcome.reason for outcome in batch.outcomes
    )


def _hung(batch: Batch) -> bool:
    return any(outcome.verdict is Verdict.TIMED_OUT for outcome in batch.outcomes)


def _tried(
    unit: Unit, scratch: Scratch, tick: Callable[[float], None], bound: float, *, forked: bool
) -> Batch | None:
    """Run a unit once, for so many seconds at most; None where the fork server makes no child."""
    if bound <= 0:
        return Batch(outcomes=(unit.skipped("the time budget of the whole run was used up"),))
    if why := lacking(scratch.folder, unit.plan):
        return Batch(outcomes=(unit.skipped(why),))
    home = scratch.folder / (
        unit.name + ("" if forked else "-alone" if scratch.forks else "-unforked")
    )
    home.mkdir()
    env = _environment(unit, scratch.folder, home) | {
        "CANARY_STACK_AFTER": f"{max(bound * 0.6, bound - _STACK):.1f}"
    }
    bounds = Bounds(timeout=bound, limit=_LOG_LIMIT, memory=unit.plan.memory, tick=tick)
    try:
        ran = (
            _forked(unit, scratch, env, home, bounds)
            if forked
            else _alone(unit, scratch, env, home, bounds)
        )
    except ForkServerError:
        return None
    base = msgspec.structs.replace(unit.skipped(""), verdict=Verdict.BROKEN)
    batch = judged(base, ran, home / "result.json", bound)
    batch = msgspec.structs.replace(
        batch, outcomes=tuple(spared(outcome, scratch.folder) for outcome in batch.outcomes)
    )
    remove_tree(home)
    return batch


def _forked(
    unit: Unit, scratch: Scratch, env: dict[str, str], home: Path, bounds: Bounds
) -> CompletedCommand:
    if scratch.fork_server is None:
        raise ForkServerError("there is none")
    return scratch.fork_server.run(unit.check.path, env, home, scratch.mark(), bounds)


def _alone(
    unit: Unit, scratch: Scratch, env: dict[str, str], home: Path, bounds: Bounds
) -> CompletedCommand:
    command = [*unit.plan.command, "-c", _BOOT]
    script = str(unit.check.path)
    # Apple's frameworks do not survive a fork, and Windows has none: there the supervisor starts
    # nothing.
    if (
        unit.check.header.fork_server
        and not unit.alone
        and scratch.fork_server is None
        and scratch.forks
        and scratch.supervisor.starts
    ):
        with contextlib.suppress(ForkServerError):
            return scratch.new_fork_server().open(
                [*command, str(bundled("checks") / "fork_server.py"), script],
                env,
                home,
                scratch.mark(),
                bounds,
            )
    return run(
        [*command, script],
        timeout=bounds.timeout,
        env=env,
        cwd=home,
        limit=bounds.limit,
        memory=bounds.memory,
        merge=True,
        tick=bounds.tick,
        mark=scratch.mark(),
        supervisor=scratch.supervisor,
    )


def _environment(unit: Unit, scratch: Path, home: Path) -> dict[str, str]:
    plan, caches, temporary = unit.plan, scratch / "caches", home / "tmp"
    temporary.mkdir()
    bytecode = (
        {"PYTHONDONTWRITEBYTECODE": "1"}
        if plan.precompiled
        else {"PYTHONPYCACHEPREFIX": str(caches / "bytecode")}
    )
    return {
        **{
            name: value
            for name, value in plan.host.env.items()
            if name not in ("PYTHONPYCACHEPREFIX", "PYTHONDONTWRITEBYTECODE")
        },
        **{name: str(caches / folder) for name, folder in CACHES.items()},
        **bytecode,
        "TMPDIR": str(temporary),
        "PYTHONUNBUFFERED": "1",
        "PYTHONFAULTHANDLER": "1",
        "CANARY_RESULT": str(home / "result.json"),
        "CANARY_SHARED": str(scratch / "shared"),
        "CANARY_TIER": plan.tier.value,
        **plan.settings,
        **({"CANARY_DEVICES": asked} if (asked := unit.asked or unit.device) else {}),
    }


def is_precompiled(package: Path) -> bool:
    """Say whether a package carries bytecode for this run to read.

    Where it does not, ours goes into the temporary folder.
    """
    return any((package / "__pycache__").glob("__init__.*.pyc")) if package.is_dir() else True
