"""The whole of `doctor check`, its canaries unchanged, where the only GPU is faulty."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rig.conftest import Play
from tests.rig.scenarios import faulty
from tests.rig.waiting import parameters

pytestmark = pytest.mark.patient


@pytest.mark.parametrize(
    "name", parameters(lambda scenario: faulty.cards(scenario) == 1, faulty.SCENARIOS)
)
def test_one_faulty_gpu(play: Play, gpus_python: Path, name: str) -> None:
    play(faulty.SCENARIOS[name], gpus_python)
