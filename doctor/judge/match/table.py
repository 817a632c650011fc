"""The decision table: from the evidence for a known issue to a decision and a confidence.

The table is total and has no exceptions. Each kind of evidence has a weight:

====================  ==  ============================  ==  =======================  ==
facts                     text                              canary
====================  ==  ============================  ==  =======================  ==
prove the issue       +2  found, of one meaning only    +2  a check that shows it    +1
                                                            failed
fit                   +1  found                         +1  none ran to an end        0
say nothing            0  not found                      0  all of them passed       -1
contradict            -1
====================  ==  ============================  ==  =======================  ==

A sum of 2 or more is high confidence, 1 is medium, less is low. So a text alone is medium, two
independent kinds of evidence are high, and no further evidence ever lowers the confidence.
"""

from __future__ import annotations

from enum import Enum, IntEnum

import msgspec

from doctor.model.scales import Confidence


class FactEvidence(IntEnum):
    """What the facts say of an issue; the value is the weight."""

    CONTRADICT = -1
    SAY_NOTHING = 0
    FIT = 1
    PROVE = 2


class TextEvidence(IntEnum):
    """Whether a signature matched; the value is the weight."""

    NOT_FOUND = 0
    FOUND = 1
    CONCLUSIVE = 2


class Canary(IntEnum):
    """How the checks that show the issue ended; the value is the weight."""

    PASSED = -1
    NOT_RUN = 0
    FAILED = 1


class Decision(Enum):
    """What becomes of a known issue."""

    FINDING = "finding"
    PREDICTED = "predicted"
    UNDECIDED = "undecided"
    RULED_OUT = "ruled out"
    NOTHING = "nothing"


class Result(msgspec.Struct, frozen=True):
    """A decision and, for findings and predictions, the confidence."""

    decision: Decision
    confidence: Confidence = Confidence.LOW


def conclude(facts: FactEvidence, text: TextEvidence, canary: Canary) -> Result:
    """Return the decision for this evidence, and how sure it is.

    A failed check that another issue explains has to be given as `Canary.NOT_RUN`.
    """
    weight = facts + text + canary
    confidence = (
        Confidence.HIGH if weight >= 2 else Confidence.MEDIUM if weight == 1 else Confidence.LOW
    )
    if text is not TextEvidence.NOT_FOUND:
        return Result(Decision.FINDING, confidence)
    decision = _without_text(facts, canary)
    return Result(
        decision,
        confidence if decision in (Decision.FINDING, Decision.PREDICTED) else Confidence.LOW,
    )


def _without_text(facts: FactEvidence, canary: Canary) -> Decision:
    if facts is FactEvidence.CONTRADICT:
        return Decision.NOTHING
    if canary is Canary.PASSED:
        return Decision.RULED_OUT
    if facts is FactEvidence.SAY_NOTHING:
        return Decision.UNDECIDED
    return Decision.FINDING if canary is Canary.FAILED else Decision.PREDICTED
