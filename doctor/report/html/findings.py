"""The findings of a report on a page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from doctor.fixes.lines import command_line
from doctor.fixes.shell import line as shell_line
from doctor.fixes.shell import shell_of
from doctor.model.findings import Evidence, Finding
from doctor.model.fixes import Fix
from doctor.model.scales import Severity
from doctor.report.html.elements import Markup, el, folded, joined, line, link, told
from doctor.report.view.words import changes, count, facts_wanted, flags

MARKS = {Severity.ERROR: "✗", Severity.WARNING: "!", Severity.NOTE: "i"}
_MOST_EVIDENCE = 20
_MOST_FIXES = 8
_MOST_LINKS = 12
_CHANGES = {"-": "del", "+": "ins"}
_WHAT = {"cargo": "Cargo workspace"}


def finding(found: Finding, number: int, *, windows: bool, several_targets: bool) -> Markup:
    """Return one finding; a note is folded."""
    about = (
        f", about the {_WHAT.get(found.target, line(found.target, 60))}" if several_targets else ""
    )
    place = f", in {line(found.place.path, 300)}:{found.place.line}" if found.place else ""
    head = el(
        "summary",
        badge(found.severity),
        el("h3", line(found.title, 300)),
        el(
            "span",
            el("code", line(found.id, 120)),
            f" {found.confidence.value} confidence{about}{place}",
            class_="id",
        ),
    )
    body = el("div", *_body(found, windows=windows), class_="body")
    shown = None if found.severity is Severity.NOTE else ""
    return el(
        "details",
        head,
        body,
        class_=f"finding {found.severity.value}",
        id=f"finding-{number}",
        open=shown,
    )


def badge(severity: Severity) -> Markup:
    """Return the word for a severity, with a mark that needs no colour."""
    return el(
        "span",
        el("span", MARKS[severity], aria_hidden="true"),
        f" {severity.value}",
        class_=f"badge {severity.value}",
    )


def suppressed(found: Sequence[Finding]) -> Markup:
    """Return the findings that do not count, with the reason."""
    items = (
        el(
            "li",
            badge(one.severity),
            f" {line(one.title, 300)} ",
            el("code", line(one.id, 120)),
            _reason(one),
        )
        for one in found
    )
    return folded(f"{count(len(found), 'finding')} suppressed", el("ul", *items), class_="card")


def _reason(found: Finding) -> str:
    why = found.suppressed
    return (
        f" {line(', '.join(filter(None, (why.by, why.reason, f'until {why.until}' if why.until else ''))), 400)}"
        if why
        else ""
    )


def _body(found: Finding, *, windows: bool) -> Iterator[Markup]:
    yield el("p", told(found.message), class_="message")
    if found.evidence:
        yield el("h4", "Seen")
        yield el("ul", *_evidence(found.evidence), class_="evidence")
    for number, fix in enumerate(found.fixes[:_MOST_FIXES]):
        yield el(
            "div",
            *_fix(fix, "Fix" if number == 0 else "Or", windows=windows),
            class_="fix" if number == 0 else "fix other",
        )
    if (more := len(found.fixes) - _MOST_FIXES) > 0:
        yield el("p", f"and {more} more")
    if found.settles:
        yield el(
            "p",
            el("strong", "Unsure: "),
            f"{line(facts_wanted(found.settles.split(', ')))} would settle it",
        )
    if found.symptoms:
        yield el(
            "p",
            "Explains ",
            *_between([el("code", line(symptom, 120)) for symptom in found.symptoms[:_MOST_LINKS]]),
            class_="quiet",
        )
    if found.references:
        yield el(
            "p",
            "Sources: ",
            *_between([link(address) for address in found.references[:_MOST_LINKS]]),
            class_="quiet sources",
        )


def _between(pieces: Sequence[str]) -> list[str]:
    return [
        part
        for number, piece in enumerate(pieces)
        for part in ((", ", piece) if number else (piece,))
    ]


def _evidence(pieces: Sequence[Evidence]) -> Iterator[Markup]:
    for piece in pieces[:_MOST_EVIDENCE]:
        source = line(piece.source, 400) + (f":{piece.line}" if piece.line is not None else "")
        yield el(
            "li",
            el("code", line(piece.text, 1000)),
            joined(" ", el("span", source, class_="source")) if source else "",
        )
    if (more := len(pieces) - _MOST_EVIDENCE) > 0:
        yield el("li", f"and {more} more")


def _fix(fix: Fix, label: str, *, windows: bool) -> Iterator[Markup]:
    kind = shell_of(windows=windows)
    conditions = " and ".join(fix.use_if)
    when = el("span", f" if {line(conditions, 400)}:", class_="quiet") if conditions else Markup("")
    noted = (
        joined(" ", el("span", warned, class_="flags")) if (warned := flags(fix)) else Markup("")
    )
    yield el("h4", f"{label}:", when, f" {line(fix.title, 400)}", noted)
    if typed := [command_line(step, kind) for step in fix.steps if step.command]:
        yield command(typed)
    for where, changed in changes(fix):
        yield el("p", "in ", el("code", line(where, 300)))
        yield el(
            "pre",
            *(el(_CHANGES.get(each[0], "span"), each + "\n") for each in changed),
            class_="diff",
        )
    if fix.note:
        yield el("p", line(fix.note, 600), class_="quiet")
    if fix.verify:
        yield el("p", "check:", class_="quiet")
        yield command([shell_line(fix.verify, kind)])


def command(lines: Sequence[str]) -> Markup:
    """Write commands so that one click selects them all, and nothing but them."""
    return el(
        "pre",
        *(el("code", each + "\n") for each in lines),
        class_="command",
        title="One click selects it whole",
    )
