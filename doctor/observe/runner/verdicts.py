"""Turn the end of a process and the file it left into outcomes."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

import msgspec

from doctor.base.bundled import bundled
from doctor.base.text import sanitize
from doctor.host import CompletedCommand, Termination
from doctor.model.outcomes import RED, Case, Outcome, Verdict
from doctor.observe.runner.document import Document, Doing, NoDocument, Record, read
from doctor.observe.runner.places import place, printed


class Batch(msgspec.Struct, frozen=True, kw_only=True):
    """What one script gave: its outcomes, and the facts it reported."""

    outcomes: tuple[Outcome, ...]
    facts: dict[str, Any] = msgspec.field(default_factory=dict)


def judged(base: Outcome, ran: CompletedCommand, result: Path, bound: float) -> Batch:
    """Say what a script gave.

    `base` carries its id and target, `bound` is the time it had, in seconds.
    """
    document = read(result)
    base = msgspec.structs.replace(
        base, exit_code=ran.code, seconds=round(ran.seconds, 3), log=sanitize(ran.output)
    )
    if ran.ended is Termination.NOT_STARTED:
        return Batch(
            outcomes=(
                msgspec.structs.replace(base, reason=f"the interpreter does not start: {ran.why}"),
            )
        )
    if ran.ended is Termination.ITSELF:
        # Otherwise it was doctor who sent the signal.
        base = _with_signal(base)
    if isinstance(document, NoDocument):
        by_itself = ran.ended is Termination.ITSELF and base.signal is None
        if by_itself and ran.code and (elsewhere := _raised_elsewhere(base.log)):
            return Batch(
                outcomes=(msgspec.structs.replace(base, verdict=Verdict.CRASHED, reason=elsewhere),)
            )
        return Batch(
            outcomes=(
                msgspec.structs.replace(
                    base,
                    reason=document.reason,
                    data={"overwritten": True} if document.overwritten else {},
                )
                if by_itself
                else _unfinished(base, None, ran, bound),
            )
        )
    # A script that was still about something has passed nothing as a whole: what says so was about
    # one of its steps.
    half = document.doing is not None or ran.ended is not Termination.ITSELF
    ended = [record for record in document.results if record.verdict != "running"]
    done = [
        _outcome(base, record)
        for record in ended
        if not (half and record.device is None and record.verdict == "passed")
    ]
    started = [record for record in document.results if record.verdict == "running"]
    if document.doing is not None or ran.ended is not Termination.ITSELF or started:
        pending = [_outcome(base, record) for record in started] or [
            msgspec.structs.replace(base, device=_device(document))
        ]
        done += [_unfinished(outcome, document.doing, ran, bound) for outcome in pending]
    if not done and not document.facts:
        done = [msgspec.structs.replace(base, reason="the script ended without a verdict")]
    return Batch(outcomes=tuple(done), facts=document.facts)


def _device(document: Document) -> str | None:
    return document.doing.device if document.doing else None


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
        reason=sanitize(record.reason),
        seconds=record.seconds or base.seconds,
        log=base.log if verdict in RED or verdict is Verdict.BROKEN else "",
        cases={
            name: msgspec.structs.replace(case, reason=sanitize(case.reason))
            for name, case in record.cases.items()
        },
        data=record.data,
    )


def _unfinished(
    outcome: Outcome, doing: Doing | None, ran: CompletedCommand, bound: float
) -> Outcome:
    """Say how a script that did not come to its end ended.

    What happened outside the act under test is the script's fault.
    """
    during = f" during {doing.case}" if doing and doing.case else ""
    where = "; ".join(filter(None, (place(ran.output), printed(ran.output))))
    where = f", {where}" if where else ""
    match ran.ended:
        case Termination.TIMEOUT:
            verdict, reason = Verdict.TIMED_OUT, f"still running after {bound:.0f} s{during}{where}"
        case Termination.MEMORY:
            verdict, reason = (
                Verdict.CRASHED,
                f"stopped{during}: it was about to use up the memory of this machine",
            )
        case _ if outcome.signal:
            verdict, reason = Verdict.CRASHED, f"killed by {outcome.signal}{during}{where}"
        case _:
            acted = doing is not None and doing.act
            verdict = Verdict.CRASHED if acted else Verdict.BROKEN
            reason = f"ended{during} with exit code {outcome.exit_code}, before its own end"
            reason += "" if acted else f": {_last_line(outcome.log)}"
    cases = dict(outcome.cases)
    if doing and doing.case and verdict in RED:
        cases[doing.case] = Case(verdict=verdict, reason=reason)
    return msgspec.structs.replace(
        outcome, verdict=verdict, reason=reason, cases=cases, log=sanitize(ran.output)
    )


def _raised_elsewhere(log: str) -> str:
    """Return what a script died of before it could begin, where a file of others raised it.

    One that hides a module of Python's.
    """
    files = [part.partition('"')[0] for part in log.split('  File "')[1:]]
    files = [file for file in files if not file.startswith("<")]
    ours = not files or files[-1] == files[0] or Path(files[-1]).is_relative_to(bundled("checks"))
    return "" if ours else f"the check could not begin: {_last_line(log)} (raised in {files[-1]})"


def _last_line(log: str) -> str:
    return next(
        (line.strip() for line in reversed(log.splitlines()) if line.strip()), "it printed nothing"
    )
