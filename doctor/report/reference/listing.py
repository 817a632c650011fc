"""What doctor knows and does, as lists: checks, known issues, compatibility tables."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import groupby

from doctor.model.catalog import Catalog
from doctor.model.checks import Check
from doctor.report.terminal.page import (
    QUIET,
    STYLES,
    Lines,
    Look,
    blank,
    glyph,
    look,
    paragraph,
    said,
    span,
    without_placeholders,
    written,
)
from doctor.report.view.words import count


def render(
    catalog: Catalog, checks: Mapping[str, Check], *, width: int, colour: bool, unicode: bool
) -> str:
    """Return every check, known issue and table with a line on each."""
    how = look(width=width, unicode=unicode, colour=colour)
    return written(_lists(catalog, checks, how), how)


def _lists(catalog: Catalog, checks: Mapping[str, Check], how: Look) -> Lines:
    yield from paragraph(span(how, (count(len(checks), "check"), "bold")), how, indent=0)
    yield from _checks(checks, how)
    yield blank()
    issues = count(len(catalog.issues), "known issue")
    yield from paragraph(
        span(how, (issues, "bold"), (f", newest source {catalog.newest_source}", QUIET)),
        how,
        indent=0,
    )
    yield from _issues(catalog, how)
    yield blank()
    yield from paragraph(
        span(how, (f"{count(len(catalog.tables), 'table')} of what goes together", "bold")),
        how,
        indent=0,
    )
    column = max((len(name) for name in catalog.tables), default=0) + 2
    for name, table in sorted(catalog.tables.items()):
        ends = (
            f"  to {table.newest.release}, read on {table.newest.read.isoformat()}"
            if table.newest
            else ""
        )
        yield from paragraph(
            span(how, said(table.title, how), (ends, QUIET)),
            how,
            label=(said(name, how), ""),
            column=min(column, 30),
        )
    yield blank()
    yield from paragraph(
        "doctor explain ID tells more about a known issue or a check.", how, indent=0
    )


def _checks(checks: Mapping[str, Check], how: Look) -> Lines:
    column = min(max((len(name) for name in checks), default=0) + 2, 30)
    for name, check in checks.items():
        cost = f"  {check.header.tier.value}, {check.header.timeout:.0f} s at most"
        yield from paragraph(
            span(how, said(check.header.summary, how), (cost, QUIET)),
            how,
            label=(said(name, how), ""),
            column=column,
        )


def _issues(catalog: Catalog, how: Look) -> Lines:
    for component, names in groupby(
        sorted(catalog.issues), key=lambda name: name.partition("/")[0]
    ):
        yield blank()
        yield from paragraph(span(how, (said(component, how), "bold")), how)
        for name in names:
            issue = catalog.issues[name]
            mark = glyph(issue.severity.value, how)
            text = span(
                how,
                said(without_placeholders(issue.title, how), how),
                (f"  {said(name, how)}", QUIET),
            )
            label = (f"{mark:<2} {issue.severity.value}", STYLES[issue.severity])
            yield from paragraph(text, how, label=label, column=12)
