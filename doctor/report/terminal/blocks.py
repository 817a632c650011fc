"""The blocks of a report on a terminal."""

from __future__ import annotations

from collections.abc import Iterable

from doctor.report.terminal.page import (
    COLUMN,
    COMMAND,
    QUIET,
    STYLES,
    Lines,
    Part,
    TerminalOptions,
    blank,
    elided,
    glyph,
    paragraph,
    paragraph_text,
    span,
    url,
    verbatim,
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

_INDENT = 2 + COLUMN
_STYLES = {Style.QUIET: QUIET, Style.STRONG: "bold", Style.WARNING: "yellow", Style.CODE: "bold"}
_LABELS = {
    **dict.fromkeys(("fix", "or", "unsure", "plan"), "bold"),
    "proved": "bold green",
    "failed": "bold red",
}
_CHANGES = {"-": "red", "+": "green"}


def finding(found: Finding, how: TerminalOptions) -> Lines:
    """Yield one finding."""
    yield blank()
    word = f"{glyph(found.severity.value, how)} {found.severity.value}"
    title = span(how, (paragraph_text(found.title, how), "bold"))
    label = (word, STYLES[found.severity])
    yield from paragraph(title, how, indent=0, label=label, column=_INDENT)
    if how.wordy:
        about = f", about the {found.about}" if found.about else ""
        rest = paragraph_text(f"{found.id}, {found.confidence} confidence{about}", how)
        yield from paragraph(span(how, (rest, QUIET)), how, indent=_INDENT)
    if found.place:
        yield from _labelled("-->", [Piece(found.place)], how)
    for each in found.blocks:
        yield from block(each, how)


def block(given: Block, how: TerminalOptions) -> Lines:
    """Yield one block."""
    match given:
        case Paragraph(pieces, label, between):
            yield from _labelled(label, pieces, how, between)
        case Evidence():
            yield from _evidence(given, how)
        case Fix():
            yield from _fix(given, how)
        case Consequences(items):
            for number, each in enumerate(items):
                mark = (glyph(each.severity.value, how), STYLES[each.severity])
                text = span(how, mark, f" {each.title} ", (f"({each.id})", QUIET))
                word = ("causes" if number == 0 else " ", QUIET)
                yield from paragraph(text, how, label=word)
        case Links(label, addresses):
            for number, address in enumerate(addresses):
                yield from url(address, how, indent=2, label=(" " if number else label, QUIET))
        case Commands():
            yield from _commands(given, how, _INDENT)


def _labelled(
    label: str, pieces: Iterable[Piece], how: TerminalOptions, between: str = " "
) -> Lines:
    text = span(how, *_parts(pieces, how, between))
    yield from paragraph(text, how, label=(label or " ", _LABELS.get(label, QUIET)))


def _parts(pieces: Iterable[Piece], how: TerminalOptions, between: str) -> list[Part]:
    parts: list[Part] = []
    for piece in pieces:
        text = paragraph_text(piece.text, how)
        if piece.style is not Style.CODE:  # a command or a name is there to be copied
            text = elided(text, how)
        parts += [between] if parts else []
        parts.append((text, _STYLES.get(piece.style, "")))
    return parts


def _evidence(block: Evidence, how: TerminalOptions) -> Lines:
    for number, seen in enumerate(block.items):
        pieces = [Piece(seen.text)]
        pieces += [Piece(f"({seen.source})", Style.QUIET)] if seen.source else []
        yield from _labelled("" if number else "seen", pieces, how)
    if block.more:
        yield from _labelled("", [Piece(f"and {block.more} more", Style.QUIET)], how)


def _fix(fix: Fix, how: TerminalOptions) -> Lines:
    pieces = [Piece(f"If {fix.use_if}:", Style.QUIET)] if fix.use_if else []
    pieces.append(Piece(fix.title))
    pieces += [Piece(f"({fix.flags})", Style.WARNING)] if fix.flags else []
    yield from _labelled(fix.label, pieces, how)
    for block in fix.blocks:
        match block:
            case Paragraph(inner):
                yield from _labelled("", inner, how)
            case Steps(items):
                for number, step in enumerate(items, 1):
                    yield from _step(number, step, how)
            case Change():
                yield from _change(block, how, _INDENT)
            case Commands():
                yield from _commands(block, how, _INDENT)


def _step(number: int, step: Step, how: TerminalOptions) -> Lines:
    mark = f"{number}. "
    if step.title:
        label = (mark, QUIET)
        text = span(how, paragraph_text(step.title, how))
        yield from paragraph(text, how, indent=_INDENT, label=label, column=len(mark))
    for place, block in enumerate(step.blocks):
        first = "" if step.title or place else mark
        match block:
            case Commands():
                yield from _commands(block, how, _INDENT + len(mark), first)
            case Change():
                yield from _change(block, how, _INDENT + len(mark), first)


def _commands(block: Commands, how: TerminalOptions, indent: int, mark: str = "") -> Lines:
    if block.label:
        yield from paragraph(
            span(how, mark, (f"{block.label}:", QUIET)), how, indent=indent - len(mark)
        )
        mark = ""
    for line in block.lines:
        yield from verbatim(line, how, indent=indent - len(mark), style=COMMAND, mark=mark)
        mark = ""


def _change(block: Change, how: TerminalOptions, indent: int, mark: str = "") -> Lines:
    if block.where:
        where = span(how, (mark, QUIET), ("in ", QUIET), paragraph_text(block.where, how))
        yield from paragraph(where, how, indent=indent - len(mark))
    for line in block.lines:
        yield from verbatim(line, how, indent=indent, style=_CHANGES.get(line[0], QUIET))
