"""Scenarios in which doctor does not say yet what it has to.

Whoever mends one takes its name away, for a strict mark tells.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest
from _pytest.mark import ParameterSet

from tests.rig.scenario import Scenario
from tests.rig.scenarios import SCENARIOS

NOT_YET: frozenset[str] = frozenset()
# Two GPUs run all canaries at every push, four a few of them.
DEAR = frozenset(
    {
        "eight-gpus",
        # The examples of their rules run at every push; these play the machine as well.
        "k80-and-its-last-driver",
        "fabric-manager-stopped",
        "torch-for-cuda-on-an-mi300x",
        "kept-for-a-virtual-machine",
        "graphics-of-the-processor",
        "new-torch-of-cuda-12-on-gb10",
        "prime-select-intel",
        "image-with-older-libraries",
        "list-in-brackets",
        "list-with-blanks-behind-commas",
        "firmware-missing-on-ubuntu",
        "module-refused",
        "nouveau-on-debian",
        "exclusive-and-held",
        "card-at-work",
    }
)


def parameters(
    wanted: Callable[[Scenario], bool], scenarios: Mapping[str, Scenario] = SCENARIOS
) -> list[ParameterSet]:
    """Return the names of the scenarios that are wanted, marked where doctor is not there yet."""
    return [
        pytest.param(name, marks=_marks(name), id=name)
        for name, scenario in scenarios.items()
        if wanted(scenario)
    ]


def _marks(name: str) -> list[pytest.MarkDecorator]:
    waiting = [pytest.mark.xfail(strict=True, reason="not yet")] if name in NOT_YET else []
    return [*waiting, *([pytest.mark.dear] if name in DEAR else [])]
