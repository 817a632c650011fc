"""Scenarios in which doctor does not say yet what it has to.

Whoever mends one takes its name away, for a strict mark tells.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
from _pytest.mark import ParameterSet

from tests.rig.scenario import Scenario
from tests.rig.scenarios import SCENARIOS

NOT_YET: frozenset[str] = frozenset()


def parameters(wanted: Callable[[Scenario], bool]) -> list[ParameterSet]:
    """Return the names of the scenarios that are wanted, marked where doctor is not there yet."""
    marks = {True: [pytest.mark.xfail(strict=True, reason="not yet")], False: []}
    return [
        pytest.param(name, marks=marks[name in NOT_YET], id=name)
        for name, scenario in SCENARIOS.items()
        if wanted(scenario)
    ]
