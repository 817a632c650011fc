"""The findings as the Markdown that a step of GitHub Actions leaves on the page of its run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from doctor.base.text import neutralize_commands
from doctor.model.outcomes import RED, Verdict
from doctor.model.report import Report
from doctor.model.scales import Severity
from doctor.report.markdown.blocks import MARKS, blocks, finding
from doctor.report.markdown.text import cell, code_cell, prose
from doctor.report.view.assumptions import as_if
from doctor.report.view.blocks import Finding
from doctor.report.view.check_plan import at_end
from doctor.report.view.detail import SUMMARY
from doctor.report.view.findings import findings, on_windows
from doctor.report.view.unreached import unreached_gpus
from doctor.report.view.words import count

LIMIT = 1 << 20
"""Bytes that GitHub takes of a step; it drops a summary that is larger.

https://docs.github.com/actions/reference/workflows-and-actions/workflow-commands
"""
_MOST_ROWS = 50
_KEPT_FREE = 200


def render(report: Report, *, room: int = LIMIT) -> str:
    """Return a summary of at most `room` bytes: a table, then each finding, the worst first."""
    found = findings(report, SUMMARY)
    parts = [_head(report, found), *(f"\n{finding(one)}\n" for one in found)]
    if end := tuple(at_end(report, SUMMARY, windows=on_windows(report))):
        parts.insert(1, "\n### Plan for all findings\n\n" + "\n\n".join(blocks(end)) + "\n")
    text, left = "", 0
    for number, part in enumerate(parts):
        if len(f"{text}{part}".encode()) > room - _KEPT_FREE:
            left = len(parts) - number
            break
        text += part
    more = (
        f"\n{left} more findings do not fit here; the JSON report has them all.\n" if left else ""
    )
    return neutralize_commands(text + more) if len(more.encode()) <= room else ""


def _head(report: Report, found: Sequence[Finding]) -> str:
    counts = ", ".join(
        count(number, severity.value)
        for severity in Severity
        if (number := sum(one.severity is severity for one in found))
    )
    ignored = len(report.findings) - len(report.counted)
    lines = [
        f"## doctor: {counts or _nothing(report)}",
        "",
        _checks(report) + (f" {ignored} ignored." if ignored else ""),
        "",
    ]
    return "\n".join([*lines, *_table(found[:_MOST_ROWS])]) + "\n"


def _table(found: Sequence[Finding]) -> list[str]:
    """Return a row for each finding; the places are a column where there are any."""
    if not found:
        return []
    placed = any(one.place for one in found)
    rows = [["", "finding", *(["where"] if placed else [])], ["---"] * (3 if placed else 2)]
    for one in found:
        mark = f"{MARKS[one.severity]} {one.severity.value}"
        rows.append([mark, cell(one.title), *([code_cell(one.place)] if placed else [])])
    return [f"| {' | '.join(row)} |" for row in rows]


def _nothing(report: Report) -> str:
    gpus = unreached_gpus(report.observation.facts, report.observation.outcomes)
    return f"nothing to act on, but {prose(gpus)}" if gpus else "nothing to act on"


def _checks(report: Report) -> str:
    return " ".join(filter(None, _about_the_run(report)))


def _about_the_run(report: Report) -> Iterator[str]:
    verdicts = [outcome.verdict for outcome in report.observation.outcomes]
    counts = {
        "passed": verdicts.count(Verdict.PASSED),
        "failed": sum(verdict in RED for verdict in verdicts),
        "skipped": verdicts.count(Verdict.SKIPPED),
        "broken": verdicts.count(Verdict.BROKEN),
    }
    ended = ", ".join(f"{number} {word}" for word, number in counts.items() if number)
    yield f"Checks: {ended}." if ended else "No check ran."
    if report.observation.interrupted:
        yield "**Interrupted: this is what was seen until then.**"
    if report.observation.recording:
        yield "Seen in a recording."
    if declared := as_if(report.observation.facts):
        yield f"Here {prose(declared)}."
