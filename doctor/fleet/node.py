"""What runs on a node: `doctor check` in a process of its own, and its report as packets."""

from __future__ import annotations

import os
import platform
import re
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

import doctor
from doctor.base.bundled import bundled
from doctor.base.text import one_line
from doctor.fleet import wire
from doctor.fleet.engine import NODE_VARIABLE
from doctor.host.process import CompletedCommand, Termination, run
from doctor.model.fleet import NodeState

_EXCHANGED = "doctor-all-reduce "
_TRANSPORT = re.compile(r"NCCL INFO Using network (\w{1,40})")
"""What NCCL says at its start, from 2.10 on: IB, Socket, or the name of a plugin."""
_JUDGED = frozenset({0, 1, 4})
"""Exit codes of `doctor check` with which a report comes."""


class AllReduce(msgspec.Struct, frozen=True, kw_only=True):
    """A group of nodes that add numbers; rank 0 is the first node, at `address` if that is given.

    `python` is the interpreter of the job. `backend` is gloo, nccl or auto.
    """

    nodes: tuple[str, ...]
    port: int
    python: str = "python3"
    address: str = ""
    backend: str = "auto"


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


def exchange_packets(
    name: str,
    run_id: str,
    group: AllReduce,
    seconds: float,
    put: Callable[[str], None],
) -> int:
    """Take part in an all-reduce of a group of nodes, and put what came of it as a packet."""
    env = {
        **os.environ,
        "CANARY_RANK": str(group.nodes.index(name) if name in group.nodes else 0),
        "CANARY_WORLD": str(len(group.nodes)),
        "CANARY_ADDRESS": group.address or group.nodes[0],
        "CANARY_PEER": _peer(name, group),
        "CANARY_PORT": str(group.port),
        "CANARY_SECONDS": f"{seconds:g}",
        "CANARY_BACKEND": group.backend,
    }
    script = bundled("checks") / "collectives" / "across.py"
    argv = (group.python, str(script))
    completed = run(argv, timeout=2 * seconds + 30, limit=1 << 20, env=env)
    lines = completed.output.splitlines()
    said = next((line for line in lines if line.startswith(_EXCHANGED)), "")
    found = said.removeprefix(_EXCHANGED).encode()
    if not found:
        last = (completed.errors.strip().splitlines() or [completed.why or "it printed nothing"])[
            -1
        ]
        why = f"{group.python}: {one_line(last, 300)}"
        found = msgspec.json.encode({"ok": False, "local": True, "error": why})
    if transport := _TRANSPORT.search(completed.output):
        document = msgspec.json.decode(found, type=dict[str, Any])
        found = msgspec.json.encode({**document, "transport": transport[1]})
    content = wire.compress(found)
    _put(wire.Packet(node=name, state=NodeState.ANSWERED, content=content), run_id, put)
    return 0


def _peer(name: str, group: AllReduce) -> str:
    """Return the host towards which a rank says its path: rank 0, and for rank 0 the next one."""
    first = group.nodes[0]
    return group.nodes[1] if name == first and group.nodes[1:] else group.address or first


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
