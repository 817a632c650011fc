"""The whole of `doctor check`, its canaries unchanged, on GPUs of which some are faulty."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rig.conftest import Play
from tests.rig.scenarios import faulty
from tests.rig.waiting import parameters

pytestmark = pytest.mark.patient


@pytest.mark.parametrize(
    "name", parameters(lambda scenario: faulty.cards(scenario) > 1, faulty.SCENARIOS)
)
def test_faulty_gpus(play: Play, gpus_python: Path, name: str) -> None:
    play(faulty.SCENARIOS[name], gpus_python)
