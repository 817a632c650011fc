"""The blocks of a report on a page."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from doctor.model.scales import Severity
from doctor.report.html.elements import Markup, catalog_paragraph, el, folded, joined, link
from doctor.report.view.blocks import (
    Block,
    Change,
    Commands,
    Consequence,
    Consequences,
    Evidence,
    Finding,
    Fix,
    Links,
    Paragraph,
    Piece,
    Step,
    Steps,
    Style,
    Suppressed,
)
from doctor.report.view.words import count

MARKS = {Severity.ERROR: "✗", Severity.WARNING: "!", Severity.NOTE: "i"}
_CHANGES = {"-": "del", "+": "ins"}


def finding(found: Finding, number: int) -> Markup:
    """Return one finding; `number` makes its address on the page."""
    about = f", about the {found.about}" if found.about else ""
    place = joined(", in ", el("code", found.place)) if found.place else ""
    head = el(
        "summary",
        badge(found.severity),
        el("h3", found.title),
        el(
            "span",
            el("code", found.id),
            f" {found.confidence} confidence{about}",
            place,
            class_="id",
        ),
    )
    return el(
        "details",
        head,
        el("div", *_blocks(found.blocks), class_="body"),
        class_=f"finding {found.severity.value}",
        id=f"finding-{number}",
        open=None if found.folded else "",
    )


def plan(given: Iterable[Block]) -> Markup:
    """Return the plan for all findings."""
    return el(
        "details",
        el("summary", el("h3", "Plan for all findings")),
        el("div", *_blocks(given), class_="body"),
        class_="finding",
        id="plan",
        open="",
    )


def badge(severity: Severity) -> Markup:
    """Return the word for a severity, with a mark that needs no colour."""
    mark = el("span", MARKS[severity], aria_hidden="true")
    return el("span", mark, f" {severity.value}", class_=f"badge {severity.value}")


def suppressed(found: Sequence[Suppressed]) -> Markup:
    """Return the findings that do not count, with the reason."""
    items = (
        el("li", badge(one.severity), f" {one.title} ", el("code", one.id), f" {one.why}")
        for one in found
    )
    return folded(f"{count(len(found), 'finding')} suppressed", el("ul", *items), class_="card")


def _blocks(given: Iterable[Block | Steps | Change]) -> Iterator[Markup]:
    for block in given:
        match block:
            case Paragraph():
                yield _paragraph(block)
            case Evidence():
                yield from (el("h4", "Seen"), el("ul", *_evidence(block), class_="evidence"))
            case Fix():
                yield _fix(block)
            case Steps(items):
                yield el("ol", *map(_step, items), class_="steps")
            case Change():
                yield from _change(block)
            case Commands():
                yield from _commands(block)
            case Consequences(items):
                yield from (el("h4", "Causes"), el("ul", *map(_consequence, items)))
            case Links(label, addresses):
                links = _between([link(address) for address in addresses])
                yield el("p", f"{label.capitalize()}: ", *links, class_="quiet sources")


def _step(step: Step) -> Markup:
    title = el("p", step.title) if step.title else ""
    return el("li", title, *_blocks(step.blocks))


def _change(block: Change) -> Iterator[Markup]:
    if block.where:
        yield el("p", "in ", el("code", block.where))
    changed = (el(_CHANGES.get(each[0], "span"), each + "\n") for each in block.lines)
    yield el("pre", *changed, class_="diff")


def _consequence(one: Consequence) -> Markup:
    return el("li", badge(one.severity), f" {one.title} ", el("code", one.id))


def _paragraph(block: Paragraph) -> Markup:
    head = [el("strong", f"{block.label.capitalize()}: ")] if block.label else []
    inside = _between([_piece(piece) for piece in block.pieces], block.between)
    return el("p", *head, *inside, class_=_class(block.pieces))


def _class(pieces: Sequence[Piece]) -> str | None:
    styles = {piece.style for piece in pieces}
    return "message" if Style.PROSE in styles else "quiet" if styles == {Style.QUIET} else None


def _piece(piece: Piece) -> Markup:
    match piece.style:
        case Style.PROSE:
            return catalog_paragraph(piece.text)
        case Style.CODE:
            return el("code", piece.text)
        case Style.STRONG:
            return el("strong", piece.text)
        case Style.WARNING:
            return el("span", piece.text, class_="flags")
        case _:
            return joined(piece.text)


def _between(pieces: Sequence[Markup], mark: str = ", ") -> list[str]:
    return [
        part
        for number, piece in enumerate(pieces)
        for part in ((mark, piece) if number else (piece,))
    ]


def _evidence(block: Evidence) -> Iterator[Markup]:
    for seen in block.items:
        source = joined(" ", el("span", seen.source, class_="source")) if seen.source else ""
        yield el("li", el("code", seen.text), source)
    if block.more:
        yield el("li", f"and {block.more} more")


def _fix(fix: Fix) -> Markup:
    use_if = el("span", f" if {fix.use_if}", class_="quiet") if fix.use_if else ""
    flags = joined(" ", el("span", fix.flags, class_="flags")) if fix.flags else ""
    head = el("h4", fix.label.capitalize(), use_if, f": {fix.title}", flags)
    kind = "fix" if fix.label == "fix" else "fix other"
    return el("div", head, *_blocks(fix.blocks), class_=kind)


def _commands(block: Commands) -> Iterator[Markup]:
    """Write commands so that one click selects them all, and nothing but them."""
    if block.label:
        yield el("p", f"{block.label}:", class_="quiet")
    lines = (el("code", each + "\n") for each in block.lines)
    yield el("pre", *lines, class_="command", title="One click selects it whole")
