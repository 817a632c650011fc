"""Compare what a clone shows with what was there before."""

from __future__ import annotations

import re

import msgspec

from doctor.model.report import Report
from doctor.repair.reading import SOURCE

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
