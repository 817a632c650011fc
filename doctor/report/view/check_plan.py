"""The plan at the end of a check, in blocks: what to do for all findings at once."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from doctor.facts.families import requirements
from doctor.fixes.shell import Shell, line
from doctor.model.facts import Facts, value_of
from doctor.model.findings import Finding
from doctor.model.fixes import Command
from doctor.model.plans import Plan
from doctor.model.report import Report
from doctor.model.scales import Severity
from doctor.report.view import plan as plans
from doctor.report.view.blocks import Block, Commands, Paragraph, Piece
from doctor.report.view.detail import Detail
from doctor.report.view.words import flat, is_pasted

_MOST = 6
_OF_ENVIRONMENT = re.compile(
    r"(?:^|[/\\])(?:python[\d.]*|pip[\d.]*|uv|conda|mamba|micromamba|poetry|cargo|rm|powershell|env"
    r"|unset)(?:\.exe)?$"
)
"""Programs that change an environment or variables; every other one changes the machine."""
_PROVE, _CHECK = ("fix", "--prove"), ("check",)
_TITLES_ABOVE = "solves"
"""The label of what a plan ends; in the report of a check that stands above it."""


def covered(report: Report) -> frozenset[str]:
    """Return the ids of the findings whose own fixes the plan takes the place of."""
    if report.plan is None or not report.plan.steps or is_fix(report):
        return frozenset()
    return frozenset(report.plan.solves)


def is_fix(report: Report) -> bool:
    """Return whether the plan is nothing but the first fix of the only finding."""
    acting = [one for one in report.counted if one.severity is not Severity.NOTE]
    if report.plan is None or len(acting) != 1 or not acting[0].fixes:
        return False
    return acting[0].fixes[0].steps == report.plan.steps


def at_end(report: Report, detail: Detail, *, windows: bool) -> Iterator[Block]:
    """Yield the plan for all findings, and what comes after it; nothing where there is none."""
    plan = report.plan
    if plan is None or not plan.steps:
        return
    if not is_fix(report):
        for block in plans.plan(plan, report.findings, detail, windows=windows):
            if not _repeats(block, report.counted, plan):
                yield block
                if isinstance(block, Paragraph) and block.label == "changes":
                    yield from _stays(plan, report.observation.facts)
    if is_pasted(report):
        text = "on that machine, doctor fix --prove tries the plan in a copy first"
        yield Paragraph((Piece(text),), "next")
        return
    shell = Shell.POWERSHELL if windows else Shell.POSIX
    what = "the fix above" if is_fix(report) else "the plan"
    text = f"try {what} in a copy of this environment, and check it there:"
    words: tuple[str, ...] = _PROVE
    if _is_for_the_machine(plan):
        restart = ", restart the machine" if plan.cost.reboot else ""
        text, words = f"carry {what} out{restart}, and check again:", _CHECK
    yield Paragraph((Piece(text),), "next")
    yield Commands((line(_own(words, report), shell),), shell.value)


def _is_for_the_machine(plan: Plan) -> bool:
    """Say whether a plan changes the machine and no package: a copy would show nothing of it."""
    programs = [step.command.argv[0] for step in plan.steps if step.command and step.command.argv]
    return not plan.changes and not all(_OF_ENVIRONMENT.search(one) for one in programs)


def _repeats(block: Block, counted: tuple[Finding, ...], plan: Plan) -> bool:
    """Say whether a block only lists findings: each stands above with its title."""
    if not isinstance(block, Paragraph):
        return False
    named = {one.id for one in counted} & {*plan.solves}
    listed = block.label == "" and len(block.pieces) == 2
    return block.label == _TITLES_ABOVE or (
        listed and any(block.pieces[1].text == f"({one})" for one in named)
    )


def _stays(plan: Plan, facts: Facts) -> Iterator[Paragraph]:
    """Yield which of torch and its companions stay as they are."""
    listed = value_of(facts, "packages")
    here = listed if isinstance(listed, dict) else {}
    moved = {one.name for one in plan.changes}
    asking = (one.package for one in requirements(facts) if one.wanted == "torch")
    names = ["torch", *asking]
    kept = [f"{name} {here[name]}" for name in names if name in here and name not in moved]
    if kept:
        more = f" and {len(kept) - _MOST} more" if len(kept) > _MOST else ""
        yield Paragraph((Piece(flat(", ".join(kept[:_MOST]) + more)),), "keeps")


def _own(words: Sequence[str], report: Report) -> Command:
    """Return a command of doctor for the target of this check."""
    target = next(iter(report.observation.targets), None)
    return Command(argv=("doctor", *words, *(target.options if target else ())))
