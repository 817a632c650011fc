"""The report of a fleet as text: the verdict, the groups, the findings with their nodes."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from doctor.base.text import neutralize_commands, one_line, sanitize
from doctor.fleet.nodesets import shorten
from doctor.model.fleet import FleetFinding, FleetReport, NodeGroup
from doctor.model.scales import Severity
from doctor.report.fleet import words
from doctor.report.view.words import count

_MARKS = {Severity.ERROR: ("✗", "x"), Severity.WARNING: ("!", "!"), Severity.NOTE: ("i", "i")}
_COLOURS = {Severity.ERROR: "31", Severity.WARNING: "33", Severity.NOTE: "36"}
_MOST_GROUPS = 20
_MOST_FINDINGS = 40
_LONGEST_COMMAND = 4000


class _Page:
    """How lines look: their width, and whether the terminal shows colours and Unicode."""

    def __init__(self, *, width: int, colour: bool, unicode: bool) -> None:
        self.width, self._colour, self._unicode = width, colour, unicode

    def mark(self, severity: Severity) -> str:
        sign = _MARKS[severity][0 if self._unicode else 1]
        return f"\x1b[{_COLOURS[severity]}m{sign}\x1b[0m" if self._colour else sign

    def bold(self, text: str) -> str:
        return f"\x1b[1m{text}\x1b[0m" if self._colour else text

    def wrapped(self, text: str, first: str = "", rest: str | None = None) -> str:
        """Return a text in lines, the first behind `first` and the others behind `rest`."""
        rest = " " * len(first) if rest is None else rest
        lines = textwrap.wrap(sanitize(text), self.width - len(rest), break_on_hyphens=False) or [
            ""
        ]
        return "\n".join([first + lines[0], *(rest + line for line in lines[1:])])

    def finish(self, text: str) -> str:
        if self._unicode:
            return text
        for sign, plain in (("·", "-"), ("×", "x"), ("…", "..."), ("–", "-")):
            text = text.replace(sign, plain)
        return text


def render(
    report: FleetReport,
    *,
    width: int = 80,
    colour: bool = False,
    unicode: bool = True,
    verbosity: int = 0,
) -> str:
    """Return the page; a `verbosity` below 0 is the verdict alone, above 0 cuts nothing."""
    page = _Page(width=min(width, 100), colour=colour, unicode=unicode)
    lines = [*_head(report, page)]
    if verbosity >= 0:
        lines += [*_groups(report, page, verbosity), *_network(report, page)]
        lines += _findings(report, page, verbosity)
        lines += ["", *_foot(report)]
    return page.finish(neutralize_commands("\n".join(lines) + "\n"))


def _head(report: FleetReport, page: _Page) -> Iterator[str]:
    place = f" on {report.engine}" if report.engine else ""
    nodes = count(report.summary.nodes, "node")
    yield (
        f"canary-doctor {report.doctor_version} · fleet of {nodes}{place} · {words.states(report)}"
    )
    yield ""
    severity = Severity.ERROR if report.exit_code == 1 else Severity.NOTE
    worst = next((one.severity for one in report.findings), None)
    if report.exit_code == 1 or worst is Severity.WARNING:
        mark = page.mark(severity if report.exit_code == 1 else Severity.WARNING)
    else:
        mark = "✓"
    yield page.bold(page.wrapped(words.verdict(report), f"  {mark}  ", "     "))
    if report.interrupted:
        yield "     Interrupted: this is what had arrived by then."


def _groups(report: FleetReport, page: _Page, verbosity: int) -> Iterator[str]:
    if not report.groups:
        return
    yield ""
    yield page.bold("Groups of nodes that are alike")
    most = len(report.groups) if verbosity > 0 else _MOST_GROUPS
    for group in report.groups[:most]:
        yield from _group(group, page, verbosity)
    if left := report.groups[most:]:
        nodes = count(sum(group.size for group in left), "node")
        yield f"  {count(len(left), 'more group')} of {nodes}; -v shows them"


def _group(group: NodeGroup, page: _Page, verbosity: int) -> Iterator[str]:
    yield ""
    start = f"  {group.number:>3}  "
    nodes = group.nodes if verbosity > 0 else shorten(group.nodes, 2 * page.width)
    more = ", the majority" if group.majority else ""
    yield page.wrapped(f"{count(group.size, 'node')}{more}: {nodes}", start, " " * 7)
    yield page.wrapped(words.group_title(group), " " * 7)
    shown = group.differences if verbosity > 0 else words.split_differences(group)[0]
    for one in shown:
        mark = page.mark(one.severity) if one.severity else "–"
        yield page.wrapped(words.difference(one), f"       {mark} ", " " * 9)
        if one.why and words.is_important(one):
            yield page.wrapped(one.why, " " * 9)
    if left := len(group.differences) - len(shown):
        matter = "" if words.matters(group) else ", none of which matters"
        yield f"         {count(left, 'more difference')}{matter}; -v shows them"


def _network(report: FleetReport, page: _Page) -> Iterator[str]:
    if not report.network:
        return
    yield ""
    yield page.bold("All-reduce across nodes")
    yield ""
    for one in report.network[:_MOST_GROUPS]:
        nodes = shorten(one.nodes, 2 * page.width)
        title = f"{count(one.size, 'node')}: {nodes}: {words.path(one)}"
        yield page.wrapped(title, "       ", " " * 7)


def _findings(report: FleetReport, page: _Page, verbosity: int) -> Iterator[str]:
    if not report.findings:
        return
    yield ""
    yield page.bold("Findings")
    most = len(report.findings) if verbosity > 0 else _MOST_FINDINGS
    for one in report.findings[:most]:
        yield from _finding(one, report, page, verbosity)
    if (left := len(report.findings) - most) > 0:
        yield f"  {count(left, 'more finding')}; -v shows them"


def _finding(one: FleetFinding, report: FleetReport, page: _Page, verbosity: int) -> Iterator[str]:
    yield ""
    yield page.wrapped(one.title, f"  {page.mark(one.severity)}  ", "     ")
    every = one.size == report.summary.answered == report.summary.nodes
    nodes = one.nodes if verbosity > 0 else shorten(one.nodes, 2 * page.width)
    place = "all nodes" if every else f"{count(one.size, 'node')}: {nodes}"
    yield page.wrapped(f"{place} ({one.id})", " " * 5)
    if one.message and (verbosity > 0 or not one.fixes):
        yield page.wrapped(one.message, " " * 5)
    if one.fixes:
        yield page.wrapped(f"On each of these nodes: {one.fixes[0].title}", " " * 5)
        yield from (f"       $ {line}" for line in words.fix_lines(one.fixes[0]))
    commands = list(words.commands(one))
    if commands:
        yield "     To take them out of service (nothing was run):"
        yield from (f"       $ {one_line(line, _LONGEST_COMMAND)}" for line in commands)


def _foot(report: FleetReport) -> Iterator[str]:
    for problem in report.problems[:10]:
        yield f"not read: {problem}"
    summary = report.summary
    yield ", ".join(
        count(number, noun)
        for number, noun in (
            (summary.error, "error"), (summary.warning, "warning"), (summary.note, "note"),
        )
    ) + f" · {count(summary.groups, 'group')} · {report.taken}".rstrip(" ·")  # fmt: skip
