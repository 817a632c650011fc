"""Rules for compatibility tables."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from doctor.base.versions import parse
from doctor.facts.derive.cells import accepts
from doctor.lint.issue import lint_condition, lint_recipe
from doctor.model.compat import Column, Newest, Table
from doctor.model.vocabulary import is_known


def lint_table(table: Table) -> Iterator[str]:
    """Yield the faults of one table."""
    for name, column in table.columns.items():
        yield from (f"columns.{name}{fault}" for fault in _lint_column(column))
    yield from (
        f"applies: {fault}" for condition in table.applies for fault in lint_condition(condition)
    )
    if not any(column.key for column in table.columns.values()):
        yield "columns: none is a key"
    elif table.newest is None:
        yield (
            "newest: say the newest release that the rows speak of, and the day on which that "
            "was looked up"
        )
    else:
        yield from (f"newest.{fault}" for fault in _lint_newest(table.newest, table))
    if "beyond" in table.columns:
        yield "columns.beyond: compat.<table>.beyond says what is newer than the table"
    for number, row in enumerate(table.rows):
        yield from (f"rows[{number}]: {fault}" for fault in _lint_row(row, table))


def _lint_column(column: Column) -> Iterator[str]:
    if not is_known(column.fact):
        yield f": no such fact: {column.fact}"
    if column.judge and not column.fixes:
        yield ".fixes: a violation ends in something to do"
    for recipe in column.fixes:
        yield from (f".fixes: {fault}" for fault in lint_recipe(recipe))


def _lint_newest(newest: Newest, table: Table) -> Iterator[str]:
    keys = [name for name, column in table.columns.items() if column.key]
    key = newest.of or keys[0]
    if key not in keys:
        yield f"of: no such key: {key}"
    elif parse(newest.release) is None:
        yield f"release: {newest.release} is no version"
    elif not any(accepts(row.get(key), newest.release) is True for row in table.rows):
        yield f"release: no row is about {key} {newest.release}"


def _lint_row(row: dict[str, Any], table: Table) -> Iterator[str]:
    for name, cell in row.items():
        if (
            name in table.columns
            and table.columns[name].key
            and isinstance(cell, dict)
            and "before" not in cell
        ):
            yield f"{name}: say where it ends (before), for nothing is known of releases to come"
    yield from (
        f"no such column: {name}" for name in row if name not in table.columns and name != "source"
    )
    sources = row.get("source") or ()
    if not sources:
        yield "a row needs a source"
    yield from (f"no such source: {name}" for name in sources if name not in table.sources)
