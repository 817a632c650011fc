"""CUDA toolkits made of pip packages.

What is wrong with them is named, and the commands of the fix put it right.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.command import Said, check
from tests.environments import site_packages
from tests.patients.healing import heal

Clone = Callable[..., Path]


@pytest.fixture(autouse=True)
def _compiler(needs: Callable[[str], str]) -> None:
    needs("g++")


def _build(python: Path, cwd: Path, toolkit: Path) -> Said:
    return check(
        "--python", python, "--only", "flash-attn-build", cwd=cwd, env={"CUDA_HOME": str(toolkit)}
    )


def _cases(said: Said) -> dict[str, str]:
    (outcome,) = said.outcomes("flash-attn-build")
    return {name: case["verdict"] for name, case in outcome["cases"].items()}


def test_a_toolkit_that_compiles_and_links_passes(
    nvcc_python: Path, toolkit: Path, tmp_path: Path
) -> None:
    said = _build(nvcc_python, tmp_path, toolkit)
    assert said.code == 0
    assert [finding["id"] for finding in said.report["findings"]] == []
    assert _cases(said)["kernel-link"] == "passed"


def test_the_nvcc_of_pip_compiles_and_cannot_link_until_it_is_healed(
    clone: Clone, tmp_path: Path
) -> None:
    python = clone("nvcc")
    toolkit = site_packages(python) / "nvidia" / "cu13"
    said = _build(python, tmp_path, toolkit)
    assert said.code == 1
    assert (_cases(said)["kernel-compile"], _cases(said)["kernel-link"]) == ("passed", "failed")
    found = said.finding("cuda/pip-toolkit-cannot-link")
    assert (found["severity"], found["confidence"]) == ("error", "high")
    assert said.report["findings"][0] == found
    heal(found, tmp_path)
    healed = _build(python, tmp_path, toolkit)
    assert healed.code == 0
    assert _cases(healed)["kernel-link"] == "passed"


def test_missing_headers_are_named_with_their_owners_and_come_back(
    clone: Clone, tmp_path: Path
) -> None:
    python = clone("nvcc")
    toolkit = site_packages(python) / "nvidia" / "cu13"
    headers = {"crt/host_config.h": "nvidia-cuda-crt", "cusparse.h": "nvidia-cusparse"}
    for header in headers:
        (toolkit / "include" / header).unlink()
    said = _build(python, tmp_path, toolkit)
    assert said.code == 1
    found = said.finding("cuda/toolkit-incomplete")
    assert said.report["findings"][0] == found
    assert found["severity"] == "error"
    for header, owner in headers.items():
        assert any(header in evidence["text"] for evidence in found["evidence"])
        assert any(owner in command for command in found["fixes"][0]["commands"])
    heal(found, tmp_path)
    assert all((toolkit / "include" / header).is_file() for header in headers)
    healed = _build(python, tmp_path, toolkit)
    assert "cuda/toolkit-incomplete" not in {finding["id"] for finding in healed.report["findings"]}
    assert _cases(healed)["torch-headers"] == "passed"
