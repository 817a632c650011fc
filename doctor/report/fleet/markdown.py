"""The report of a fleet as Markdown, for an issue or the summary of a job."""

from __future__ import annotations

from collections.abc import Iterator

from doctor.base.text import neutralize_commands
from doctor.fleet.nodesets import shorten
from doctor.model.fleet import FleetReport
from doctor.report.fleet import words
from doctor.report.markdown.text import cell, code_block, code_cell, code_span, prose
from doctor.report.view.words import count

_MOST_GROUPS, _MOST_FINDINGS = 100, 100
_LONGEST_NODES = 300


def render(report: FleetReport) -> str:
    """Return the report in GitHub's flavour of Markdown."""
    return neutralize_commands("\n".join(_lines(report)) + "\n")


def _lines(report: FleetReport) -> Iterator[str]:
    place = f" on {report.engine}" if report.engine else ""
    yield f"## Fleet of {count(report.summary.nodes, 'node')}{place}"
    yield ""
    yield f"**{prose(words.verdict(report))}** {words.states(report)}."
    if report.groups:
        yield from ("", "| group | nodes | machines | differs in |", "| --- | --- | --- | --- |")
        for group in report.groups[:_MOST_GROUPS]:
            nodes = code_cell(shorten(group.nodes, _LONGEST_NODES), _LONGEST_NODES + 2)
            differences = "; ".join(
                words.difference(one) for one in group.differences if words.is_important(one)
            )
            if not differences and group.differences:
                differences = "nothing that matters"
            yield (
                f"| {group.number} | {group.size}: {nodes} | {cell(words.group_title(group))} "
                f"| {cell(differences, 1000)} |"
            )
    if report.network:
        yield from ("", "| all-reduce across nodes | what it used |", "| --- | --- |")
        for path in report.network[:_MOST_GROUPS]:
            nodes = code_cell(shorten(path.nodes, _LONGEST_NODES), _LONGEST_NODES + 2)
            yield f"| {path.size}: {nodes} | {cell(words.path(path))} |"
    yield from _findings(report)


def _findings(report: FleetReport) -> Iterator[str]:
    for one in report.findings[:_MOST_FINDINGS]:
        yield from ("", f"### {one.severity.value}: {prose(one.title, 300)}", "")
        yield f"{count(one.size, 'node')}: {code_span(shorten(one.nodes, 1000))}"
        yield f"({code_span(one.id)})"
        if one.message:
            yield from ("", prose(one.message, 2000))
        if one.fixes:
            yield from ("", f"On each of these nodes: {prose(one.fixes[0].title, 300)}", "")
            yield code_block("\n".join(words.fix_lines(one.fixes[0])), "sh")
        if commands := "\n".join(words.commands(one)):
            yield from ("", "To take them out of service:", "", code_block(commands, "sh"))
    if left := len(report.findings[_MOST_FINDINGS:]):
        yield from ("", count(left, "more finding"))
