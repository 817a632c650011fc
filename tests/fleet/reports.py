"""Small reports of nodes, as JSON."""

from __future__ import annotations

import json
from typing import Any

from doctor.fleet.merge import Merger
from doctor.fleet.network import Network
from doctor.model.fleet import FleetReport, NetworkPath, NodeAnswer, NodeState

EQUAL = {
    "host.os": "linux",
    "host.glibc": "2.36",
    "torch.version": "2.13.0+cu130",
    "python.version": "3.11.7",
    "nvidia.driver_version": "580.65.06",
    "package.nvidia-nccl-cu13.version": "2.28.3",
}


def gpus(count: int, node: int = 0) -> list[dict[str, Any]]:
    """Return GPUs as NVML lists them, with UUIDs of their own."""
    return [
        {"index": index, "name": "NVIDIA H100", "memory_bytes": 80 << 30, "uuid": f"{node}-{index}"}
        for index in range(count)
    ]


def report(**more: Any) -> bytes:
    """Return a report; `facts` replace those of `EQUAL`, a None takes one away."""
    values = {**EQUAL, **more.pop("facts", {})}
    facts = {
        name: {"state": "present", "value": value, "source": "test", "why": ""}
        for name, value in values.items()
        if value is not None
    }
    document = {"facts": facts, "findings": [], "exit_code": 0, "outcomes": [], **more}
    return json.dumps({"doctor": {"version": "1"}, **document}).encode()


def answered(name: str, content: bytes, **more: Any) -> NodeAnswer:
    """Return the answer of a node."""
    return NodeAnswer(name=name, state=NodeState.ANSWERED, content=content, **more)


def merged(*answers: NodeAnswer, network: tuple[NetworkPath, ...] = (), **how: Any) -> FleetReport:
    """Return one report of answers, and of an all-reduce over these paths."""
    merger = Merger()
    merger.network = Network(paths=network)
    for each in answers:
        merger.add(each)
    return merger.report(command="fleet merge", **how)
