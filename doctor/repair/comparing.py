"""Compare what a clone shows with what was there before."""

from __future__ import annotations

import re
from collections import Counter

import msgspec

from doctor.model.plans import Plan
from doctor.model.report import Report
from doctor.repair.reading import SOURCE
from doctor.repair.requests import actionable

_PATH = re.compile(r"[/\\]\S{0,1000}")


def is_same_error(one: str, other: str) -> bool:
    """Say whether two messages differ by the paths of two clones alone."""
    return _PATH.sub("", one) == _PATH.sub("", other)


def of_program(report: Report) -> Report | None:
    """Return a report with the findings about the output of the program alone; None without any."""
    found = tuple(
        one for one in report.findings if any(piece.source == SOURCE for piece in one.evidence)
    )
    return msgspec.structs.replace(report, findings=found) if found else None


def left_of(plan: Plan, before: Report, after: Report) -> tuple[str, ...]:
    """Return the findings that a plan should have ended, and those that are new."""
    was, now = (Counter(one.id for one in actionable(report)) for report in (before, after))
    return tuple(name for name, number in now.items() if name in plan.solves or number > was[name])
