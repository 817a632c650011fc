"""The counts of a report: findings by severity, checks by verdict."""

from __future__ import annotations

from doctor.model.document import SummaryDocument
from doctor.model.outcomes import RED, Verdict
from doctor.model.report import Report
from doctor.model.scales import Severity
from doctor.report.view.causes import causes


def summary(report: Report) -> SummaryDocument:
    """Count what a report holds."""
    # A consequence is folded below its cause, and is no second error.
    below = causes(report.counted)
    severities = [
        found.severity for place, found in enumerate(report.counted) if place not in below
    ]
    verdicts = [outcome.verdict for outcome in report.observation.outcomes]
    return SummaryDocument(
        error=severities.count(Severity.ERROR),
        warning=severities.count(Severity.WARNING),
        note=severities.count(Severity.NOTE),
        checked=sum(verdict in RED or verdict is Verdict.PASSED for verdict in verdicts),
        skipped=verdicts.count(Verdict.SKIPPED),
        broken=verdicts.count(Verdict.BROKEN),
    )
