"""A page for each compatibility table."""

from __future__ import annotations

from typing import Any

from doctor.facts.placeholders import as_text
from doctor.model.catalog import Catalog
from doctor.model.compat import Column, Table
from doctor.report.reference.conditions import condition_text
from doctor.site.markdown import bullets, code, grid, link, page, plain, prose


def path(id_: str) -> str:
    """Return the path of a table's page."""
    return f"tables/{id_}.md"


def table_page(table: Table) -> str:
    """Return a table: its rows, what it judges, and where they were read."""
    columns = [*table.columns]
    rows = [[plain(_cell(row.get(column, ""))) for column in columns] for row in table.rows]
    parts = [
        _ends(table),
        grid([plain(column) for column in columns], rows),
        "## What the columns are held against",
        bullets(_column(name, column) for name, column in table.columns.items()),
        *_applies(table),
        "## Sources",
        bullets(_source(name, table) for name in table.sources),
    ]
    return page(table.title, parts, f"{table.title}: {', '.join(columns)}")


def _ends(table: Table) -> str:
    if table.newest is None:
        return ""
    newest = table.newest
    return (
        f"The newest release in this table is {plain(newest.release)} "
        f"(looked up on {newest.read.isoformat()})."
    )


def _column(name: str, column: Column) -> str:
    what = "selects the row by" if column.key else "judges" if column.judge else "informs about"
    told = f": {prose(column.says)} ({column.severity.value})" if column.says else ""
    return f"**{plain(name)}** {what} {code(column.fact)}{told}"


def _applies(table: Table) -> list[str]:
    conditions = " and ".join(code(condition_text(condition)) for condition in table.applies)
    return [f"It judges where {conditions}."] if conditions else []


def _source(name: str, table: Table) -> str:
    source = table.sources[name]
    what = link(prose(source.what), source.url) if source.url else prose(source.what)
    return f"{what} ({plain(source.evidence)}, {source.opened.isoformat()})"


def _cell(cell: Any) -> str:
    if isinstance(cell, dict):
        low, high = cell.get("from"), cell.get("before")
        return ", ".join(
            filter(None, (f"from {low}" if low else "", f"before {high}" if high else ""))
        )
    return " or ".join(map(_cell, cell)) if isinstance(cell, list | tuple) else as_text(cell)


def index(catalog: Catalog) -> str:
    """Return the list of tables."""
    rows = [
        (link(prose(table.title), f"{name}.md"), code(name))
        for name, table in sorted(catalog.tables.items())
    ]
    return page(
        "Compatibility tables",
        [
            "What goes together, release by release, each row with its source.",
            grid(("table", "id"), rows),
        ],
    )
