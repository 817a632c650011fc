"""The blocks of a report in Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from textwrap import indent

from doctor.model.scales import Severity
from doctor.report.markdown.text import (
    catalog_paragraph,
    code,
    fenced,
    folded,
    in_html,
    link,
    prose,
)
from doctor.report.view.blocks import (
    Block,
    Change,
    Commands,
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
)

MARKS = {Severity.ERROR: "❌", Severity.WARNING: "⚠️", Severity.NOTE: "ℹ️"}


def finding(found: Finding) -> str:
    """Return one finding."""
    mark = MARKS[found.severity]
    text = body(found)
    if found.folded:
        return folded(f"{mark} {found.severity.value}: {in_html(found.title)}", text)
    return f"### {mark} {found.severity.value}: {prose(found.title)}\n\n{text}"


def body(found: Finding) -> str:
    """Return what stands below the title of a finding."""
    about = f", about the {prose(found.about)}" if found.about else ""
    place = f", in {code(found.place)}" if found.place else ""
    first = f"{code(found.id)}, {found.confidence} confidence{about}{place}"
    return "\n\n".join((first, *blocks(found.blocks)))


def blocks(given: Iterable[Block | Steps | Change]) -> Iterator[str]:
    """Yield a text for each block that has something to say."""
    for block in given:
        match block:
            case Paragraph(pieces, label, between):
                yield (f"**{label.capitalize()}**: " if label else "") + _inline(pieces, between)
            case Evidence():
                yield "**Seen**"
                yield fenced("\n".join(_evidence(block)), "text")
            case Fix():
                yield from _fix(block)
            case Steps(items):
                yield "\n".join(_step(number, step) for number, step in enumerate(items, 1))
            case Change(lines, where):
                yield from [f"in {code(where)}:"] if where else []
                yield fenced("\n".join(lines), "diff")
            case Commands(lines, language, label):
                yield from [f"{label}:"] if label else []
                yield fenced("\n".join(lines), language)
            case Consequences(items):
                listed = (
                    f"- {MARKS[one.severity]} {prose(one.title)} ({code(one.id)})" for one in items
                )
                yield "**Causes**\n\n" + "\n".join(listed)
            case Links(label, addresses):
                yield f"{label.capitalize()}: " + " · ".join(map(link, addresses))


def _inline(pieces: Iterable[Piece], between: str) -> str:
    return between.join(filter(None, map(_piece, pieces)))


def _piece(piece: Piece) -> str:
    match piece.style:
        case Style.CODE:
            return code(piece.text)
        case Style.PROSE:
            return catalog_paragraph(piece.text)
        case Style.STRONG if piece.text:
            return f"**{prose(piece.text)}**"
        case Style.WARNING if piece.text:
            return f"*({prose(piece.text)})*"
        case _:
            return prose(piece.text)


def _evidence(block: Evidence) -> Iterator[str]:
    for seen in block.items:
        yield seen.text + (f"  ({seen.source})" if seen.source else "")
    if block.more:
        yield f"and {block.more} more"


def _fix(fix: Fix) -> Iterator[str]:
    use_if = f" if {prose(fix.use_if)}" if fix.use_if else ""
    flags = f" *({prose(fix.flags)})*" if fix.flags else ""
    yield f"**{fix.label.capitalize()}**{use_if}: {prose(fix.title)}{flags}"
    yield from blocks(fix.blocks)


def _step(number: int, step: Step) -> str:
    mark = f"{number}. "
    parts = ([prose(step.title)] if step.title else []) + [*blocks(step.blocks)]
    return mark + indent("\n\n".join(parts), " " * len(mark)).lstrip(" ")
