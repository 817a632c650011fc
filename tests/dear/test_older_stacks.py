"""Stacks that cost too much for every push.

Named, healed by their own advice, and quiet afterwards.

The last result is in docs/slow-tests.md; the command is in CONTRIBUTING.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests import environments
from tests.command import check
from tests.conftest import missing
from tests.patients.healing import heal

pytestmark = pytest.mark.dear


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Any]:
    """Return a function that makes an environment of some requirements; it goes with the test."""
    made: list[Path] = []

    def environment(*requirements: str, then: tuple[str, ...] = ()) -> Path:
        folder = environments.root() / "variants" / tmp_path.name
        made.append(folder)
        try:
            environments.make(folder, requirements)
            python = environments.interpreter(folder)
            if then:
                environments.install(python, *then)
        except environments.UnavailableError as error:
            missing(str(error))
        return python

    yield environment
    for folder in made:
        environments.remove(environments.interpreter(folder))


def test_numpy_2_beside_a_torch_of_numpy_1(make: Any, tmp_path: Path) -> None:
    python = make("torch==2.2.2", "numpy==2.1.3", "setuptools<82")
    said = check("--python", python, "--only", "torch-runtime", cwd=tmp_path)
    found = said.finding("numpy/numpy-2-beside-older-torch")
    assert (said.code, found["severity"]) == (1, "error")
    heal(found, tmp_path)
    assert check("--python", python, "--only", "torch-runtime", cwd=tmp_path).code == 0


def test_an_nvjitlink_that_is_older_than_its_torch(make: Any, tmp_path: Path) -> None:
    python = make(
        "torch==2.5.1",
        "numpy<3",
        "setuptools",
        then=("--no-deps", "nvidia-nvjitlink-cu12==12.0.140"),
    )
    said = check("--python", python, "--only", "torch-runtime", cwd=tmp_path)
    found = said.finding("cuda/nvjitlink-other-version")
    assert (said.code, found["severity"], found["confidence"]) == (1, "error", "high")
    heal(found, tmp_path)
    assert check("--python", python, "--only", "torch-runtime", cwd=tmp_path).code == 0


def test_the_deep_tier_builds_a_torch_extension(
    nvcc_python: Path, toolkit: Path, tmp_path: Path
) -> None:
    said = check(
        "--python",
        nvcc_python,
        "--tier",
        "deep",
        "--only",
        "flash-attn-build",
        cwd=tmp_path,
        env={"CUDA_HOME": str(toolkit)},
        timeout=600,
    )
    (outcome,) = said.outcomes("flash-attn-build")
    assert (said.code, outcome["cases"]["torch-extension"]["verdict"]) == (0, "passed")


def test_a_header_that_only_an_extension_asks_for_is_named_with_its_owner(
    clone: Any, tmp_path: Path
) -> None:
    python = clone("nvcc")
    home = environments.site_packages(python) / "nvidia" / "cu13"
    (home / "include" / "cublas_v2.h").unlink()
    said = check(
        "--python",
        python,
        "--only",
        "flash-attn-build",
        cwd=tmp_path,
        env={"CUDA_HOME": str(home)},
        timeout=600,
    )
    assert "nvidia-cublas" in str(said.finding("cuda/toolkit-incomplete")["fixes"])
