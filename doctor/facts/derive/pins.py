"""What packages ask of each other, out of tables.

A pasted text names versions, and brings no metadata to read them from.
"""

from __future__ import annotations

from doctor.base.versions import public
from doctor.facts.conditions import all_hold, condition_holds
from doctor.facts.derive.cells import accepts, cell_text, selected
from doctor.facts.families import Requirement, requirement_of
from doctor.model.catalog import Catalog
from doctor.model.facts import Facts, FactStream, present, value_of


def pins(facts: Facts, catalog: Catalog) -> FactStream:
    """Yield requires.* for the columns that say what a package asks for.

    Nothing where any metadata was read.
    """
    if any(requirement_of(name) for name in facts):
        return
    for name, table in catalog.tables.items():
        for column_name, column in table.columns.items():
            here = value_of(facts, column.fact) if column.asked_by else None
            if (
                here is None
                or not all_hold(condition_holds(one, facts) for one in column.when).truth
            ):
                continue
            row, _ = selected(table, facts)
            if (
                row is None
                or column_name not in row
                or (met := accepts(row[column_name], public(str(here)))) is None
            ):
                continue
            asked, wanted = _package(column.fact), cell_text(row[column_name])
            pair, source = Requirement(column.asked_by, asked), f"compat/{name}"
            yield pair.fact("met"), present(met, source)
            yield (
                pair.fact("specifier"),
                present(wanted if wanted[:1] in "<>=" else f"=={wanted}", source),
            )
            yield (
                pair.fact("installed"),
                present(value_of(facts, f"package.{asked}.version") or here, source),
            )


def _package(fact: str) -> str:
    """Name the package whose version a fact gives.

    `package.torchvision.version`, `torch.release`.
    """
    return fact.removeprefix("package.").rpartition(".")[0]
