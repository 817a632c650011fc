"""GPUs that a real torch does not reach, or that are full: what `doctor check` says, whole."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import environments
from tests.conftest import missing
from tests.rig.conftest import Play
from tests.rig.scenario import Scenario

pytestmark = pytest.mark.patient

_ONLY = ("--only", "torch-runtime")
_TWO = "gpus=2;driver=580.95.05"

SCENARIOS = {
    "none": Scenario(
        why="none counted",
        nvml=_TWO,
        args=_ONLY,
        code=1,
        first=("reach/cuda",),
        severity="error",
        says=("2 x NVIDIA",),
    ),
    "out of memory": Scenario(
        why="ulimit -v",
        nvml=_TWO,
        cuinit="2",
        args=_ONLY,
        code=1,
        first=("cuda/no-memory-to-start",),
    ),
    "fabric": Scenario(
        why="no fabric manager",
        nvml=_TWO,
        cuinit="802",
        args=_ONLY,
        code=1,
        first=("nvidia/fabric-manager-not-running",),
    ),
    "compat": Scenario(
        why="cuda-compat beside a GeForce",
        nvml=_TWO,
        cuinit="804",
        args=_ONLY,
        code=1,
        first=("cuda/forward-compatibility-refused",),
    ),
    "hidden": Scenario(
        why="the CPU is meant",
        nvml=_TWO,
        env={"CUDA_VISIBLE_DEVICES": "-1"},
        args=_ONLY,
        code=0,
        first=("reach/hidden",),
        severity="note",
        hides=("Nothing found",),
    ),
    "another": Scenario(
        why="no such GPU",
        nvml=_TWO,
        env={"CUDA_VISIBLE_DEVICES": "7"},
        args=_ONLY,
        code=1,
        first=("cuda/visible-devices-wrong",),
    ),
    "no GPU": Scenario(
        why="a machine for the CPU",
        libcuda=None,
        args=_ONLY,
        code=0,
        tells=("Nothing found: the checks passed",),
    ),
}


@pytest.fixture(scope="module")
def torch_python() -> Path:
    """Return the interpreter of a patient with torch 2.13.0."""
    try:
        return environments.patient("torch")
    except environments.UnavailableError as error:
        missing(str(error))


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_real_torch_above_a_driver_that_refuses(
    name: str, torch_python: Path, play: Play
) -> None:
    play(SCENARIOS[name], torch_python)
