"""Find signatures in log texts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from doctor.conditions import regex
from doctor.literals import needed
from doctor.model.findings import Evidence, EvidenceKind
from doctor.model.issues import Signature
from doctor.model.observation import Observation
from doctor.model.outcomes import RED, Outcome

_SHOWN = 300


class Text(NamedTuple):
    """A text to search: where it came from, and the outcome it belongs to if it is the log of a check."""

    source: str
    body: str
    outcome: Outcome | None = None


class Seen(NamedTuple):
    """A signature that was found: the evidence, and what its named groups caught."""

    evidence: Evidence
    captures: dict[str, str]
    text: Text


def texts(observation: Observation) -> tuple[Text, ...]:
    """Return every text worth searching: the logs that were handed in, and what the checks that went red printed."""
    handed = [Text(log.source, "\n".join(log.lines)) for log in observation.logs]
    return (*handed, *(_of_outcome(outcome) for outcome in observation.outcomes if outcome.verdict in RED))


def _of_outcome(outcome: Outcome) -> Text:
    reasons = [case.reason for case in outcome.cases.values() if case.verdict in RED]
    return Text(label(outcome), "\n".join((*reasons, outcome.reason, outcome.log)), outcome)


def label(outcome: Outcome) -> str:
    """Name an outcome: `inductor-compile on cpu`."""
    return f"{outcome.id} on {outcome.device}" if outcome.device else outcome.id


def find(signatures: Sequence[Signature], searched: Sequence[Text]) -> Iterator[Seen]:
    """Yield, for each text and signature, the first place where the signature stands."""
    for text in searched:
        for signature in signatures:
            if (hit := _find_in(signature, text)) is not None:
                yield hit


def _find_in(signature: Signature, text: Text) -> Seen | None:
    found = regex(signature.pattern).search(text.body) if needed(signature.pattern) in text.body else None
    if found is None or any(not regex(other).search(text.body) for other in signature.also):
        return None
    if any(regex(other).search(text.body) for other in signature.unless):
        return None
    start = text.body.rfind("\n", 0, found.start()) + 1
    end = text.body.find("\n", found.end())
    line = text.body[start : end if end >= 0 else None].strip()
    number = text.body.count("\n", 0, found.start()) + 1 if text.outcome is None else None
    evidence = Evidence(kind=EvidenceKind.LOG, text=line[:_SHOWN], source=text.source, line=number)
    return Seen(evidence, {name: value for name, value in found.groupdict().items() if value}, text)
