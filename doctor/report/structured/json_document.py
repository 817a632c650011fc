"""The report as one JSON document."""

from __future__ import annotations

import msgspec

from doctor.fixes.lines import command_line
from doctor.fixes.shell import Shell, line, shell_of
from doctor.model.document import (
    CatalogDocument,
    DoctorDocument,
    FindingDocument,
    FixDocument,
    PlanDocument,
    ReportDocument,
    StepDocument,
)
from doctor.model.facts import value_of
from doctor.model.findings import Finding
from doctor.model.fixes import Command, Fix, Step
from doctor.model.plans import Plan
from doctor.model.report import Report
from doctor.report.structured.encoding import encoded
from doctor.report.structured.fingerprints import fingerprints
from doctor.report.view.assumptions import assumed
from doctor.report.view.deselected import each_deselected
from doctor.report.view.summary import summary


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
        findings=tuple(
            _finding(found, mark, windows=windows)
            for found, mark in zip(report.findings, fingerprints(report.findings), strict=True)
        ),
        undecided=report.undecided,
        ruled_out=report.ruled_out,
        taken=seen.taken,
        recording=seen.recording,
        interrupted=seen.interrupted,
        probe_failures=seen.probe_failures,
        left_out=each_deselected(seen),
        deselected=seen.deselected,
        static=seen.static,
        assumed=assumed(seen.facts),
        gone=report.fixed,
        look_alikes=report.look_alikes,
        plan=None if report.plan is None else plan_document(report.plan),
    )


def _finding(found: Finding, mark: str, *, windows: bool) -> FindingDocument:
    fixes = tuple(_fix(fix, windows=windows) for fix in found.fixes)
    settles = ", ".join(found.missing_facts)
    parts = {"fixes": fixes, "settles": settles, "fingerprint": mark}
    return msgspec.convert({**msgspec.structs.asdict(found), **parts}, FindingDocument)


def _fix(fix: Fix, *, windows: bool) -> FixDocument:
    shell = shell_of(windows=windows)
    edit = next((step.edit for step in fix.steps if step.edit is not None), None)
    changed = edit or fix.snippet
    return FixDocument(
        kind=fix.kind,
        title=fix.title,
        commands=tuple(command_line(step, shell) for step in fix.steps if step.command),
        when="; ".join(fix.use_if),
        safe=fix.safe,
        lasting=fix.lasting,
        sudo=fix.sudo,
        reboot=fix.reboot,
        verify=line(fix.verify, shell) if fix.verify else "",
        file=edit.file if edit else fix.snippet.where if fix.snippet else "",
        before=changed.before if changed else "",
        after=changed.after if changed else "",
        steps=tuple(map(_step, fix.steps)),
        use_if=fix.use_if,
        note=fix.note,
        snippet=fix.snippet,
        asks=fix.asks,
    )


def plan_document(plan: Plan) -> PlanDocument:
    """Turn a plan into the document that is published."""
    return PlanDocument(
        title=plan.title,
        steps=tuple(map(_step, plan.steps)),
        changes=plan.changes,
        solves=plan.solves,
        leaves=plan.leaves,
        notes=plan.notes,
        cost=plan.cost,
        resolved=plan.resolved,
        proof=plan.proof,
        alternatives=tuple(map(plan_document, plan.alternatives)),
    )


def _step(step: Step) -> StepDocument:
    command = step.command or Command(argv=())
    shells = {each.value: command_line(step, each) for each in Shell} if step.command else {}
    return StepDocument(
        title=step.title,
        argv=command.argv,
        env=command.env,
        cwd=command.cwd,
        shells=shells,
        edit=step.edit,
        sudo=step.sudo,
        reboot=step.reboot,
        source=step.source,
    )
