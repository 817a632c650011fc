"""Environments that went from one CUDA generation to another, of real packages; a program is run before and after each fix."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

from tests.command import Said, check
from tests.environments import install
from tests.patients.healing import heal

Clone = Callable[..., Path]

LEFTOVER, MIXED = "torch/leftover-cuda-packages", "torch/other-cuda-generation"
TWELVE = ("nvidia-cudnn-cu12==9.1.0.70", "nvidia-nccl-cu12==2.21.5")  # those of torch 2.5.1, which another patient brings
THIRTEEN = ("nvidia-cudnn-cu13==9.20.0.48", "nvidia-nccl-cu13==2.29.7")
PROGRAM = """
import torch
assert torch.backends.cudnn.version() == 92000, torch.backends.cudnn.version()
assert torch.cuda.nccl.version() == (2, 29, 7)
ones = torch.nn.functional.conv2d(torch.ones(1, 1, 5, 5), torch.ones(1, 1, 3, 3))
assert ones.sum().item() == 81
"""


def works(python: Path, folder: Path) -> str:
    """Run the program; an empty text is success, else what it said at last."""
    ran = subprocess.run([str(python), "-c", PROGRAM], capture_output=True, text=True, cwd=folder, check=False)
    return ran.stderr.strip().rpartition("\n")[2] if ran.returncode else ""


def static(python: Path, folder: Path) -> Said:
    """Look at files only."""
    return check("--python", python, "--no-canaries", cwd=folder)


def test_a_healthy_upgrade_is_left_alone_and_can_be_tidied(clone: Clone, tmp_path: Path) -> None:
    python = clone("torch", "--no-deps", *TWELVE)
    install(
        python, "--no-deps", "--reinstall-package", "nvidia-cudnn-cu13", "--reinstall-package", "nvidia-nccl-cu13", "--offline", *THIRTEEN
    )
    assert works(python, tmp_path) == ""
    said = static(python, tmp_path)
    assert said.code == 0
    assert [finding["id"] for finding in said.report["findings"]] == [LEFTOVER]
    heal(said.finding(LEFTOVER), tmp_path)
    assert works(python, tmp_path) == ""
    assert static(python, tmp_path).report["findings"] == []


def test_the_libraries_of_the_earlier_generation_in_the_place_of_the_later(clone: Clone, tmp_path: Path) -> None:
    python = clone("torch", "--no-deps", *TWELVE)
    assert "undefined symbol: nccl" in works(python, tmp_path)
    said = static(python, tmp_path)
    assert said.code == 1
    found = said.finding(MIXED)
    assert said.report["findings"] == [found]
    assert found["severity"] == "error"
    heal(found, tmp_path)
    assert works(python, tmp_path) == ""
    assert static(python, tmp_path).report["findings"] == []
