"""The environments that tests examine are what they say."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.environments import site_packages


def _version(python: Path) -> str:
    return subprocess.run(
        [str(python), "-c", "import torch; print(torch.__version__)"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout


def test_a_variant_runs_and_shares_the_files_of_its_patient(
    torch_python: Path, clone: Callable[..., Path]
) -> None:
    other = clone("torch", "--no-deps", "triton==3.1.0")
    assert _version(other) == "2.13.0+cu130\n"
    inside = Path("torch/lib/libtorch_cpu.so")
    assert (site_packages(other) / inside).samefile(site_packages(torch_python) / inside)
    assert (site_packages(other) / "triton-3.1.0.dist-info").is_dir()
    assert (site_packages(torch_python) / "triton-3.7.1.dist-info").is_dir()


@pytest.mark.patient
def test_the_toolkit_compiles_and_links(
    toolkit: Path, tmp_path: Path, needs: Callable[[str], str]
) -> None:
    needs("g++")
    source = tmp_path / "k.cu"
    source.write_text(
        "__global__ void k(int *x) { *x = 1; }\nint main() { k<<<1, 1>>>(nullptr); }\n",
        encoding="utf-8",
    )
    subprocess.run(
        [toolkit / "bin/nvcc", "-arch=sm_90", source, "-o", tmp_path / "k"],
        check=True,
        capture_output=True,
    )
