"""The report of a fleet as JSON; `doctor schema fleet` describes it."""

from __future__ import annotations

from doctor.model.fleet import FleetReport
from doctor.report.structured.encoding import encoded


def render(report: FleetReport) -> str:
    """Return the report as indented JSON."""
    return encoded(report)
