"""GPUs are there, and torch reaches none: what a real torch says above a driver that refuses."""

from __future__ import annotations

from tests.rig import machines
from tests.rig.scenario import Scenario

_TWO = "gpus=2;cuda=13000;driver=580.95.05"
_MACHINE = machines.nvidia(gpus=2)
_ONLY = ("--only", "torch-runtime")


def _refuses(why: str, cuinit: str, first: tuple[str, ...], *says: str) -> Scenario:
    """The driver's start ends with a code; NVML lists two H100 none the less."""
    return Scenario(
        why=why, machine=_MACHINE, nvml=_TWO, cuinit=cuinit, args=_ONLY, code=1, first=first, severity="error", says=says, red=None
    )


SCENARIOS = {
    "cuinit-100": _refuses("no device is handed in, or the last GPU fell off the bus", "100", ("reach/cuda",), "H100"),
    "cuinit-3": _refuses(
        "half an update, device files without rights", "3", ("cuda/driver-does-not-start", "reach/cuda"), "(?i)initiali[sz]ation|start"
    ),
}
