"""Real observations, judged with a toy catalog.

The screen of a machine without fault, and of the demo.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from doctor.pipeline.assess import assess
from doctor.pipeline.snapshots import read_observation
from doctor.report.terminal import document as terminal
from doctor.site import generate
from tests import toy

HEALTHY = Path(__file__).parents[2] / "fixtures" / "observations" / "healthy-without-gpu.json"


def screen(path: Path, *, verbosity: int = 0, width: int = 80) -> str:
    """Judge an observation and show it."""
    report = assess(read_observation(path), toy.catalog())
    return terminal.render(report, verbosity=verbosity, width=width, colour=False, unicode=True)


def test_a_healthy_machine_is_one_screen() -> None:
    """80x24 with a prompt above and below; what was not looked at is said all the same."""
    text = screen(HEALTHY)
    assert len(text.splitlines()) <= 22
    for words in (
        "torch 2.13.0 · CUDA 13.0",
        "cp311",
        "no NVIDIA driver",
        "Nothing found",
        "no check ran on cuda",
    ):
        assert words in text


@pytest.mark.parametrize("path", [HEALTHY, generate.RECORDING], ids=["healthy", "demo"])
def test_everything_can_be_shown(path: Path) -> None:
    """With `-v` every fact of interest is there."""
    text = screen(path, verbosity=1, width=120)
    assert "torch.git_version" in text
    assert "nvidia-cudnn-cu13 9.20.0.48" in text


def test_the_demo_says_that_it_is_one() -> None:
    """It is stored as a recording, so that every format says so."""
    assert read_observation(generate.RECORDING).recording
    assert "RECORDING" in screen(generate.RECORDING).splitlines()[0]
