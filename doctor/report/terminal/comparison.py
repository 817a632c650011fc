"""What changed between two reports, for a person."""

from __future__ import annotations

from itertools import groupby
from typing import Any

from doctor import __version__
from doctor.model.comparison import Change, Comparison, Side
from doctor.model.document import FindingDocument
from doctor.report.terminal.page import (
    COMMAND,
    QUIET,
    STYLES,
    Lines,
    TerminalOptions,
    blank,
    elided,
    glyph,
    look,
    paragraph,
    paragraph_text,
    rendered_lines,
    span,
    verbatim,
)
from doctor.report.view.words import count

_FEW = 8
_MOST, _DEEPEST = 20, 3
_COLUMN = 36


def render(found: Comparison, *, verbosity: int, width: int, colour: bool, unicode: bool) -> str:
    """Return a comparison as text.

    `verbosity` -1 is the findings and the last line, 1 is everything.
    """
    how = look(width=width, unicode=unicode, colour=colour, verbosity=verbosity)
    return rendered_lines(_page(found, how), how)


def _page(found: Comparison, how: TerminalOptions) -> Lines:
    if how.verbosity >= 0:
        yield from paragraph(
            span(how, (f"canary-doctor {__version__}{glyph('dot', how)}diff", "bold")),
            how,
            indent=0,
        )
        yield from _side("before", found.before, how)
        yield from _side("after", found.after, how)
        if found.before.catalog != found.after.catalog:
            yield from paragraph(
                "Judged by different releases of the catalog: that may explain new findings.",
                how,
            )
        yield from _changes(found, how)
    for one in found.came:
        yield from _came(one, found, how)
    yield from _went(found, how)
    yield blank()
    changes, came = count(len(found.changes), "change"), count(len(found.came), "finding")
    parts = f"{changes}{glyph('dot', how)}{came} came, {len(found.went)} went"
    yield from paragraph(span(how, parts), how, indent=0)


def _side(label: str, side: Side, how: TerminalOptions) -> Lines:
    when = f", {side.taken[:16].replace('T', ' ')} UTC" if side.taken else ""
    yield from paragraph(f"{side.name}{when}", how, label=(label, QUIET))


def _changes(found: Comparison, how: TerminalOptions) -> Lines:
    if not found.changes:
        yield blank()
        yield from paragraph("No fact that both reports hold has changed.", how)
    for group, told in groupby(found.changes, key=lambda change: change.group):
        each = list(told)
        shown = each if how.wordy else each[:_FEW]
        yield blank()
        yield from paragraph(span(how, (group, "bold")), how)
        for change in shown:
            yield from _change(change, how)
        if len(each) > len(shown):
            yield from paragraph(
                span(how, (f"and {len(each) - len(shown)} more (-v)", QUIET)), how, indent=4
            )


def _change(change: Change, how: TerminalOptions) -> Lines:
    arrow = "→" if how.unicode else "->"
    before, after = (elided(_value(value, how), how) for value in (change.before, change.after))
    if before == after:
        before, after = (_value(value, how) for value in (change.before, change.after))
    label = (paragraph_text(_name(change.fact), how, most=120), QUIET)
    yield from paragraph(
        span(how, f"{before} {arrow} {after}"), how, indent=4, label=label, column=_COLUMN
    )


def _name(fact: str) -> str:
    """Name a fact within its group."""
    for prefix, suffix in (
        ("libs.resolved.", ""),
        ("env.", ""),
        ("package.", ".version"),
        ("crate.", ".version"),
    ):
        if fact.startswith(prefix) and fact.endswith(suffix):
            return fact.removeprefix(prefix).removesuffix(suffix)
    return fact


def _value(value: Any, how: TerminalOptions, depth: int = 0) -> str:
    if value is None or value == []:
        return "none"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | tuple | dict) and depth > _DEEPEST:
        return glyph("more", how)
    if isinstance(value, dict):
        return paragraph_text(
            " ".join(
                f"{key}={_value(each, how, depth + 1)}" for key, each in [*value.items()][:_MOST]
            ),
            how,
            most=400,
        )
    if isinstance(value, list | tuple):
        return paragraph_text(
            ", ".join(_value(each, how, depth + 1) for each in value[:_MOST]), how, most=400
        )
    return paragraph_text(str(value), how, most=400)


def _came(one: FindingDocument, found: Comparison, how: TerminalOptions) -> Lines:
    yield blank()
    before = found.worse.get(one.id)
    word = "came" if before is None else f"worse, was {before.value}"
    label = (f"{glyph(one.severity.value, how)} {one.severity.value}", STYLES[one.severity])
    yield from paragraph(
        span(
            how,
            (paragraph_text(one.title, how), "bold"),
            (f" ({paragraph_text(one.id, how)}, {word})", QUIET),
        ),
        how,
        indent=0,
        label=label,
        column=11,
    )
    for fix in one.fixes[:1]:
        yield from paragraph(span(how, paragraph_text(fix.title, how)), how, label=("fix", "bold"))
        for command in fix.commands:
            yield from verbatim(command, how, indent=6, style=COMMAND)


def _went(found: Comparison, how: TerminalOptions) -> Lines:
    if found.went:
        yield blank()
    for one in found.went:
        text = span(
            how, paragraph_text(one.title, how), (f" ({paragraph_text(one.id, how)}, went)", QUIET)
        )
        yield from paragraph(text, how, label=(glyph("passed", how), "green"), column=3)
