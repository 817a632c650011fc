"""How checks ended, in words, for every format that people read."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from itertools import groupby

import msgspec

from doctor.base.text import sanitize
from doctor.facts.devices import card
from doctor.model.facts import Facts
from doctor.model.observation import Observation
from doctor.model.outcomes import RED, Outcome, Verdict
from doctor.report.view.words import count

_TOLD_LINES = 8

WORDS = {
    Verdict.PASSED: "passed",
    Verdict.FAILED: "failed",
    Verdict.CRASHED: "crashed",
    Verdict.TIMED_OUT: "timed out",
    Verdict.SKIPPED: "skipped",
    Verdict.BROKEN: "broken, a fault of doctor",
}


def grouped(outcomes: Sequence[Outcome], facts: Facts) -> list[tuple[Outcome, ...]]:
    """Group outcomes of one check that ended alike, case by case, on neighbouring devices.

    A red check of a device also tells which card that is: CUDA and nvidia-smi number them
    differently.
    """
    ends = groupby((_with_card(outcome, facts) for outcome in outcomes), key=_ending)
    return [tuple(alike) for _, alike in ends]


def _ending(outcome: Outcome) -> tuple[object, ...]:
    cases = [
        (name, case.verdict, case.reason)
        for name, case in outcome.cases.items()
        if case.verdict is not Verdict.PASSED
    ]
    return (outcome.id, outcome.verdict, outcome.reason, bool(outcome.cases), cases)


def _with_card(outcome: Outcome, facts: Facts) -> Outcome:
    which = card(outcome.device, facts) if outcome.device and outcome.verdict in RED else ""
    if not which:
        return outcome
    lines = outcome.data.get("told")
    told_ = [f"the card is {which}", *(lines if isinstance(lines, list) else [])]
    return msgspec.structs.replace(outcome, data={**outcome.data, "told": told_})


def devices(alike: Sequence[Outcome]) -> str:
    """Write devices briefly: cpu, cuda:0-7."""
    names = [outcome.device for outcome in alike if outcome.device]
    numbers = [int(device[5:]) for device in names if re.fullmatch(r"cuda:[0-9]{1,4}", device)]
    if len(numbers) > 1 and numbers == list(range(numbers[0], numbers[0] + len(numbers))):
        names = [
            *(device for device in names if not device.startswith("cuda:")),
            f"cuda:{numbers[0]}-{numbers[-1]}",
        ]
    return ", ".join(names)


def partly(outcome: Outcome) -> str:
    """Say of a check that passed how many of its cases were skipped; empty where none was."""
    skipped = sum(case.verdict is Verdict.SKIPPED for case in outcome.cases.values())
    return f"{skipped} of {count(len(outcome.cases), 'case')} skipped" if skipped else ""


def why(outcome: Outcome) -> str:
    """Say how a check ended and why; of one that passed, only what it could not look at."""
    because_ = because(outcome)
    if outcome.verdict is Verdict.PASSED:
        return because_
    separator = " " if outcome.signal else ": "
    return WORDS[outcome.verdict] + (separator + because_ if because_ else "")


def because(outcome: Outcome) -> str:
    """Say why a check ended as it did: `by SIGSEGV: no result`.

    Of one that passed, what it could not look at.
    """
    if outcome.verdict is Verdict.PASSED:
        return partly(outcome)
    return ": ".join(
        filter(None, (f"by {outcome.signal}" if outcome.signal else "", innermost(outcome)))
    )


def log_tail(log: str, most: int) -> tuple[list[str], int]:
    """Return the last lines of a log that are not empty, and how many stand before them."""
    lines = [line for line in log.splitlines() if line and not line.isspace()]
    tail = [
        sanitize(line[:2000]).replace("\n", " ").expandtabs(8).rstrip()[:500]
        for line in lines[-most:]
    ]
    return tail, max(len(lines) - most, 0)


def remarks(alike: Sequence[Outcome]) -> list[str]:
    """Return what checks tell beside their verdict, `data.told`.

    Where devices differ in it, with the device.
    """
    lists = [outcome.data.get("told") for outcome in alike]
    lines = [
        [str(line) for line in told[:_TOLD_LINES]] if isinstance(told, list) else []
        for told in lists
    ]
    if all(each == lines[0] for each in lines):
        return lines[0]
    return [
        f"{outcome.device}: {line}"
        for outcome, each in zip(alike, lines, strict=True)
        for line in each
    ]


def innermost(outcome: Outcome) -> str:
    """Return why a check ended as it did: its own reason, else those of its red cases."""
    red = [
        f"{name}: {case.reason}"
        for name, case in outcome.cases.items()
        if case.verdict in RED and case.reason
    ]
    return outcome.reason or "; ".join(red)


def cached(seen: Observation) -> list[str]:
    """Say how many checks were not run again, and how old the oldest of their verdicts is."""
    times = [outcome.cached_from for outcome in seen.outcomes if outcome.cached_from]
    if not times:
        return []
    since = f"{_age(min(times), seen.taken)} ago" if seen.taken else f"at {min(times)}"
    many = count(len(times), "result")
    return [
        f"{many} from an earlier run, {since}; nothing has changed since (--fresh runs them again)"
    ]


def _age(then: str, now: str) -> str:
    try:
        seconds = (datetime.fromisoformat(now) - datetime.fromisoformat(then)).total_seconds()
    except (ValueError, TypeError):
        return "some time"
    return (
        count(round(seconds / 3600), "hour")
        if seconds > 5400
        else count(max(round(seconds / 60), 1), "minute")
    )
