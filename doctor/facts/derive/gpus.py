"""The compute capability of a GPU by its name, where a pasted report holds nothing else of it."""

from __future__ import annotations

import re
from collections.abc import Iterable

from doctor.base.patterns import compile_for_fact
from doctor.model.compat import Table


def capabilities(names: Iterable[str], table: Table) -> list[str] | None:
    """Return the capability of each GPU by the column `models`.

    None where one of them is not known for certain.
    """
    found = [_capability(_spaced(str(name)), table) for name in names]
    return None if None in found or not found else [one for one in found if one]


def _spaced(name: str) -> str:
    """Return a name as NVIDIA writes it, with a space before the number: RTX3090 is RTX 3090."""
    return re.sub(r"\b([RG]TX)(?=\d{3,4})", r"\1 ", name)


def _capability(name: str, table: Table) -> str | None:
    rows = [
        row
        for row in table.rows
        if isinstance(row.get("models"), str) and compile_for_fact(row["models"]).search(name)
    ]
    return str(rows[0]["capability"]) if len(rows) == 1 else None
