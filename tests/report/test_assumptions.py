"""What was declared is told apart from what was seen."""

from __future__ import annotations

from doctor.model.facts import ASSUMED, present
from doctor.report.view.assumptions import as_if, assumed
from tests.report.reports import facts


def test_what_was_seen_is_not_declared() -> None:
    assert (assumed(facts()), as_if(facts())) == ((), "")


def test_what_was_declared_is_told_as_it_was_written() -> None:
    declared = facts(
        nvidia__capabilities=present(["9.0", "12.0"], ASSUMED),
        nvidia__driver_version=present("535.104", ASSUMED),
    )
    assert assumed(declared) == ("gpu=sm_90", "gpu=sm_120", "driver=535.104")
    assert as_if(declared) == "judged as if there (--assume): gpu=sm_90, gpu=sm_120, driver=535.104"


def test_a_driver_alone_is_told_too() -> None:
    assert assumed(facts(nvidia__driver_version=present("535.104", ASSUMED))) == ("driver=535.104",)
