"""The one table that turns evidence into a result; total, and every cell is tested."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

from doctor.model.scales import Confidence


class Canary(Enum):
    """How the checks that would prove an issue ended."""

    FAILED = "failed"
    PASSED = "passed"
    NOT_RUN = "not run"


class Decision(Enum):
    """What becomes of a known issue."""

    FINDING = "finding"
    PREDICTED = "predicted"
    UNDECIDED = "undecided"
    RULED_OUT = "ruled out"
    NOTHING = "nothing"


class Result(NamedTuple):
    """A ruling and, for findings, the confidence."""

    ruling: Decision
    confidence: Confidence = Confidence.LOW


def judge(applies: bool | None, *, signature: bool, canary: Canary) -> Result:
    """Look up the cell for what is known of an issue.

    `applies`: whether an affected row holds (None: cannot tell); `signature`: whether its text was
    seen; `canary`: how the checks that would prove it ended, a red one that something else explains
    counting as not run.
    """
    if signature:
        return _with_signature(applies, canary)
    match applies, canary:
        case True, Canary.FAILED:
            return Result(Decision.FINDING, Confidence.MEDIUM)
        case True, Canary.NOT_RUN:
            return Result(Decision.PREDICTED, Confidence.MEDIUM)
        case ((True | None), Canary.PASSED):
            return Result(Decision.RULED_OUT)
        case None, _:
            return Result(Decision.UNDECIDED)
        case _:
            return Result(Decision.NOTHING)


def _with_signature(applies: bool | None, canary: Canary) -> Result:
    match applies, canary:
        case True, (Canary.FAILED | Canary.NOT_RUN):
            return Result(Decision.FINDING, Confidence.HIGH)
        case True, Canary.PASSED:
            return Result(Decision.FINDING, Confidence.MEDIUM)
        case (None, (Canary.FAILED | Canary.NOT_RUN)) | (False, Canary.FAILED):
            return Result(Decision.FINDING, Confidence.MEDIUM)
        case _:
            return Result(Decision.FINDING, Confidence.LOW)
