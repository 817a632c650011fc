"""What files and NVML tell.

The static check on machines that are played, without any torch but its name.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.rig.conftest import Play
from tests.rig.scenario import Built
from tests.rig.scenarios import SCENARIOS
from tests.rig.waiting import parameters


@pytest.mark.parametrize("name", parameters(lambda scenario: scenario.static))
def test_static(play: Play, torch_says: Callable[[Built], Path], name: str) -> None:
    play(SCENARIOS[name], torch_says(SCENARIOS[name].built))
