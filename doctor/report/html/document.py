"""The report as one page: no script, nothing loaded from elsewhere, everything foreign escaped."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Iterator
from hashlib import sha256
from importlib.resources import files

from doctor.base.text import neutralize_commands
from doctor.model.report import Report
from doctor.model.scales import Severity
from doctor.report.html import checks as html_checks
from doctor.report.html import compatibility as html_fits
from doctor.report.html.blocks import finding, plan, suppressed
from doctor.report.html.elements import Markup, el, joined, line, section
from doctor.report.view import compatibility as fits
from doctor.report.view import machine, words
from doctor.report.view import unreached as reached
from doctor.report.view.assumptions import as_if
from doctor.report.view.check_plan import at_end
from doctor.report.view.detail import PAGE
from doctor.report.view.findings import findings, on_windows
from doctor.report.view.findings import suppressed as not_counted
from doctor.report.view.newer_tables import beyond
from doctor.report.view.size_limit import Part, fitted, names_of_lost
from doctor.report.view.summary import summary

_MOST = 260_000
"""Bytes of the parts that may be left out; a page is a little longer."""
_TITLES = {
    "findings": "Findings",
    "machine": "Machine",
    "fits": "What fits together",
    "checks": "Checks",
    "facts": "Facts",
}
_MARKS = {"error": "✗", "warning": "!", "note": "i", "good": "✓"}
_ICON = (
    "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E"
    "%3Ccircle cx='8' cy='8' r='7' fill='%23e3a008'/%3E"
    "%3Cpath d='M8 4v8M4 8h8' stroke='%23fff' stroke-width='2.4'/%3E%3C/svg%3E"
)


def render(report: Report) -> str:
    """Return the page; it is well-formed XML as well as HTML."""
    style = files("doctor.report.html").joinpath("html.css").read_text("utf-8")
    page = el("html", _head(report, style), el("body", *_body(report)), lang="en")
    return neutralize_commands(f"<!DOCTYPE html>\n{page}\n")


def _head(report: Report, style: str) -> Markup:
    digest = b64encode(sha256(style.encode()).digest()).decode()
    policy = (
        f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    return el(
        "head",
        el("meta", charset="utf-8"),
        el("meta", http_equiv="Content-Security-Policy", content=policy),
        el("meta", name="viewport", content="width=device-width, initial-scale=1"),
        el("meta", name="color-scheme", content="light dark"),
        el("meta", name="referrer", content="no-referrer"),
        el("title", f"{_headline(report)}: canary-doctor"),
        el("link", rel="icon", href=_ICON),
        el("style", Markup(style)),
    )


def _body(report: Report) -> Iterator[Markup]:
    sections, lost = _sections(report)
    yield el("a", "Skip to the findings", href="#findings", class_="skip")
    yield _top(report, sections)
    yield el("main", _cut(lost), *sections.values())
    judged = el("p", " · ".join(line(part, 200) for part in words.catalog(report)))
    yield el("footer", judged, el("p", "This page loads nothing from elsewhere."))


def _cut(lost: list[str]) -> Markup:
    if not lost:
        return Markup("")
    whole = el("code", "doctor check --format json")
    return el(
        "p",
        el("strong", "This page is cut."),
        f" Left out: {names_of_lost(lost)}. ",
        whole,
        " holds everything.",
        class_="banner",
    )


def _top(report: Report, sections: Iterable[str]) -> Markup:
    seen = report.observation
    targets = ", ".join(line(machine.target_name(target), 300) for target in seen.targets[:4])
    what = f"canary-doctor {line(report.doctor_version, 40)}, {line(report.command, 40)}" + (
        f" of {targets}" if targets else ""
    )
    entries = [el("li", line(entry, 80)) for entry in machine.wheel_tuple(seen.facts)[:12]]
    return el(
        "header",
        el("p", what, class_="quiet"),
        el(
            "h1",
            el("span", _MARKS[_worst(report)], class_=f"mark {_worst(report)}", aria_hidden="true"),
            " ",
            _headline(report),
        ),
        _first(report),
        el("p", el("strong", "A recording"), " of another machine.", class_="banner")
        if seen.recording
        else "",
        el("p", el("strong", "Interrupted"), ": this is not complete.", class_="banner")
        if seen.interrupted
        else "",
        el("p", el("strong", "Assumed"), f": {line(declared, 500)}.", class_="banner")
        if (declared := as_if(seen.facts))
        else "",
        el("ul", *entries, class_="tuple", aria_label="What decides which wheels fit")
        if entries
        else "",
        _links(sections),
    )


def _links(sections: Iterable[str]) -> Markup:
    return el(
        "nav",
        el("ul", *(el("li", el("a", _TITLES[name], href=f"#{name}")) for name in sections)),
        aria_label="Sections",
    )


def _headline(report: Report) -> str:
    told = words.counts(report)
    return told[0].upper() + told[1:]


def _worst(report: Report) -> str:
    total = summary(report)
    unsure = (
        total.note or report.exit_code == 4 or report.observation.interrupted or not total.checked
    )
    return "error" if total.error else "warning" if total.warning else "note" if unsure else "good"


def _first(report: Report) -> Markup:
    """Say what to do first, or what it means that nothing was found."""
    counted, seen = report.counted, report.observation
    if not counted or report.exit_code == 4:
        unseen = (*reached.unreached(seen.facts, seen.outcomes), *beyond(seen.facts))
        return joined(
            el("p", line(words.nothing(report)), class_="lead"),
            *(el("p", line(text, 300), class_="quiet") for text in unseen),
        )
    if report.plan is not None and report.plan.steps:
        return el("p", "Do: ", el("a", line(report.plan.title, 300), href="#plan"), class_="lead")
    if not counted[0].fixes or counted[0].severity is Severity.NOTE:
        return Markup("")
    first = counted[0].fixes[0]
    condition = f"If {' and '.join(first.use_if)}: " if first.use_if else ""
    return el(
        "p",
        "Do first: ",
        line(condition, 300),
        el("a", line(first.title, 300), href="#findings"),
        class_="lead",
    )


def _sections(report: Report) -> tuple[dict[str, Markup], list[str]]:
    """Return the sections by their names, and the names of what there was no room for."""
    seen = report.observation
    content = {
        "findings": list(_findings(report)),
        "fits": [Part(html_fits.fits(rows), "what fits together", 30)]
        if (rows := fits.rows(seen.facts))
        else [],
        "checks": list(_checks(report)),
        "facts": [
            Part(text, name, 4000 + number)
            for number, (name, text) in enumerate(html_checks.facts(seen.facts))
        ],
    }
    kept, lost = fitted(
        [part for parts in content.values() for part in parts],
        _MOST,
        lambda text: len(text.encode()),
    )
    there = set(map(id, kept))
    inside = {
        name: [Markup(part.text) for part in parts if id(part) in there]
        for name, parts in content.items()
    }
    inside["machine"] = [_machine(report)]
    inside["findings"] = inside["findings"] or [el("p", "Left out: no room.")]
    return {
        name: section(name, title, *inside[name]) for name, title in _TITLES.items() if inside[name]
    }, lost


def _findings(report: Report) -> Iterator[Part]:
    counted = findings(report, PAGE)
    for number, found in enumerate(counted, 1):
        yield Part(finding(found, number), f"finding {number} ({line(found.id, 60)})", 10 + number)
    if end := tuple(at_end(report, PAGE, windows=on_windows(report))):
        yield Part(plan(end), "the plan", 1)
    if quiet := not_counted(report):
        yield Part(suppressed(quiet), "what is suppressed", 1999)
    if not counted:
        yield Part(el("p", "None."), "that there is none", 1)


def _machine(report: Report) -> Markup:
    rows = machine.rows(report.observation.facts)
    told = (el("div", el("dt", label), el("dd", line(text, 600))) for label, text in rows)
    return el("dl", *told) if rows else el("p", "Nothing is known of it.")


def _checks(report: Report) -> Iterator[Part]:
    outcomes = report.observation.outcomes
    yield Part(html_checks.checks(outcomes, report.observation.facts), "the checks", 2)
    yield from (Part(log, name, 3000) for name, log in html_checks.logs(outcomes))
    yield Part(html_checks.rest(report), "what was not checked", 3001)
