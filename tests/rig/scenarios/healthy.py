"""Machines with nothing wrong: doctor has nothing to say."""

from __future__ import annotations

from tests.rig import machines
from tests.rig.scenario import Scenario


def _healthy(why: str, count: int, *args: str) -> Scenario:
    """As many H100 as that, all of them well."""
    return Scenario(
        why=why, machine=machines.nvidia(gpus=count), nvml=f"gpus={count}", gpus={"gpus": [{"count": count}]}, args=args, red=()
    )


SCENARIOS = {
    "one-gpu": _healthy("a workstation", 1),
    "two-gpus": _healthy("two cards", 2, "--skip", "inductor-compile"),
    "eight-gpus": _healthy("a server", 8),
    "static-two-gpus": Scenario(why="two cards, looked at without torch", machine=machines.nvidia(gpus=2), nvml="gpus=2", static=True),
}
