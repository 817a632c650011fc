"""Find signatures in log texts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from doctor.base.literals import literals_in, required_literals
from doctor.base.patterns import PatternMatch, compile_pattern
from doctor.facts.devices import device_name
from doctor.judge.match.gpu_messages import message_facts
from doctor.model.catalog import Catalog
from doctor.model.facts import Facts, value_of
from doctor.model.findings import Evidence, EvidenceKind
from doctor.model.issues import Signature
from doctor.model.observation import Log, Observation
from doctor.model.outcomes import RED, Outcome

_SHOWN = 300
_TEMPLATE = r"^\{[A-Za-z_][\w.()\[\]!:]{0,60}\}$"
"""A capture that is a placeholder of Python's f-strings."""
_LONG = 50_000


class Text(msgspec.Struct, frozen=True):
    """A text to search.

    Where it came from, the outcome it belongs to if it is the log of a check, or the fact that
    holds it.

    Of a log also its lines with their numbers, and of a long one which of the texts that signatures
    look for stand in it.
    """

    source: str
    body: str
    outcome: Outcome | None = None
    log: Log | None = None
    holds: frozenset[str] | None = None
    fact: str = ""

    @property
    def is_handed_in(self) -> bool:
        """Say whether somebody handed it in.

        It may speak of another machine, and tells of an error that happened.
        """
        return self.outcome is None and not self.fact

    def number(self, place: int) -> int:
        """Return the number of the line at a place, from 1."""
        line = self.body.count("\n", 0, place)
        return self.log.number(line) if self.log else line + 1


class Hit(msgspec.Struct, frozen=True):
    """Where a pattern matched: the place in the text, and the match."""

    start: int
    found: PatternMatch


class Match(msgspec.Struct, frozen=True):
    """A signature that matched.

    The line as evidence, what its named groups captured, and the text.
    """

    evidence: Evidence
    captures: dict[str, str]
    text: Text


def texts(observation: Observation) -> tuple[Text, ...]:
    """Return every text worth searching.

    Logs that were handed in, what red checks printed, and what drivers and frameworks said.
    """
    handed = [Text(log.source, "\n".join(log.lines), log=log) for log in observation.logs]
    red = [
        _of_outcome(outcome, observation.facts)
        for outcome in observation.outcomes
        if outcome.verdict in RED
    ]
    printed = "\n".join(text.body for text in red)
    said = [_of_fact(name, observation.facts) for name in message_facts(observation.facts)]
    return (*handed, *red, *(text for text in said if text.body not in printed))


def _of_fact(name: str, facts: Facts) -> Text:
    words = str(value_of(facts, name))
    # NVML gives the bare reason; signatures were written from what nvidia-smi makes of it.
    return Text(
        facts[name].source,
        f"Failed to initialize NVML: {words}" if name == "nvidia.nvml" else words,
        fact=name,
    )


def _of_outcome(outcome: Outcome, facts: Facts) -> Text:
    reasons = [case.reason for case in outcome.cases.values() if case.verdict in RED]
    return Text(label(outcome, facts), "\n".join((*reasons, outcome.reason, outcome.log)), outcome)


def label(outcome: Outcome, facts: Facts) -> str:
    """Name an outcome, and the card where that is known.

    `inductor-compile on cuda:1 (RTX 3060, 0000:41:00.0, nvidia-smi 0)`.
    """
    return f"{outcome.id} on {device_name(outcome.device, facts)}" if outcome.device else outcome.id


def telling(catalog: Catalog) -> Iterator[str]:
    """Yield literals: each line that a signature can match holds one of them."""
    for issue in catalog.issues.values():
        for signature in issue.signatures:
            for pattern in (signature.pattern, *signature.also, *signature.unless):
                yield from required_literals(pattern)
        for recipe in issue.fixes:
            for pattern in (*recipe.shown, *recipe.unless):
                yield from required_literals(pattern)


def looked_through(searched: Sequence[Text], catalog: Catalog) -> tuple[Text, ...]:
    """Return the texts to search, long ones with the literals that they hold."""
    wanted = (
        frozenset(telling(catalog))
        if any(len(text.body) > _LONG for text in searched)
        else frozenset()
    )
    return tuple(
        msgspec.structs.replace(text, holds=literals_in(wanted, text.body))
        if len(text.body) > _LONG
        else text
        for text in searched
    )


def find(signatures: Sequence[Signature], searched: Sequence[Text]) -> Iterator[Match]:
    """Yield, for each text and signature, the first place where the signature stands."""
    for text in searched:
        for signature in signatures:
            if (hit := _find_in(signature, text)) is not None:
                yield hit


def holds(pattern: str, text: Text) -> bool:
    """Say whether a pattern is found in a text."""
    return _search(pattern, text) is not None


def _search(pattern: str, text: Text) -> Hit | None:
    """Find the first place that matches.

    Only where a line holds what the pattern cannot match without is it tried.
    """
    wanted = [
        one
        for one in required_literals(pattern) or ("",)
        if not one or text.holds is None or one in text.holds
    ]
    found = [hit for one in wanted if (hit := _first(pattern, one, text.body))]
    return min(found, key=lambda hit: hit.start, default=None)


def _first(pattern: str, text: str, body: str) -> Hit | None:
    """Search each line that holds the text, with one neighbour on each side.

    Sentences are wrapped over lines; the time stays linear.
    """
    done, place = 0, body.find(text)
    while place >= 0:
        end = _end_of_line(body, place)
        start = max(body.rfind("\n", 0, max(body.rfind("\n", 0, place), 0)) + 1, done)
        if found := compile_pattern(pattern).search(body[start : _end_of_line(body, end + 1)]):
            return Hit(start + found.start, found)
        done = min(end + 1, len(body))
        place = body.find(text, done) if end < len(body) else -1
    return None


def _is_template(value: str) -> bool:
    return compile_pattern(_TEMPLATE).search(value) is not None


def _end_of_line(body: str, place: int) -> int:
    end = body.find("\n", place)
    return end if end >= 0 else len(body)


def _with_values(pattern: str, text: Text) -> Hit | None:
    """Find the first place that matches, or a later one with values in the place of a template.

    A traceback shows the source of `raise ValueError(f"… ({arch})")` above the message, and a
    title repeats the message, often not the whole of it.
    """
    hit = _search(pattern, text)
    if hit is None or not (
        _is_title(text, hit) or any(map(_is_template, hit.found.groups.values()))
    ):
        return hit
    after = _end_of_line(text.body, hit.start + len(hit.found.text))
    later = _search(pattern, msgspec.structs.replace(text, body=text.body[after:]))
    return hit if later is None else Hit(after + later.start, later.found)


def _is_title(text: Text, hit: Hit) -> bool:
    """Say whether a place is the first line of a log, with an empty line below it."""
    end = _end_of_line(text.body, hit.start + len(hit.found.text))
    return (
        text.log is not None
        and not text.body[: hit.start].lstrip("\n").count("\n")
        and text.body[end : end + 2] in ("\n\n", "\n\r")
    )


def _find_in(signature: Signature, text: Text) -> Match | None:
    hit = _with_values(signature.pattern, text)
    if hit is None or any(not _search(other, text) for other in signature.also):
        return None
    if any(_search(other, text) for other in signature.unless):
        return None
    start = text.body.rfind("\n", 0, hit.start) + 1
    line = text.body[start : _end_of_line(text.body, hit.start + len(hit.found.text))].strip()
    number = text.number(hit.start) if text.is_handed_in else None
    kind = EvidenceKind.FACT if text.fact else EvidenceKind.LOG
    evidence = Evidence(
        kind=kind, text=line[:_SHOWN], source=text.source, line=number, fact=text.fact
    )
    values = hit.found.groups.items()
    captures = {name: value for name, value in values if not _is_template(value)}
    return Match(evidence, captures, text)
