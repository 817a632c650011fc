"""The head of a report: the target, the versions that decide which wheels fit, the machine."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from doctor.model.facts import Facts
from doctor.model.report import Report
from doctor.report.terminal.page import (
    QUIET,
    Lines,
    Part,
    TerminalOptions,
    blank,
    glyph,
    paragraph,
    paragraph_text,
    span,
)
from doctor.report.view import machine as told


def head(report: Report, how: TerminalOptions) -> Lines:
    """Yield the version of doctor, the target, and whether this is a recording or interrupted."""
    seen = report.observation
    if seen.recording:
        another = " from another machine; doctor check examines yours"
        yield from paragraph(
            span(how, (" RECORDING ", "bold reverse magenta"), (another, "bold magenta")),
            how,
            indent=0,
        )
    if seen.interrupted:
        yield from interrupted(how)
    targets = ", ".join(told.target_name(target) for target in seen.targets)
    doing = f"{report.command} of {targets}" if targets else report.command
    parts: list[Part] = [
        (f"canary-doctor {report.doctor_version}", "bold"),
        glyph("dot", how),
        paragraph_text(doing, how),
    ]
    yield from paragraph(span(how, *parts), how, indent=0)


def interrupted(how: TerminalOptions) -> Lines:
    """Yield a line that says that the run was interrupted."""
    words = ((" INTERRUPTED ", "bold reverse yellow"), (" this is not complete", "bold yellow"))
    yield from paragraph(span(how, *words), how, indent=0)


def ended(told: Mapping[str, Any], owner: Any, how: TerminalOptions) -> Lines:
    """Yield how a command ended: its status, what that means, and the line that says why."""
    means = f", {told['means']}" if told.get("means") else ""
    status = span(how, (f"exit status {told.get('status')}{paragraph_text(means, how)}", "bold"))
    yield blank()
    yield from paragraph(
        paragraph_text(str(told.get("command", "")), how, most=300), how, label="command"
    )
    yield from paragraph(status, how, label="ended")
    if isinstance(owner, dict) and owner.get("source") == "the output":
        line = paragraph_text(
            f"{owner.get('text', '')} (line {owner.get('line')} of its output)", how
        )
        yield from paragraph(line, how, label="because")


def wheel_tuple(facts: Facts, how: TerminalOptions) -> Lines:
    """Yield what decides which wheels fit, broken between its entries only."""
    dot, line = glyph("dot", how), ""
    entries = told.wheel_tuple(facts)
    for entry in (paragraph_text(entry, how) for entry in entries):
        longer = f"{line}{dot}{entry}" if line else entry
        if line and len(longer) > how.width:
            yield from paragraph(span(how, (line, "bold")), how, indent=0)
            longer = f"  {entry}"
        line = longer
    if entries:
        yield from paragraph(span(how, (line, "bold")), how, indent=0)


def machine(facts: Facts, how: TerminalOptions) -> Lines:
    """Yield one line for each part of the machine about which anything was looked up."""
    rows = told.rows(facts)
    if rows:
        yield blank()
    for label, text in rows:
        yield from paragraph(text, how, label=(label, QUIET))
