"""The report as one JSON document."""

from __future__ import annotations

import msgspec

from doctor.fixes.shell import line
from doctor.model.document import (
    CatalogDocument,
    DoctorDocument,
    FindingDocument,
    FixDocument,
    ReportDocument,
    SummaryDocument,
)
from doctor.model.facts import value_of
from doctor.model.findings import Finding
from doctor.model.fixes import Fix
from doctor.model.outcomes import RED, Verdict
from doctor.model.report import Report
from doctor.model.scales import Severity
from doctor.report.structured.encoding import encoded
from doctor.report.view.assumptions import assumed


def render(report: Report) -> str:
    """Return the report as indented JSON, ending in a line feed."""
    return encoded(document(report))


def schema() -> str:
    """Return the JSON Schema of what `render` gives."""
    return (
        msgspec.json.format(
            msgspec.json.encode(msgspec.json.schema(ReportDocument)), indent=2
        ).decode()
        + "\n"
    )


def document(report: Report) -> ReportDocument:
    """Turn a report into the document that is published."""
    seen = report.observation
    windows = value_of(seen.facts, "host.os") == "windows"
    return ReportDocument(
        schema_version=1,
        doctor=DoctorDocument(
            name="canary-doctor",
            version=report.doctor_version,
            catalog=msgspec.convert(msgspec.to_builtins(report.catalog), CatalogDocument),
        ),
        command=report.command,
        exit_code=report.exit_code,
        summary=summary(report),
        targets=seen.targets,
        facts=dict(sorted(seen.facts.items())),
        outcomes=seen.outcomes,
        findings=tuple(_finding(found, windows=windows) for found in report.diagnosis.findings),
        undecided=report.diagnosis.undecided,
        ruled_out=report.diagnosis.ruled_out,
        taken=seen.taken,
        recording=seen.recording,
        interrupted=seen.interrupted,
        probe_failures=seen.probe_failures,
        left_out=seen.left_out,
        assumed=assumed(seen.facts),
        gone=report.gone,
    )


def summary(report: Report) -> SummaryDocument:
    """Count what a report holds."""
    severities = [found.severity for found in report.diagnosis.counted]
    verdicts = [outcome.verdict for outcome in report.observation.outcomes]
    return SummaryDocument(
        error=severities.count(Severity.ERROR),
        warning=severities.count(Severity.WARNING),
        note=severities.count(Severity.NOTE),
        checked=sum(verdict in RED or verdict is Verdict.PASSED for verdict in verdicts),
        skipped=verdicts.count(Verdict.SKIPPED),
        broken=verdicts.count(Verdict.BROKEN),
    )


def _finding(found: Finding, *, windows: bool) -> FindingDocument:
    fixes = tuple(_fix(fix, windows=windows) for fix in found.fixes)
    return msgspec.convert({**msgspec.structs.asdict(found), "fixes": fixes}, FindingDocument)


def _fix(fix: Fix, *, windows: bool) -> FixDocument:
    commands = tuple(line(step, windows=windows) for step in fix.steps)
    return msgspec.convert({**msgspec.structs.asdict(fix), "commands": commands}, FixDocument)
