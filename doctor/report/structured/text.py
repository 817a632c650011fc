"""A finding as a few lines of plain text, as CI systems show it beside a line of code."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from textwrap import indent

import msgspec

from doctor.model.findings import Finding
from doctor.report.view.blocks import (
    Block,
    Change,
    Commands,
    Evidence,
    Fix,
    Paragraph,
    Step,
    Steps,
)
from doctor.report.view.detail import ANNOTATION, Detail
from doctor.report.view.findings import finding


def body(found: Finding, *, windows: bool, detail: Detail = ANNOTATION) -> str:
    """Return the cause of a finding, what was seen and the first fix."""
    view = finding(found, detail, windows=windows)
    shown = (block for block in view.blocks if isinstance(block, Paragraph | Evidence | Fix))
    return "\n".join(_blocks(shown))


def evidence_lines(found: Finding, most: int) -> list[str]:
    """Return the evidence, a line each."""
    view = finding(found, ANNOTATION._replace(evidence=most))
    return [
        line
        for block in view.blocks
        if isinstance(block, Evidence)
        for line in _evidence(msgspec.structs.replace(block, more=0))
    ]


def _blocks(given: Iterable[Block | Steps | Change]) -> Iterator[str]:
    for block in given:
        match block:
            case Paragraph(pieces, label, between):
                text = between.join(piece.text for piece in pieces)
                yield f"{label.capitalize()}: {text}" if label else text
            case Evidence():
                yield from (f"Seen: {each}" for each in _evidence(block))
            case Fix():
                use_if = f" if {block.use_if}" if block.use_if else ""
                flags = f" ({block.flags})" if block.flags else ""
                yield f"{block.label.capitalize()}{use_if}: {block.title}{flags}"
                yield from (indent(each, "  ") for each in _blocks(block.blocks))
            case Steps(items):
                for number, step in enumerate(items, 1):
                    yield _step(number, step)
            case Change(lines, where):
                yield from [f"in {where}:"] if where else []
                yield from lines
            case Commands(lines, _, label):
                yield from [f"{label}:"] if label else []
                yield from lines
            case _:  # addresses and consequences are for a page
                pass


def _evidence(block: Evidence) -> Iterator[str]:
    for each in block.items:
        yield each.text + (f" ({each.source})" if each.source else "")
    if block.more:
        yield f"and {block.more} more"


def _step(number: int, step: Step) -> str:
    mark = f"{number}. "
    lines = ([step.title] if step.title else []) + [*_blocks(step.blocks)]
    return mark + indent("\n".join(lines), " " * len(mark)).lstrip(" ")
