"""What runs on a node: `doctor check` in a process of its own, and its report as packets."""

from __future__ import annotations

import platform
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import msgspec

import doctor
from doctor.base.text import one_line
from doctor.fleet import wire
from doctor.fleet.engine import NODE_VARIABLE
from doctor.host.process import CompletedCommand, Termination, run
from doctor.model.fleet import NodeState

_JUDGED = frozenset({0, 1, 4})
"""Exit codes of `doctor check` with which a report comes."""


def node_name(env: Mapping[str, str]) -> str:
    """Return the name that the engine gave this node, else its host name."""
    return env.get(NODE_VARIABLE) or platform.node() or "node"


def report_packets(
    name: str,
    run_id: str,
    options: Sequence[str],
    seconds: float,
    put: Callable[[str], None],
) -> int:
    """Check this node within a time, and put the lines of its packets; return the exit code.

    `options` are those of `doctor check`. A check that does not end in time, or fails, is an
    answer too.
    """
    _put(wire.Packet(node=name), run_id, put)
    begun = time.monotonic()
    completed = run(check_command(options), timeout=seconds, limit=wire.LARGEST_REPORT)
    packet = _packet(name, completed, seconds, time.monotonic() - begun)
    try:
        _put(packet, run_id, put)
    except wire.TooLarge as error:
        _put(wire.Packet(node=name, state=NodeState.LOST, reason=str(error)), run_id, put)
    return packet.exit_code if packet.exit_code is not None else 3


def check_command(options: Sequence[str]) -> list[str]:
    """Return the command that checks this node and prints the report as JSON."""
    program = Path(doctor.__file__).parents[1] / "canary_doctor.py"
    return [sys.executable, str(program), "check", *options, "--format", "json"]


def _put(packet: wire.Packet, run_id: str, put: Callable[[str], None]) -> None:
    for line in wire.lines(msgspec.structs.replace(packet, clock=time.time()), run_id):
        put(line)


def _packet(name: str, completed: CompletedCommand, limit: float, seconds: float) -> wire.Packet:
    code = completed.code
    if completed.ended is Termination.ITSELF and code in _JUDGED and completed.output:
        return wire.Packet(
            node=name,
            state=NodeState.ANSWERED,
            exit_code=code,
            seconds=seconds,
            content=wire.compress(completed.output.encode()),
        )
    state, reason = _failure(completed, limit)
    return wire.Packet(node=name, state=state, reason=reason, exit_code=code, seconds=seconds)


def _failure(completed: CompletedCommand, limit: float) -> tuple[NodeState, str]:
    if completed.ended is Termination.TIMEOUT:
        return NodeState.SILENT, f"its check did not end within {limit:g} s"
    if completed.ended is Termination.NOT_STARTED:
        return NodeState.REFUSED, f"doctor does not start there: {completed.why}"
    last = (completed.errors.strip().splitlines() or [""])[-1]
    words = one_line(last.removeprefix("doctor: "), 300) or f"doctor ended with {completed.code}"
    state = NodeState.REFUSED if completed.code in (2, 3) else NodeState.LOST
    return state, words
