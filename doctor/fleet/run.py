"""The coordinator: starts an engine, collects answers within a time, and keeps what arrived."""

from __future__ import annotations

import itertools
import queue
import secrets
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from urllib.parse import quote

import msgspec

from doctor.base.errors import DoctorError, UsageError, WriteError
from doctor.base.text import one_line
from doctor.fleet import network, nodesets, wire
from doctor.fleet.engine import Engine, Job
from doctor.fleet.node import AllReduce
from doctor.fleet.reading import answers
from doctor.model.fleet import NodeAnswer, NodeState

Progress = Callable[[int, int, int], None]
"""Called with how many nodes answered, how many there are, and how many have no report."""

_PORT, _MOST_PORTS = 29_600, 64
"""Ports of rank 0: each all-reduce has another one, so that none waits for the last."""
_EXCHANGE_SECONDS = 30.0
_GRACE_SECONDS = 60.0
"""What an engine may take beyond the times of its job to end everything."""
_POLL_SECONDS = 0.2


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """What the coordinator has to do.

    `options` are those of `doctor check`. `spool` is a folder that keeps each report as it arrives;
    nodes whose reports lie there already are not checked again.
    """

    options: tuple[str, ...]
    python: str
    archive: Path | None
    timeout: float
    start_timeout: float
    spool: Path | None = None


def job_of(plan: Plan) -> Job:
    """Return the job that each node runs."""
    run = secrets.token_hex(8)
    words = ("fleet", "node", "--run", run, "--timeout", f"{plan.timeout:g}", "--")
    return Job(
        run=run,
        arguments=(*words, *plan.options),
        python=plan.python,
        archive=plan.archive,
        timeout=plan.timeout,
        start_timeout=plan.start_timeout,
    )


def exchange(engine: Engine, plan: Plan, rendezvous: str) -> network.Exchange:
    """Return a function that runs an all-reduce over nodes, and says what each rank saw."""
    address, _, port = rendezvous.partition(":")
    if rendezvous and not (nodesets.is_plain(address) and (port.isdecimal() or not port)):
        raise UsageError(f"--rendezvous {rendezvous}: HOST or HOST:PORT is wanted")
    first = int(port or _PORT)
    ports = itertools.cycle(range(first, first + _MOST_PORTS))

    def run(nodes: Sequence[str]) -> dict[str, network.Rank]:
        group = AllReduce(
            nodes=tuple(nodes), port=next(ports), python=_target(plan.options), address=address
        )
        run_id = secrets.token_hex(8)
        text = msgspec.json.encode(group).decode()
        job = Job(
            run=run_id,
            arguments=(
                *("fleet", "node", "--run", run_id),
                *("--timeout", f"{_EXCHANGE_SECONDS:g}", "--group", text),
            ),
            python=plan.python,
            archive=plan.archive,
            timeout=2 * _EXCHANGE_SECONDS + 60,
            start_timeout=plan.start_timeout,
        )
        found = {
            answer.name: network.rank_of(answer) for answer in _placed(engine, job, group.nodes)
        }
        lost = network.Rank(error="no answer")
        return {name: found.get(name, lost) for name in nodes}

    return run


def _target(options: Sequence[str]) -> str:
    """Return the interpreter that the options of `doctor check` name, as the nodes find it."""
    for number, word in enumerate(options):
        if word in ("--python", "-p") and number + 1 < len(options):
            return options[number + 1]
        if word.startswith("--python="):
            return word.partition("=")[2]
    return "python3"


def collect(engine: Engine, plan: Plan, progress: Progress) -> Iterator[NodeAnswer]:
    """Yield exactly one answer for each node of the engine, within bounds.

    Where the caller stops early, or is interrupted, everything on the nodes is ended. Raises
    DoctorError where the engine does not work.
    """
    names = engine.nodes()
    if not names:
        raise DoctorError(f"{engine.name} has no node to check")
    waiting = dict.fromkeys(names)
    done = failed = 0
    for answer in _kept(plan.spool, names):
        del waiting[answer.name]
        done += 1
        progress(done, len(names), failed)
        yield answer
    try:
        for answer in _placed(engine, job_of(plan), tuple(waiting)) if waiting else ():
            if answer.name not in waiting:
                continue  # a node that nobody asked, or one that answers twice
            del waiting[answer.name]
            done, failed = done + 1, failed + (answer.state is not NodeState.ANSWERED)
            if plan.spool is not None:
                keep(plan.spool, answer)
            progress(done, len(names), failed)
            yield answer
    except KeyboardInterrupt:
        for name in waiting:
            why = "the run was interrupted before it answered"
            yield NodeAnswer(name=name, state=NodeState.LOST, reason=why)
        raise
    for name in waiting:
        yield NodeAnswer(name=name, state=NodeState.SILENT, reason="nothing came from it in time")


def keep(folder: Path, answer: NodeAnswer) -> None:
    """Write an answer with a report into a spool folder, as a whole or not at all.

    Raises WriteError.
    """
    if answer.state is not NodeState.ANSWERED:
        return
    packet = wire.Packet(
        node=answer.name,
        state=answer.state,
        exit_code=answer.exit_code,
        seconds=answer.seconds,
        content=answer.content,
    )
    path = folder / f"{quote(answer.name, safe='')}.packet"
    beside = folder / f".{path.name}.{secrets.token_hex(4)}"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        beside.write_bytes(wire.encode(packet))
        beside.replace(path)
    except OSError as error:
        raise WriteError(f"{path}: the report cannot be kept: {error.strerror}") from None


def _kept(spool: Path | None, names: Sequence[str]) -> Iterator[NodeAnswer]:
    """Yield the answers in a spool folder that are those of a node of this run."""
    if spool is None or not spool.is_dir():
        return
    left = set(names)
    for answer in answers([spool], []):
        if answer.name in left and answer.state is NodeState.ANSWERED:
            left.discard(answer.name)
            yield answer


def _placed(engine: Engine, job: Job, names: Sequence[str]) -> Iterator[NodeAnswer]:
    """Yield what the engine gives until it ends, or its time is over."""
    arrived: queue.SimpleQueue[NodeAnswer | BaseException | None] = queue.SimpleQueue()

    def follow() -> None:
        try:
            for answer in engine.place(job, names):
                arrived.put(answer)
            arrived.put(None)
        except BaseException as error:  # noqa: BLE001 - it is raised again where somebody waits
            arrived.put(error)

    # An engine may hang in a call of its scheduler; only a thread can be left behind.
    thread = threading.Thread(target=follow, daemon=True)
    deadline = time.monotonic() + job.start_timeout + job.timeout + _GRACE_SECONDS
    thread.start()
    ended = False
    try:
        while time.monotonic() < deadline:
            try:
                answer = arrived.get(timeout=_POLL_SECONDS)
            except queue.Empty:
                continue
            if answer is None:
                ended = True
                return
            if isinstance(answer, BaseException):
                ended = True
                _raise(engine, answer)
            else:
                yield answer
    finally:
        if not ended:
            engine.cancel()
            thread.join(_GRACE_SECONDS)


def _raise(engine: Engine, error: BaseException) -> None:
    if isinstance(error, DoctorError | KeyboardInterrupt | SystemExit):
        raise error
    words = one_line(f"{type(error).__name__}: {error}", 300)
    raise DoctorError(f"{engine.name}: {words}") from error
