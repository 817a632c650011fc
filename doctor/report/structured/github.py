"""The findings as annotations of GitHub Actions, a workflow command for each.

https://docs.github.com/actions/reference/workflows-and-actions/workflow-commands
"""

from __future__ import annotations

from collections.abc import Iterator

from doctor.base.text import neutralize_commands, one_line, shorten
from doctor.model.facts import value_of
from doctor.model.findings import Finding
from doctor.model.report import Report
from doctor.model.scales import Severity
from doctor.planning.line_edits import line_edits
from doctor.report.structured.fingerprints import is_inside
from doctor.report.structured.text import body
from doctor.report.view.assumptions import as_if

_COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "notice"}
_MOST = 10
"""Annotations of each kind that GitHub shows of a step."""
_LONGEST = 3000


def render(report: Report) -> str:
    """Return the commands, the most important first, and a word about what is left out.

    Empty where nothing was found.
    """
    windows = value_of(report.observation.facts, "host.os") == "windows"
    counted = list(report.counted)
    told = {Severity.ERROR: list(_about_the_run(report))}
    lines = []
    for severity in Severity:
        found = [one for one in counted if one.severity is severity]
        own = told.get(severity, [])
        shown = found[: _MOST - len(own)]
        lines += [*own, *(_annotation(one, report, windows=windows) for one in shown)]
        if left := len(found) - len(shown):
            lines.append(
                f"doctor: GitHub shows {_MOST} annotations of a kind for each step; "
                f"{left} more of severity {severity.value}"
            )
    if lines and (declared := as_if(report.observation.facts)):
        lines.append(neutralize_commands(f"doctor: {declared}"))
    return "".join(f"{line}\n" for line in lines)


def _about_the_run(report: Report) -> Iterator[str]:
    """Yield why a step is red although no finding says so."""
    if report.observation.interrupted:
        yield "::error title=doctor was interrupted::What it saw until then is reported."
    if report.exit_code == 4:
        yield (
            "::error title=doctor had nothing to judge::No framework was found and no check ran, "
            "or the log holds nothing it knows."
        )


def _annotation(found: Finding, report: Report, *, windows: bool) -> str:
    edits = line_edits(found, report.observation.facts, report.plan)
    lines = [
        f"In {edit.place}, write {edit.after} for {edit.before or 'no version'}" for edit in edits
    ]
    text = "\n".join([body(found, windows=windows), *lines])
    told = {"title": f"{one_line(found.title, 300)} ({one_line(found.id, 200)})"}
    place = found.place
    if place is not None and is_inside(place.path):
        told = {"file": place.path, "line": str(max(place.line, 1)), **told}
    properties = ",".join(f"{name}={_property(text)}" for name, text in told.items())
    return f"::{_COMMANDS[found.severity]} {properties}::{_data(shorten(text, 2 * _LONGEST))}"


def _data(text: str) -> str:
    """Escape a message; what an older runner takes for a command within a line is broken."""
    return neutralize_commands(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
