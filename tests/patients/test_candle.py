"""Candle's releases by their lock alone.

What does not compile is named with the one command that heals it, the rest is silent.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.command import Said, doctor
from tests.conftest import missing
from tests.workspaces import CargoError, application, cargo, cargo_home

pytestmark = pytest.mark.patient

_HOME = {"CARGO_HOME": str(cargo_home())}


@pytest.fixture
def locked(tmp_path: Path, needs: Callable[[str], str]) -> Callable[[str], Path]:
    """Return a function that makes a freshly locked workspace on a release of candle-core."""
    needs("cargo")

    def lock(version: str) -> Path:
        workspace = application(tmp_path / "workspace", f'candle-core = "={version}"')
        try:
            cargo(workspace, "generate-lockfile")
        except CargoError as error:
            missing(str(error))
        return workspace

    return lock


def _check(workspace: Path) -> Said:
    return doctor("check", "--no-canaries", "--format", "json", cwd=workspace, env=_HOME)


@pytest.mark.parametrize("version", ["0.8.4", "0.9.1", "0.11.0"])
def test_a_healthy_release_is_silent(locked: Callable[[str], Path], version: str) -> None:
    said = _check(locked(version))
    assert (said.code, said.report["findings"]) == (0, [])


@pytest.mark.parametrize("version", ["0.4.1", "0.8.2"])
def test_a_release_beside_a_newer_half_is_healed_by_one_command(
    locked: Callable[[str], Path], version: str
) -> None:
    workspace = locked(version)
    said = _check(workspace)
    found = said.finding("candle/half-too-new")
    assert (said.code, found["severity"], found["confidence"]) == (1, "error", "high")
    (command,) = found["fixes"][0]["commands"]
    assert command.endswith("cargo update -p half --precise 2.4.1")
    subprocess.run(
        ["sh", "-c", command], check=True, env={**os.environ, **_HOME}, capture_output=True
    )
    said = _check(workspace)
    assert (said.code, said.report["findings"]) == (0, [])
