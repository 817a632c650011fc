"""Findings on a terminal that shows some of them already: what has changed since."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from doctor.model.report import Report
from doctor.report.terminal.blocks import finding
from doctor.report.terminal.page import (
    QUIET,
    Lines,
    TerminalOptions,
    blank,
    glyph,
    paragraph,
    paragraph_text,
    span,
)
from doctor.report.view.blocks import Block, Evidence, Finding, Fix, Observed


def changed(
    found: Sequence[Finding], shown: Sequence[Finding], report: Report, how: TerminalOptions
) -> Lines:
    """Yield new findings whole, of changed ones what is new, and which no longer hold."""
    before = {_key(one): one for one in shown}
    for one in found:
        if (new := _new(one, before.get(_key(one)))) is not None:
            yield from finding(new, how)
    kept = {_key(one) for one in found}
    why = {issue.id: issue.why for issue in report.ruled_out}
    folded = {symptom for one in report.counted for symptom in one.symptoms}
    now = {item.text for one in found for item in _items(one)}
    for one in shown:
        if _key(one) in kept or one.id in folded:
            continue
        # What a finding rests on may stand in another one by now.
        rests_on = {item.text for item in _items(one)}
        if not rests_on or not rests_on <= now:
            yield blank()
            because = f": {paragraph_text(why[one.id], how)}" if one.id in why else ""
            text = span(how, (f"{one.id} does not hold{because}", QUIET))
            yield from paragraph(text, how, label=(glyph("passed", how), "green"), column=3)


def _items(one: Finding) -> Iterator[Observed]:
    for block in one.blocks:
        if isinstance(block, Evidence):
            yield from block.items


def _key(one: Finding) -> tuple[str, str]:
    return one.id, one.about


def _new(one: Finding, before: Finding | None) -> Finding | None:
    """Return a finding with the blocks that are new to a reader; None if there are none."""
    if before is None:
        return one
    blocks = tuple(
        new for block in one.blocks if (new := _new_block(block, before.blocks)) is not None
    )
    alike = (one.severity, one.title) == (before.severity, before.title)
    if alike and not any(isinstance(block, (Evidence, Fix)) for block in blocks):
        return None  # a sentence about confidence alone is no reason to show a finding again
    title = f"{one.title} (see above)" if alike else one.title
    place = "" if one.place == before.place else one.place
    return msgspec.structs.replace(one, title=title, blocks=blocks, place=place)


def _new_block(block: Block, before: Sequence[Block]) -> Block | None:
    if block in before:
        return None
    if isinstance(block, Evidence):
        known = {item for each in before if isinstance(each, Evidence) for item in each.items}
        items = tuple(item for item in block.items if item not in known)
        return Evidence(items, block.more) if items else None
    return block
