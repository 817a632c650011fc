"""What doctor knows and does, as lists: checks, known issues, compatibility tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from doctor.base.own_name import own
from doctor.model.catalog import Catalog
from doctor.model.checks import Check
from doctor.report.reference.search import Matches
from doctor.report.terminal.page import (
    QUIET,
    STYLES,
    Lines,
    TerminalOptions,
    blank,
    glyph,
    look,
    paragraph,
    paragraph_text,
    rendered_lines,
    span,
    without_placeholders,
)
from doctor.report.view.words import count


def render(
    catalog: Catalog,
    checks: Mapping[str, Check],
    found: Matches | None = None,
    *,
    width: int,
    colour: bool,
    unicode: bool,
) -> str:
    """Return a line on each check, known issue and table of `found`; an overview without it."""
    how = look(width=width, unicode=unicode, colour=colour)
    lines = (
        _overview(catalog, checks, how) if found is None else _found(found, catalog, checks, how)
    )
    return rendered_lines(lines, how)


def _overview(catalog: Catalog, checks: Mapping[str, Check], how: TerminalOptions) -> Lines:
    yield from paragraph(span(how, (count(len(checks), "check"), "bold")), how, indent=0)
    yield from _checks(checks, how)
    yield blank()
    issues = count(len(catalog.issues), "known issue")
    yield from paragraph(
        span(how, (issues, "bold"), (f", newest source {catalog.newest_source}", QUIET)),
        how,
        indent=0,
    )
    numbers = Counter(name.partition("/")[0] for name in catalog.issues)
    text = ", ".join(
        f"{paragraph_text(name, how)} {number}" for name, number in sorted(numbers.items())
    )
    yield from paragraph(text, how)
    yield blank()
    yield from paragraph(
        span(how, (f"{count(len(catalog.tables), 'compatibility table')}", "bold")), how, indent=0
    )
    yield from paragraph(", ".join(sorted(catalog.tables)), how)
    yield blank()
    for command, purpose in (
        (own("list torch"), "the known issues of one component; a glob or words do as well"),
        (own("search 'undefined symbol'"), "known issues by the text of an error"),
        (own("explain ID"), "one of them"),
    ):
        line = span(how, (f"{command:<34}", "bold"), (purpose, QUIET))
        yield from paragraph(line, how, indent=0)


def _found(
    found: Matches, catalog: Catalog, checks: Mapping[str, Check], how: TerminalOptions
) -> Lines:
    yield from _checks({name: checks[name] for name in found.checks}, how)
    yield from _issues(found.issues, catalog, how)
    if found.tables:
        if found.checks or found.issues:
            yield blank()
        column = max(len(name) for name in found.tables) + 2
        for name in found.tables:
            table = catalog.tables[name]
            ends = (
                f"  to {table.newest.release}, read on {table.newest.read.isoformat()}"
                if table.newest
                else ""
            )
            yield from paragraph(
                span(how, paragraph_text(table.title, how), (ends, QUIET)),
                how,
                label=(paragraph_text(name, how), ""),
                column=min(column, 30),
            )


def _checks(checks: Mapping[str, Check], how: TerminalOptions) -> Lines:
    column = min(max((len(name) for name in checks), default=0) + 2, 30)
    for name, check in checks.items():
        cost = f"  {check.header.tier.value}, {check.header.timeout:.0f} s at most"
        yield from paragraph(
            span(how, paragraph_text(check.header.summary, how), (cost, QUIET)),
            how,
            label=(paragraph_text(name, how), ""),
            column=column,
        )


def _issues(names: Sequence[str], catalog: Catalog, how: TerminalOptions) -> Lines:
    column = max((len(issue.severity.value) for issue in catalog.issues.values()), default=0) + 5
    for name in names:
        issue = catalog.issues[name]
        mark = glyph(issue.severity.value, how)
        title = paragraph_text(without_placeholders(issue.title, how), how)
        text = span(how, title, (f"  {paragraph_text(name, how)}", QUIET))
        label = (f"{mark:<2} {issue.severity.value}", STYLES[issue.severity])
        yield from paragraph(text, how, label=label, column=column)
