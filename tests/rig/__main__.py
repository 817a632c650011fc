"""Plays a scenario by hand.

`python -m tests.rig --scenario NAME`, or one that is described on the command line.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path

from tests.rig import machines
from tests.rig.scenario import Scenario, play_by_hand
from tests.rig.scenarios import SCENARIOS


def main() -> int:
    """Read the command line and play."""
    parser = argparse.ArgumentParser(prog="python -m tests.rig", description=__doc__)
    parser.add_argument("--list", action="store_true", help="name the scenarios, and end")
    parser.add_argument(
        "--scenario", choices=SCENARIOS, metavar="NAME", help="one of those that the tests play"
    )
    parser.add_argument(
        "--gpus",
        help='GPUs that the CPU plays for torch: \'{"gpus": [{}, {"fails": {"sort": 700}}]}\'',
    )
    parser.add_argument("--nvml", help="what NVML answers: 'gpus=2;1.error.handle=15'")
    parser.add_argument("--cuinit", default="100", help="what cuInit gives where no GPU is played")
    parser.add_argument(
        "--machine",
        action="store_true",
        help="let /proc, /sys and /dev show a driver and as many GPUs as NVML tells",
    )
    parser.add_argument(
        "--static", action="store_true", help="look at files and NVML only; needs no torch"
    )
    parser.add_argument(
        "command", nargs="*", help="what to run there, after --; the default is: doctor check"
    )
    given = parser.parse_args()
    if given.list:
        print("\n".join(f"{name:38} {scenario.why}" for name, scenario in SCENARIOS.items()))
        return 0
    scenario = SCENARIOS[given.scenario] if given.scenario else _described(given)
    with tempfile.TemporaryDirectory() as folder:
        return play_by_hand(scenario, Path(folder), given.command)


def _described(given: argparse.Namespace) -> Scenario:
    gpus = json.loads(given.gpus) if given.gpus else None
    files = machines.nvidia(gpus=len(gpus["gpus"]) if gpus else 1) if given.machine else {}
    return Scenario(
        why="by hand",
        machine=files,
        nvml=given.nvml,
        cuinit=given.cuinit,
        gpus=gpus,
        static=given.static,
    )


if __name__ == "__main__":
    sys.exit(main())
