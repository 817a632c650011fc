"""What a failed check printed is explained by the analyzers of logs."""

from __future__ import annotations

from doctor.judge.match import diagnose
from doctor.model.catalog import Catalog
from doctor.model.findings import Detection
from doctor.model.observation import Observation
from doctor.model.outcomes import Outcome, Verdict

NOTHING = Catalog(issues={}, tables={}, digest="", newest_source="")
PRINTED = "Traceback\nImportError: /x/own_ops.so: undefined symbol: own_kernel_launch\n"


def found(log: str) -> Detection:
    """Return the finding for a check of nobody's that failed."""
    outcome = Outcome(
        id="own-check", target="t", verdict=Verdict.FAILED, reason="it does not load", log=log
    )
    (one,) = diagnose(Observation(outcomes=(outcome,)), NOTHING).findings
    return one


def test_the_output_of_a_check_is_explained() -> None:
    """The title names the symbol, and the whole log stays one command away."""
    one = found(PRINTED)
    assert one.id == "canary/own-check"
    assert "own-check failed" in one.title
    assert "own_kernel_launch" in one.title
    assert one.recipes[-1].title.startswith("See the whole log")


def test_an_output_that_says_nothing_is_left_alone() -> None:
    """Without an event the finding says that no known issue explains it."""
    one = found("")
    assert one.title == "own-check failed"
    assert "No known issue explains it" in one.message
