"""The findings as a code quality report of GitLab: a list of what is wrong, each with a file, a line and a name that stays."""

from __future__ import annotations

from typing import Any

from doctor.model.facts import value_of
from doctor.model.findings import Finding
from doctor.model.report import Report
from doctor.model.scales import Severity
from doctor.report.structured.encoding import encoded
from doctor.report.structured.fingerprints import anchor, fingerprints
from doctor.report.structured.fixes import first_fix, one_line, short
from doctor.report.view.assumptions import as_if

_SEVERITY = {Severity.ERROR: "critical", Severity.WARNING: "major", Severity.NOTE: "info"}
_MOST, _LONGEST = 1000, 4000


def render(report: Report) -> str:
    """Return the findings that count; GitLab has no word for a suppressed one."""
    findings = list(report.diagnosis.counted[:_MOST])
    return encoded(
        [
            _violation(found, mark, report)
            for found, mark in zip(findings, fingerprints(findings), strict=True)
        ]
    )


def _violation(found: Finding, mark: str, report: Report) -> dict[str, Any]:
    facts = report.observation.facts
    place = anchor(found, facts)
    fix = first_fix(found, windows=value_of(facts, "host.os") == "windows")
    body = "\n".join(filter(None, (short(found.message, _LONGEST), fix, as_if(facts))))
    return {
        "description": one_line(
            f"{found.title}. Fix: {found.fixes[0].title}" if found.fixes else found.title, 500
        ),
        "check_name": one_line(found.id, 250),
        "fingerprint": mark,
        "severity": _SEVERITY[found.severity],
        "location": {"path": place.path, "lines": {"begin": place.line}},
        "content": {"body": body},
    }
