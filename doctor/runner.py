"""Run check scripts in a target interpreter and turn what they leave behind into outcomes."""

from __future__ import annotations

import shutil
import signal
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import msgspec

from doctor.errors import DoctorError
from doctor.host import Ended, Host, Ran, regular_bytes, run
from doctor.model.checks import Check, Tier
from doctor.model.outcomes import RED, Case, Outcome, Verdict
from doctor.text import plain

_BOOT = "import runpy,sys;sys.path[:]=[p for p in sys.path if p];sys.argv=sys.argv[1:];runpy.run_path(sys.argv[0],run_name='__main__')"
_LOG_LIMIT = 256 << 10
_RESULT_LIMIT = 4 << 20
_MEMORY_SHARE = 0.85

Progress: TypeAlias = Callable[[str, float], None]
"""Called with what is going on and the seconds it has taken."""


class ScratchError(DoctorError):
    """No temporary folder can be made, so no check can run."""


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """One entry of `results` in the file that a check script writes."""

    verdict: str
    device: str | None = None
    reason: str = ""
    seconds: float = 0.0
    cases: dict[str, Case] = msgspec.field(default_factory=dict)
    data: dict[str, Any] = msgspec.field(default_factory=dict)


class Doing(msgspec.Struct, frozen=True, kw_only=True):
    """What the script was about when it last wrote its file."""

    device: str | None = None
    case: str = ""
    act: bool = False


class Document(msgspec.Struct, frozen=True, kw_only=True):
    """The file that a check script writes (see checks/README.md)."""

    contract: int
    facts: dict[str, Any] = msgspec.field(default_factory=dict)
    results: tuple[Record, ...] = ()
    doing: Doing | None = None


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """How to run checks: in which interpreter, for which target, on which devices, and within which bounds (seconds)."""

    executable: str
    target: str
    host: Host
    devices: tuple[str, ...] = ()
    tier: Tier = Tier.QUICK
    timeout: float | None = None
    deadline: float = float("inf")
    settings: Mapping[str, str] = msgspec.field(default_factory=dict)
    precompiled: bool = True


class Batch(msgspec.Struct, frozen=True, kw_only=True):
    """What one script gave: its outcomes, and the facts it reported."""

    outcomes: tuple[Outcome, ...]
    facts: dict[str, Any] = msgspec.field(default_factory=dict)


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
        memory=_memory_bound(plan.host),
        merge=True,
        tick=lambda seconds: progress(check.id, seconds),
    )
    batch = _batch(check, plan, ran, result, bound)
    shutil.rmtree(home, ignore_errors=True)
    return batch


def skipped(check: Check, plan: Plan, why: str) -> Outcome:
    """Make the outcome of a check that was not started."""
    return Outcome(id=check.id, target=plan.target, verdict=Verdict.SKIPPED, reason=why)


def _environment(check: Check, plan: Plan, scratch: Path, result: Path) -> dict[str, str]:
    caches = scratch / "caches"
    temporary = result.parent / "tmp"
    temporary.mkdir()
    shared = {
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
    bytecode = {"PYTHONDONTWRITEBYTECODE": "1"} if plan.precompiled else {"PYTHONPYCACHEPREFIX": str(caches / "bytecode")}
    return {
        **{name: value for name, value in plan.host.env.items() if name not in ("PYTHONPYCACHEPREFIX", "PYTHONDONTWRITEBYTECODE")},
        **{name: str(caches / folder) for name, folder in shared.items()},
        **bytecode,
        "TMPDIR": str(temporary),
        "PYTHONUNBUFFERED": "1",
        "PYTHONFAULTHANDLER": "1",
        "CANARY_RESULT": str(result),
        "CANARY_TIER": plan.tier.value,
        **({"CANARY_DEVICES": ",".join(plan.devices)} if plan.devices and check.header.devices == "each" else {}),
        **plan.settings,
    }


def _memory_bound(host: Host) -> int | None:
    text = host.read("/proc/meminfo") or ""
    available = next((line.split()[1] for line in text.splitlines() if line.startswith("MemAvailable:")), None)
    return int(int(available) * 1024 * _MEMORY_SHARE) if available else None


def _batch(check: Check, plan: Plan, ran: Ran, result: Path, bound: float) -> Batch:
    document = _document(result)
    log = plain(ran.output)
    base = Outcome(id=check.id, target=plan.target, verdict=Verdict.BROKEN, exit_code=ran.code, seconds=round(ran.seconds, 3), log=log)
    if ran.ended is Ended.NOT_STARTED:
        return Batch(outcomes=(msgspec.structs.replace(base, reason=f"{plan.executable} does not start: {ran.why}"),))
    base = _with_signal(base)
    if isinstance(document, str) and ran.ended is Ended.ITSELF and base.signal is None:
        return Batch(outcomes=(msgspec.structs.replace(base, reason=document),))
    if isinstance(document, str):
        return Batch(outcomes=(_unfinished(base, None, ran, bound),))
    done = [_outcome(base, record) for record in document.results if record.verdict != "running"]
    open_ = [record for record in document.results if record.verdict == "running"]
    if document.doing is not None or ran.ended is not Ended.ITSELF or open_:
        pending = [_outcome(base, record) for record in open_] or [msgspec.structs.replace(base, device=_device(document))]
        done += [_unfinished(outcome, document.doing, ran, bound) for outcome in pending]
    if not done and not document.facts:
        done = [msgspec.structs.replace(base, reason="the script ended without a verdict")]
    return Batch(outcomes=tuple(done), facts=document.facts)


def _device(document: Document) -> str | None:
    return document.doing.device if document.doing else None


def _document(result: Path) -> Document | str:
    data = regular_bytes(result, _RESULT_LIMIT + 1)
    if data is None:
        return "the script ended without writing its result"
    if len(data) > _RESULT_LIMIT:
        return f"the script's result is larger than {_RESULT_LIMIT} bytes"
    try:
        return msgspec.json.decode(data, type=Document)
    except (msgspec.DecodeError, RecursionError) as error:
        return f"the script's result cannot be read: {error}"


def _with_signal(base: Outcome) -> Outcome:
    if base.exit_code is None or base.exit_code >= 0:
        return base
    try:
        name = signal.Signals(-base.exit_code).name
    except ValueError:
        name = f"signal {-base.exit_code}"
    return msgspec.structs.replace(base, signal=name)


def _outcome(base: Outcome, record: Record) -> Outcome:
    try:
        verdict = Verdict(record.verdict)
    except ValueError:
        verdict = Verdict.BROKEN
    return msgspec.structs.replace(
        base,
        device=record.device,
        verdict=verdict,
        reason=plain(record.reason),
        seconds=record.seconds or base.seconds,
        log=base.log if verdict in RED or verdict is Verdict.BROKEN else "",
        cases={name: msgspec.structs.replace(case, reason=plain(case.reason)) for name, case in record.cases.items()},
        data=record.data,
    )


def _unfinished(outcome: Outcome, doing: Doing | None, ran: Ran, bound: float) -> Outcome:
    """Say how a script that did not come to its end ended; what happened outside the act under test is the script's fault."""
    during = f" during {doing.case}" if doing and doing.case else ""
    match ran.ended:
        case Ended.TIMEOUT:
            verdict, reason = Verdict.TIMED_OUT, f"still running after {bound:.0f} s{during}"
        case Ended.MEMORY:
            verdict, reason = Verdict.CRASHED, f"stopped{during}: it was about to use up the memory of this machine"
        case _ if outcome.signal:
            verdict, reason = Verdict.CRASHED, f"killed by {outcome.signal}{during}"
        case _:
            acted = doing is not None and doing.act
            verdict = Verdict.CRASHED if acted else Verdict.BROKEN
            reason = f"ended{during} with exit code {outcome.exit_code}, before its own end"
            reason += "" if acted else f": {_last_line(outcome.log)}"
    cases = dict(outcome.cases)
    if doing and doing.case and verdict in RED:
        cases[doing.case] = Case(verdict=verdict, reason=reason)
    return msgspec.structs.replace(outcome, verdict=verdict, reason=reason, cases=cases, log=plain(ran.output))


def _last_line(log: str) -> str:
    return next((line.strip() for line in reversed(log.splitlines()) if line.strip()), "it printed nothing")


def is_precompiled(package: Path) -> bool:
    """Say whether a package carries bytecode for this run to read; where it does not, ours goes into the temporary folder."""
    return any((package / "__pycache__").glob("__init__.*.pyc")) if package.is_dir() else True
