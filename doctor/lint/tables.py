"""Rules for compatibility tables."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from doctor.model.compat import Table
from doctor.model.vocabulary import is_known

_EVIDENCE = ("binary", "metadata", "source", "issue", "documentation", "copy", "unverified")


def lint_table(table: Table) -> Iterator[str]:
    """Yield the faults of one table."""
    for name, column in table.columns.items():
        if not is_known(column.fact):
            yield f"columns.{name}: no such fact: {column.fact}"
    if not any(column.key for column in table.columns.values()):
        yield "columns: none is a key"
    for name, source in table.sources.items():
        if source.evidence not in _EVIDENCE:
            yield f"sources.{name}.evidence: {source.evidence!r} is none of {', '.join(_EVIDENCE)}"
    for number, row in enumerate(table.rows):
        yield from (f"rows[{number}]: {fault}" for fault in _lint_row(row, table))


def _lint_row(row: dict[str, Any], table: Table) -> Iterator[str]:
    yield from (f"no such column: {name}" for name in row if name not in table.columns and name != "source")
    sources = row.get("source") or ()
    if not sources:
        yield "a row needs a source"
    yield from (f"no such source: {name}" for name in sources if name not in table.sources)
