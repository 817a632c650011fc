"""What slows GPUs down: heat, or the power brake of one card or of the whole machine."""

from __future__ import annotations

import pytest

from doctor.model.facts import value_of
from tests.facts.test_driver import derived

_HEAT, _BRAKE = "hardware thermal slowdown", "hardware power brake"


@pytest.mark.parametrize(
    ("reasons", "by", "braked"),
    [
        ([[_BRAKE], [_BRAKE]], "power brake", 2),
        ([[_BRAKE], []], "power brake", None),
        ([[_BRAKE]], "power brake", None),
        ([[_HEAT], [_BRAKE]], "heat and power brake", None),
        ([[_HEAT], []], "heat", None),
        ([["hardware slowdown"], []], None, None),
    ],
)
def test_what_slows_gpus_down(reasons: list[list[str]], by: str | None, braked: int | None) -> None:
    gpus = [
        {"index": place, "name": "NVIDIA L40S", "health": {"slowdown": said}}
        for place, said in enumerate(reasons)
    ]
    facts = derived(nvidia__gpus=gpus, nvidia__visible=gpus)
    assert (value_of(facts, "nvidia.throttled_by"), value_of(facts, "nvidia.all_braked")) == (
        by,
        braked,
    )
