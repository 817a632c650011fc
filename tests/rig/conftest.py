"""What the scenarios share: the libraries, and the environments in which they are played."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests import environments
from tests.conftest import missing
from tests.rig import parts
from tests.rig.judging import complaints
from tests.rig.machine import unshare
from tests.rig.scenario import Built, Scenario, Stage, libraries, torch_in_name

Play = Callable[[Scenario, Path], None]


@pytest.fixture(scope="session")
def built_libraries(needs: Callable[[str], str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a driver that refuses and an NVML that answers."""
    needs("cc")
    return libraries(tmp_path_factory.mktemp("libraries"))


@pytest.fixture(scope="session")
def torch_says(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Built], Path]:
    """Return a function that makes an environment with a stand-in torch, once per kind of build."""
    made: dict[Built, Path] = {}

    def make(built: Built) -> Path:
        if built not in made:
            made[built] = torch_in_name(tmp_path_factory.mktemp("named") / "venv", built)
        return made[built]

    return make


@pytest.fixture(scope="session")
def gpus_python() -> Iterator[Path]:
    """Return the interpreter of an environment with torch 2.13.0 for which the CPU plays GPUs."""
    try:
        python = parts.play_gpus(environments.variant("torch"))
    except environments.UnavailableError as error:
        missing(str(error))
    yield python
    environments.remove(python)


@pytest.fixture
def play(built_libraries: Path, tmp_path: Path) -> Play:
    """Return a function that plays a scenario, and fails where doctor's answer is wrong."""

    def played(scenario: Scenario, python: Path) -> None:
        if scenario.machine and unshare() is None:
            missing("unshare allows no mounts of one's own")
        wrong = complaints(Stage(scenario, tmp_path, built_libraries, python))
        assert not wrong, "\n".join([scenario.why, *wrong])

    return played
