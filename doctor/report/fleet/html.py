"""The report of a fleet as one page: a grid of nodes, the groups, the findings.

No script, nothing loaded from elsewhere, everything foreign escaped.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator
from hashlib import sha256
from importlib.resources import files

from doctor.base.text import neutralize_commands
from doctor.fleet.nodesets import shorten
from doctor.model.fleet import (
    Difference,
    FleetFinding,
    FleetReport,
    NetworkPath,
    NodeGroup,
    NodeReport,
    NodeState,
)
from doctor.model.scales import Severity
from doctor.report.fleet import words
from doctor.report.html.elements import Markup, el, line, section
from doctor.report.view.words import count

_MOST_CELLS, _MOST_GROUPS, _MOST_FINDINGS = 20_000, 200, 300
_LONGEST_NODES = 2000


def render(report: FleetReport) -> str:
    """Return the page; it is well-formed XML as well as HTML."""
    style = files("doctor.report.fleet").joinpath("fleet.css").read_text("utf-8")
    page = el("html", _head(style), el("body", el("main", *_body(report))), lang="en")
    return neutralize_commands(f"<!DOCTYPE html>\n{page}\n")


def _head(style: str) -> Markup:
    digest = b64encode(sha256(style.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    return el(
        "head",
        el("meta", charset="utf-8"),
        el("meta", http_equiv="Content-Security-Policy", content=policy),
        el("meta", name="viewport", content="width=device-width, initial-scale=1"),
        el("meta", name="referrer", content="no-referrer"),
        el("title", "Fleet: canary-doctor"),
        el("style", Markup(style)),
    )


def _body(report: FleetReport) -> Iterator[Markup]:
    place = f" on {report.engine}" if report.engine else ""
    yield el("h1", line(words.verdict(report), 500))
    nodes = count(report.summary.nodes, "node")
    yield el("p", f"{nodes}{place}: {words.states(report)}. {report.taken}")
    yield section("nodes", "Nodes", _grid(report))
    if report.groups:
        yield section("groups", "Groups of nodes that are alike", _groups(report))
    if report.network:
        yield section("network", "All-reduce across nodes", *map(_path, report.network))
    if report.findings:
        yield section("findings", "Findings", *map(_finding, report.findings[:_MOST_FINDINGS]))
    if left := len(report.findings[_MOST_FINDINGS:]):
        yield el("p", count(left, "more finding"))


def _grid(report: FleetReport) -> Markup:
    worst = {group.number: _worst(group) for group in report.groups}
    cells = [_cell(name, node, worst) for name, node in list(report.nodes.items())[:_MOST_CELLS]]
    return el("ul", *cells, class_="grid")


def _worst(group: NodeGroup) -> str:
    if group.exit_code == 1:
        return "error"
    found = [one.severity for one in group.differences if one.severity is not None]
    worst = max(found, default=Severity.NOTE)
    return "good" if worst is Severity.NOTE else worst.value


def _cell(name: str, node: NodeReport, worst: dict[int, str]) -> Markup:
    if node.state is not NodeState.ANSWERED or node.group is None:
        why = f"{node.state.value}: {line(node.reason, 300)}"
        return el("li", f"{line(name, 100)} – {node.state.value}", class_="none", title=why)
    kind = worst[node.group]
    title = f"group {node.group}, {kind}"
    return el("li", f"{line(name, 100)} · {node.group}", class_=kind, title=title)


def _groups(report: FleetReport) -> Markup:
    rows = [
        el(
            "tr",
            el("td", str(group.number)),
            el("td", str(group.size)),
            el("td", el("code", line(shorten(group.nodes, _LONGEST_NODES), _LONGEST_NODES + 2))),
            el("td", line(words.group_title(group), 500)),
            el("td", *_differences(group)),
        )
        for group in report.groups[:_MOST_GROUPS]
    ]
    names = ("group", "nodes", "which", "machines", "differs in")
    head = el("tr", *(el("th", name) for name in names))
    return el("table", el("thead", head), el("tbody", *rows))


def _differences(group: NodeGroup) -> Iterator[Markup]:
    shown, rest = words.split_differences(group)
    yield from map(_difference, shown)
    if rest:
        more = el("summary", count(len(rest), "more difference"))
        yield el("details", more, *map(_difference, rest))


def _difference(one: Difference) -> Markup:
    kind = one.severity.value if one.severity else "note"
    return el("div", line(words.difference(one), 600), class_=f"mark-{kind}")


def _path(one: NetworkPath) -> Markup:
    nodes = el("code", line(shorten(one.nodes, _LONGEST_NODES), _LONGEST_NODES + 2))
    return el("p", f"{count(one.size, 'node')}: ", nodes, f": {line(words.path(one), 200)}")


def _finding(one: FleetFinding) -> Markup:
    parts = [
        el(
            "h3",
            el("span", one.severity.value, class_=f"mark-{one.severity.value}"),
            f" {line(one.title, 300)}",
        ),
        el("p", f"{count(one.size, 'node')}: ", el("code", line(shorten(one.nodes, 4000)))),
    ]
    if one.message:
        parts.append(el("p", line(one.message, 2000)))
    if one.fixes:
        parts.append(el("p", f"On each of these nodes: {line(one.fixes[0].title, 300)}"))
        parts.append(el("pre", "\n".join(words.fix_lines(one.fixes[0]))))
    if commands := "\n".join(words.commands(one)):
        parts += [el("p", "To take them out of service:"), el("pre", commands)]
    return el("div", *parts)
