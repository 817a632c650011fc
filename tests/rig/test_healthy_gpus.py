"""The whole of `doctor check`, its canaries unchanged, on healthy GPUs that the CPU plays.

What is not among the faulty ones is here.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rig.conftest import Play
from tests.rig.scenarios import SCENARIOS, faulty
from tests.rig.waiting import parameters

pytestmark = pytest.mark.patient

_NOT_FAULTY = {name: one for name, one in SCENARIOS.items() if name not in faulty.SCENARIOS}


@pytest.mark.parametrize(
    "name", parameters(lambda scenario: scenario.gpus is not None, _NOT_FAULTY)
)
def test_healthy_gpus(play: Play, gpus_python: Path, name: str) -> None:
    play(SCENARIOS[name], gpus_python)
