"""A real torch above a driver that refuses."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rig.conftest import Play
from tests.rig.scenarios import SCENARIOS
from tests.rig.waiting import parameters


@pytest.mark.parametrize(
    "name", parameters(lambda scenario: not scenario.static and scenario.gpus is None)
)
def test_a_driver_that_refuses(play: Play, torch_python: Path, name: str) -> None:
    play(SCENARIOS[name], torch_python)
