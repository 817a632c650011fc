"""Hold facts against compatibility tables."""

from __future__ import annotations

from typing import Any

import msgspec

from doctor.base.versions import in_range, parse, public
from doctor.facts.conditions import all_hold, condition_holds, lookup, same
from doctor.facts.families import NewerThanTable, TableCell
from doctor.facts.placeholders import as_text
from doctor.model.compat import Column, Newest, Table
from doctor.model.facts import Fact, Facts, FactStream, State, absent, present, unknown


def accepts(cell: Any, value: Any) -> bool | None:
    """Return whether a cell accepts a value; None where nobody can tell.

    A cell is a value, a list of alternatives, or a range `{from, before}`.
    """
    if isinstance(cell, dict):
        return in_range(str(value), introduced=cell.get("from"), fixed=cell.get("before"))
    if isinstance(cell, list | tuple):
        return any(accepts(item, value) for item in cell)
    return same(value, cell) or as_text(value) == as_text(cell)


def cell_text(cell: Any) -> str:
    """Write a cell the way a sentence or a requirement wants it: `>=3.10,<3.15`."""
    if isinstance(cell, dict):
        low, high = cell.get("from"), cell.get("before")
        return ",".join(filter(None, (f">={low}" if low else "", f"<{high}" if high else "")))
    return as_text(cell)


def table_facts(name: str, table: Table, facts: Facts) -> FactStream:
    """Yield `compat.<table>.<column>` and its `.wanted` for the selected row.

    Also yield whether the facts are newer than the table.

    Where a column judges, also what is held against the cell, `.seen`, and what selected the row,
    `.by`: a report is read without the tables.
    """
    row, why = selected(table, facts)
    if table.newest is not None:
        yield (
            NewerThanTable.fact(name),
            _beyond(table, table.newest, facts, f"compat/{name}")
            if row is None
            else absent(f"compat/{name}"),
        )
    source = f"compat/{name}" + _read(row, table)
    for column_name, column in table.columns.items():
        if column.key:
            continue
        cell = TableCell(name, column_name)
        if row is None or column_name not in row:
            yield cell.verdict, unknown(why, source) if why else absent(source)
            continue
        yield cell.fact("wanted"), present(cell_text(row[column_name]), source)
        if column.judge:
            yield cell.verdict, _judged(column, row[column_name], facts, source)
            yield cell.fact("seen"), _seen(lookup(column.fact, facts), source)
            yield cell.fact("by"), present(_selectors(table, facts), source)


def _seen(fact: Fact, source: str) -> Fact:
    return (
        present(as_text(fact.value), source)
        if fact.state is State.PRESENT
        else msgspec.structs.replace(fact, source=source)
    )


def _selectors(table: Table, facts: Facts) -> str:
    """Say what selected a row, by its key columns: `torch 2.13.0`."""
    keys = [
        (name, as_text(lookup(column.fact, facts).value))
        for name, column in table.columns.items()
        if column.key
    ]
    return ", ".join(f"{name} {value}" for name, value in keys)


def _read(row: dict[str, Any] | None, table: Table) -> str:
    opened = [
        table.sources[source].opened
        for source in (row or {}).get("source") or ()
        if source in table.sources
    ]
    return f", read on {max(opened).isoformat()}" if opened else ""


def _beyond(table: Table, newest: Newest, facts: Facts, source: str) -> Fact:
    """Say what is newer than a table knows."""
    applies = all_hold(condition_holds(condition, facts) for condition in table.applies)
    if applies.truth is False:
        return absent(source)
    key = newest.of or next(name for name, column in table.columns.items() if column.key)
    fact = facts.get(table.columns[key].fact)
    missing = applies.missing or (
        (table.columns[key].fact,) if fact is None or fact.state is State.UNKNOWN else ()
    )
    if fact is None or missing:
        return unknown(f"not known: {', '.join(missing)}", source)
    here, end = (
        parse(public(as_text(fact.value))) if fact.state is State.PRESENT else None,
        parse(newest.release),
    )
    if here is None or end is None or here <= end:
        return absent(source)
    newer = NewerThanTable(
        of=key, here=as_text(fact.value), ends=newest.release, read=newest.read.isoformat()
    )
    return present(msgspec.to_builtins(newer), source)


def selected(table: Table, facts: Facts) -> tuple[dict[str, Any] | None, str]:
    """Return the row that the facts select, or why none can be."""
    applies = all_hold(condition_holds(condition, facts) for condition in table.applies)
    if not applies.truth:
        return None, "" if applies.truth is False else f"not known: {', '.join(applies.missing)}"
    keys = {name: facts.get(column.fact) for name, column in table.columns.items() if column.key}
    unseen = [
        table.columns[name].fact
        for name, fact in keys.items()
        if fact is None or fact.state is State.UNKNOWN
    ]
    if unseen:
        return None, f"not known: {', '.join(unseen)}"
    for row in table.rows:
        if all(
            fact is not None and _key_accepts(row.get(name), fact) for name, fact in keys.items()
        ):
            return row, ""
    return None, ""


def _key_accepts(cell: Any, fact: Fact) -> bool:
    if fact.state is not State.PRESENT or cell is None:
        return False
    values = fact.value if isinstance(fact.value, list) else [fact.value]
    return any(accepts(cell, value) is True for value in values)


def _judged(column: Column, cell: Any, facts: Facts, source: str) -> Fact:
    fact = facts.get(column.fact)
    if fact is None or fact.state is State.UNKNOWN:
        return unknown(f"not known: {column.fact}", source)
    if fact.state is State.ABSENT:
        return absent(source)
    truth = accepts(cell, fact.value)
    return (
        unknown(f"{as_text(fact.value)} has no order", source)
        if truth is None
        else present("fits" if truth else "violated", source)
    )
