"""Run check scripts in a target interpreter, each in a process group and a folder of its own."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

import msgspec

from doctor.errors import DoctorError
from doctor.host import Host, run
from doctor.model.checks import Check, Tier
from doctor.model.outcomes import Outcome, Verdict
from doctor.runner.verdicts import Batch, judged

_BOOT = "import runpy,sys;sys.path[:]=[p for p in sys.path if p];sys.argv=sys.argv[1:];runpy.run_path(sys.argv[0],run_name='__main__')"
_LOG_LIMIT = 256 << 10
_CACHES = {
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

Progress: TypeAlias = Callable[[str, float], None]
"""Called with what is going on and the seconds it has taken."""


class ScratchError(DoctorError):
    """No temporary folder can be made, so no check can run."""


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """How to run checks: in which interpreter, for which target, on which devices, within which bounds (seconds, bytes of memory)."""

    executable: str
    target: str
    host: Host
    devices: tuple[str, ...] = ()
    tier: Tier = Tier.QUICK
    timeout: float | None = None
    memory: int | None = None
    deadline: float = float("inf")
    settings: Mapping[str, str] = msgspec.field(default_factory=dict)
    precompiled: bool = True


def run_checks(checks: Sequence[Check], plan: Plan, progress: Progress) -> Iterator[tuple[Check, Batch]]:
    """Run scripts one after another and yield what each gave; several may come to share one interpreter start.

    Each runs in a temporary folder of its own, in a process group of its own, and is killed with all its descendants when its
    time is over. Nothing is written outside the temporary folder, which is removed.
    """
    scratch = _scratch()
    try:
        for check in checks:
            yield check, _run_one(check, plan, scratch, progress)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _scratch() -> Path:
    try:
        return Path(tempfile.mkdtemp(prefix="doctor-"))
    except OSError as error:
        raise ScratchError(f"no temporary folder for the checks: {error}; free some space, set TMPDIR, or use --no-canaries") from None


def _run_one(check: Check, plan: Plan, scratch: Path, progress: Progress) -> Batch:
    bound = min(plan.timeout or check.header.timeout, plan.deadline - time.monotonic())
    if bound <= 0:
        return Batch(outcomes=(skipped(check, plan, "the time budget of the whole run was used up"),))
    try:
        home = scratch / check.id
        home.mkdir()
        result = home / "result.json"
        environment = _environment(check, plan, scratch, result)
    except OSError as error:
        return Batch(outcomes=(skipped(check, plan, f"no room to run in: {error}"),))
    ran = run(
        [plan.executable, "-c", _BOOT, str(check.path)],
        timeout=bound,
        env=environment,
        cwd=home,
        limit=_LOG_LIMIT,
        memory=plan.memory,
        merge=True,
        tick=lambda seconds: progress(check.id, seconds),
    )
    base = Outcome(id=check.id, target=plan.target, verdict=Verdict.BROKEN)
    batch = judged(base, ran, result, bound)
    shutil.rmtree(home, ignore_errors=True)
    return batch


def skipped(check: Check, plan: Plan, why: str) -> Outcome:
    """Make the outcome of a check that was not started."""
    return Outcome(id=check.id, target=plan.target, verdict=Verdict.SKIPPED, reason=why)


def _environment(check: Check, plan: Plan, scratch: Path, result: Path) -> dict[str, str]:
    caches = scratch / "caches"
    temporary = result.parent / "tmp"
    temporary.mkdir()
    bytecode = {"PYTHONDONTWRITEBYTECODE": "1"} if plan.precompiled else {"PYTHONPYCACHEPREFIX": str(caches / "bytecode")}
    return {
        **{name: value for name, value in plan.host.env.items() if name not in ("PYTHONPYCACHEPREFIX", "PYTHONDONTWRITEBYTECODE")},
        **{name: str(caches / folder) for name, folder in _CACHES.items()},
        **bytecode,
        "TMPDIR": str(temporary),
        "PYTHONUNBUFFERED": "1",
        "PYTHONFAULTHANDLER": "1",
        "CANARY_RESULT": str(result),
        "CANARY_TIER": plan.tier.value,
        **({"CANARY_DEVICES": ",".join(plan.devices)} if plan.devices and check.header.devices == "each" else {}),
        **plan.settings,
    }


def is_precompiled(package: Path) -> bool:
    """Say whether a package carries bytecode for this run to read; where it does not, ours goes into the temporary folder."""
    return any((package / "__pycache__").glob("__init__.*.pyc")) if package.is_dir() else True
