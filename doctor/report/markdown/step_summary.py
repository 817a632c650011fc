"""The findings as the Markdown that a step of GitHub Actions leaves on the page of its run."""

from __future__ import annotations

from collections.abc import Iterator

from doctor.base.text import neutralize_commands
from doctor.model.facts import value_of
from doctor.model.findings import Finding
from doctor.model.outcomes import RED, Verdict
from doctor.model.report import Report
from doctor.model.scales import Severity
from doctor.report.structured.fixes import fixes_in_markdown, in_markdown, one_line, seen
from doctor.report.view.assumptions import as_if
from doctor.report.view.unreached import missed

LIMIT = 1 << 20
"""Bytes that GitHub takes of a step; it drops a summary that is larger."""
_SIGNS = {Severity.ERROR: "❌ error", Severity.WARNING: "⚠️ warning", Severity.NOTE: "ℹ️ note"}
_MOST_ROWS, _MOST_EVIDENCE = 50, 5


def render(report: Report, *, room: int = LIMIT) -> str:
    """Return a summary of at most `room` bytes: a table, then each finding with its fixes, the most important first."""
    windows = value_of(report.observation.facts, "host.os") == "windows"
    counted = list(report.diagnosis.counted)
    parts = [_head(report, counted), *(_finding(found, windows=windows) for found in counted)]
    text, left = "", 0
    for number, part in enumerate(parts):
        if len(f"{text}{part}".encode()) > room - 200:
            left = len(parts) - number
            break
        text += part
    more = (
        f"\n{left} more findings do not fit here; the JSON report has them all.\n" if left else ""
    )
    return neutralize_commands(text + more) if len(more.encode()) <= room else ""


def _head(report: Report, counted: list[Finding]) -> str:
    counts = [
        f"{number} {name}{'s' if number != 1 else ''}"
        for name, number in _counts(counted)
        if number
    ]
    ignored = len(report.diagnosis.findings) - len(counted)
    lines = [
        f"## doctor: {', '.join(counts) or _nothing(report)}",
        "",
        _checks(report) + (f" {ignored} ignored." if ignored else ""),
        "",
    ]
    if counted:
        lines += [
            "| | finding | where |",
            "| --- | --- | --- |",
            *(_row(found) for found in counted[:_MOST_ROWS]),
        ]
    return "\n".join(lines) + "\n"


def _nothing(report: Report) -> str:
    gpus = missed(report.observation.facts, report.observation.outcomes)
    return f"nothing to act on, but {in_markdown(gpus)}" if gpus else "nothing to act on"


def _counts(counted: list[Finding]) -> Iterator[tuple[str, int]]:
    return (
        (severity.value, sum(found.severity is severity for found in counted))
        for severity in Severity
    )


def _checks(report: Report) -> str:
    verdicts = [outcome.verdict for outcome in report.observation.outcomes]
    red = sum(verdict in RED for verdict in verdicts)
    counts = {
        "passed": verdicts.count(Verdict.PASSED),
        "failed": red,
        "skipped": verdicts.count(Verdict.SKIPPED),
        "broken": verdicts.count(Verdict.BROKEN),
    }
    said = ", ".join(f"{number} {word}" for word, number in counts.items() if number)
    cut = (
        "**Interrupted: this is what was seen until then.**"
        if report.observation.interrupted
        else ""
    )
    recorded = "Seen in a recording." if report.observation.recording else ""
    supposed = f"Here {in_markdown(told)}." if (told := as_if(report.observation.facts)) else ""
    return " ".join(
        filter(None, (f"Checks: {said}." if said else "No check ran.", cut, recorded, supposed))
    )


def _row(found: Finding) -> str:
    place = f"{found.place.path}:{found.place.line}" if found.place else ""
    cells = (
        _SIGNS[found.severity],
        in_markdown(one_line(found.title, 200)),
        in_markdown(one_line(place, 200)),
    )
    return f"| {' | '.join(cells)} |"


def _finding(found: Finding, *, windows: bool) -> str:
    told = [f"- {in_markdown(seen(each))}" for each in found.evidence[:_MOST_EVIDENCE]]
    parts = (
        f"### {in_markdown(one_line(found.title, 300))}",
        f"{_SIGNS[found.severity]}, {in_markdown(one_line(found.id, 200))}, {found.confidence.value} confidence",
        in_markdown(one_line(found.message, 3000)),
        "\n".join(told),
        *fixes_in_markdown(found, windows=windows),
    )
    body = "\n\n".join(filter(None, parts))
    if found.severity is Severity.NOTE:
        return f"\n<details><summary>{in_markdown(one_line(found.title, 200))}</summary>\n\n{body}\n\n</details>\n"
    return f"\n{body}\n"
