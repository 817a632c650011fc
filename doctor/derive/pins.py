"""What packages ask of each other, out of tables: a pasted text names versions, and brings no metadata to read them from."""

from __future__ import annotations

from doctor.conditions import all_hold, condition_holds
from doctor.derive.cells import Named, accepts, cell_text, selected
from doctor.model.catalog import Catalog
from doctor.model.compat import Column, Table
from doctor.model.facts import Facts, present, value_of
from doctor.versions import public


def pins(facts: Facts, catalog: Catalog) -> Named:
    """Yield requires.* for the columns that say who asks for what; nothing where any metadata was read."""
    if any(name.startswith("requires.") for name in facts):
        return
    for name, table in catalog.tables.items():
        for column_name, column in table.columns.items():
            if not (column.asks or column.asked_by) or not all_hold(condition_holds(one, facts) for one in column.when).truth:
                continue
            here = value_of(facts, column.fact)
            if here is None:
                continue
            found = _asking(table, column_name, here, facts) if column.asks else _asked(table, column_name, here, facts)
            if found is not None:
                yield from _requirement(column, found, here, facts, f"compat/{name}")


def _asked(table: Table, column: str, here: object, facts: Facts) -> tuple[bool, str] | None:
    """Judge by the row of what asks: vLLM's row names its torch."""
    row, _ = selected(table, facts)
    if row is None or column not in row or (met := accepts(row[column], public(str(here)))) is None:
        return None
    return met, cell_text(row[column])


def _asking(table: Table, name: str, here: object, facts: Facts) -> tuple[bool, str] | None:
    """Judge by the rows in which what asks stands: torchvision 0.20.1 stands in that of torch 2.5.1, and asks for that one."""
    key = next(key for key, one in table.columns.items() if one.key)
    other = value_of(facts, table.columns[key].fact)
    rows = [row for row in table.rows if name in row and accepts(row[name], public(str(here)))]
    known = any(accepts(row[key], other) for row in table.rows)
    if not rows or other is None or not known:
        return None
    return any(accepts(row[key], other) is True for row in rows), " or ".join(cell_text(row[key]) for row in rows)


def _requirement(column: Column, found: tuple[bool, str], here: object, facts: Facts, source: str) -> Named:
    met, wanted = found
    subject = _package(column.fact)
    asker, asked = (subject, column.asks) if column.asks else (column.asked_by, subject)
    pair = f"requires.{asker}.{asked}"
    installed = value_of(facts, f"package.{asked}.version") or here
    yield f"{pair}.met", present(met, source)
    yield f"{pair}.specifier", present(wanted if wanted[:1] in "<>=" else f"=={wanted}", source)
    yield f"{pair}.installed", present(installed, source)


def _package(fact: str) -> str:
    """Name the package whose version a fact gives: `package.torchvision.version`, `torch.release`."""
    return fact.removeprefix("package.").rpartition(".")[0]
