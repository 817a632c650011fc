"""GPUs with nothing wrong, with all canaries or those that the machine is about.

Nothing is red, nothing is found.
"""

from __future__ import annotations

from typing import Any

from tests.rig import machines
from tests.rig.scenario import Scenario

QUICK = ("--only", "torch-runtime", "--only", "cross-device-add", "--only", "noncontiguous-ops")


def _healthy(why: str, count: int, *args: str, **more: Any) -> Scenario:
    """As many H100 as that, all of them well."""
    told = {
        "machine": machines.nvidia(gpus=count),
        "nvml": f"gpus={count}",
        "gpus": {"gpus": [{"count": count}]},
        **more,
    }
    green = tuple(f"torch-runtime cuda:{index}" for index in range(count))
    return Scenario(why=why, args=args, red=(), green=green, **told)


SCENARIOS = {
    "one-gpu": _healthy("a workstation", 1, *QUICK),
    "two-gpus": _healthy("two cards", 2),
    "eight-gpus": _healthy("a server", 8),
    "exclusive": _healthy(
        "a cluster: each GPU takes one process",
        4,
        *QUICK,
        nvml="gpus=4;mode=3",
        gpus={"gpus": [{"count": 4, "context_seconds": 0.4}], "exclusive": True},
        worst="note",
    ),
    "switches-and-no-fabric-manager": _healthy(
        "a privileged container: all GPUs compute",
        2,
        *QUICK[:2],
        machine={**machines.nvidia(gpus=2, switches=6), "/.dockerenv": ""},
        nvml="gpus=2;fabric=3,0",
    ),
    "gvisor-computes": _healthy(
        "a sandbox whose GPU computes",
        1,
        *QUICK[:2],
        machine=machines.gvisor(),
        nvml="gpus=1;name=NVIDIA H200",
        gpus={"gpus": [{"name": "NVIDIA H200"}]},
        tells=("NVIDIA H200",),
        hides=("no NVIDIA driver",),
    ),
    "no-nvml-computes": _healthy(
        "a sandbox that hands in no NVML at all: torch alone knows the GPU",
        1,
        *QUICK[:2],
        machine=machines.nothing(),
        nvml=None,
        gpus={"gpus": [{"name": "NVIDIA H200"}]},
        tells=("NVIDIA H200",),
        hides=("no NVIDIA driver",),
    ),
    "old-card-hidden": _healthy(
        "a GT 1030 for the display, hidden from CUDA",
        1,
        *QUICK,
        machine=machines.nvidia(gpus=2),
        nvml=(
            "gpus=2;0.name=NVIDIA GeForce GT 1030;0.cc=6.1;1.name=NVIDIA GeForce RTX 4090;1.cc=8.9"
        ),
        gpus={
            "gpus": [
                {"name": "NVIDIA GeForce GT 1030", "capability": "6.1", "memory": 2 << 30},
                {"name": "NVIDIA GeForce RTX 4090", "capability": "8.9", "memory": 24 << 30},
            ]
        },
        env={"CUDA_VISIBLE_DEVICES": "1", "CUDA_DEVICE_ORDER": "PCI_BUS_ID"},
        tells=("RTX 4090",),
    ),
    "touched-while-imported": _healthy(
        (
            "something in the environment starts CUDA while torch is imported, and no "
            "descriptor shows it"
        ),
        1,
        *QUICK[:2],
        machine={},
        gpus={"gpus": [{}], "starts": True},
    ),
    "pairs-on-one-line": _healthy(
        "the CPU's reasons are not the GPUs'",
        2,
        "--only",
        "cross-device-add",
        hides=("cross-device-add cpu, cuda[^–✓✗]*needs two GPUs",),
    ),
}
