"""How checks ended, in words, for every format that people read."""

from __future__ import annotations

import re
from collections.abc import Sequence

from doctor.model.facts import Facts, value_of
from doctor.model.outcomes import RED, Outcome, Verdict

_TOLD_LINES = 8

WORDS = {
    Verdict.PASSED: "passed",
    Verdict.FAILED: "failed",
    Verdict.CRASHED: "crashed",
    Verdict.TIMED_OUT: "ran out of time",
    Verdict.SKIPPED: "skipped",
    Verdict.BROKEN: "broken, a fault of doctor",
}


def told(alike: Sequence[Outcome]) -> list[str]:
    """Return what checks tell beside their verdict, `data.told`; where devices differ in it, with the device."""
    lists = [outcome.data.get("told") for outcome in alike]
    lines = [[str(line) for line in told[:_TOLD_LINES]] if isinstance(told, list) else [] for told in lists]
    if all(each == lines[0] for each in lines):
        return lines[0]
    return [f"{outcome.device}: {line}" for outcome, each in zip(alike, lines, strict=True) for line in each]


def innermost(outcome: Outcome) -> str:
    """Return why a check ended as it did: its own reason, else those of its red cases."""
    red = [f"{name}: {case.reason}" for name, case in outcome.cases.items() if case.verdict in RED and case.reason]
    return outcome.reason or "; ".join(red)


def first_sentence(text: str) -> str:
    """Return a text up to its first full stop."""
    return re.split(r"(?<=[\w)])\.\s", text.strip(), maxsplit=1)[0]


def unreached(facts: Facts, outcomes: Sequence[Outcome]) -> list[str]:
    """Say for which kind of device this torch was built that no check reached."""
    reached = {(outcome.device or "").partition(":")[0] for outcome in outcomes if outcome.verdict in (Verdict.PASSED, *RED)}
    if not outcomes or not reached - {""}:
        return []
    wanted = {"cuda": value_of(facts, "torch.build") == "cuda", "mps": value_of(facts, "torch.mps_built") is True}
    rows = []
    for kind, built in wanted.items():
        if built and kind not in reached:
            told = any((outcome.device or "").partition(":")[0] == kind for outcome in outcomes)
            why = "" if told else value_of(facts, "torch.cuda_error") if kind == "cuda" else "Metal does not answer"
            rows.append(f"no check ran on {kind}" + (f": {first_sentence(str(why))}" if why else ""))
    return rows
