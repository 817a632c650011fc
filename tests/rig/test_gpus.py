"""The whole of `doctor check`, its canaries unchanged, on GPUs that the CPU plays."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rig.conftest import Play
from tests.rig.scenarios import SCENARIOS
from tests.rig.waiting import parameters

pytestmark = pytest.mark.patient


@pytest.mark.parametrize("name", parameters(lambda scenario: scenario.gpus is not None))
def test_gpus(play: Play, gpus_python: Path, name: str) -> None:
    play(SCENARIOS[name], gpus_python)
