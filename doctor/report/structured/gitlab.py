"""The findings as a code quality report of GitLab.

https://docs.gitlab.com/ci/testing/code_quality/#code-quality-report-format
"""

from __future__ import annotations

from typing import Any

from doctor.base.text import one_line, shorten
from doctor.model.findings import Finding
from doctor.model.report import Report
from doctor.model.scales import Severity
from doctor.report.structured.encoding import encoded
from doctor.report.structured.fingerprints import anchor, fingerprints
from doctor.report.structured.text import body
from doctor.report.view.assumptions import as_if
from doctor.report.view.detail import ANNOTATION
from doctor.report.view.findings import on_windows

_SEVERITY = {Severity.ERROR: "critical", Severity.WARNING: "major", Severity.NOTE: "info"}
_MOST, _LONGEST = 1000, 4000
_DETAIL = ANNOTATION._replace(evidence=0)


def render(report: Report) -> str:
    """Return the findings that count; GitLab has no word for a suppressed one."""
    findings = list(report.counted[:_MOST])
    return encoded(
        [
            _violation(found, mark, report)
            for found, mark in zip(findings, fingerprints(findings), strict=True)
        ]
    )


def _violation(found: Finding, mark: str, report: Report) -> dict[str, Any]:
    facts = report.observation.facts
    place = anchor(found, facts)
    text = shorten(body(found, windows=on_windows(report), detail=_DETAIL), 2 * _LONGEST)
    return {
        "description": one_line(
            f"{found.title}. Fix: {found.fixes[0].title}" if found.fixes else found.title, 500
        ),
        "check_name": one_line(found.id, 250),
        "fingerprint": mark,
        "severity": _SEVERITY[found.severity],
        "location": {"path": place.path, "lines": {"begin": place.line}},
        "content": {"body": "\n".join(filter(None, (text, as_if(facts))))},
    }
