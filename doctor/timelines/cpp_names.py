"""Say since and until which release a name of C++ or CUDA exists, and what replaces it.

The tables lie in `matrices/cpp-names`. Each row names the header that proves it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache

from doctor.catalog.reference import load_tables
from doctor.model.reference import NameRow, NameTable

_LONGEST = 300
_SPACE = re.compile(r"\s{1,20}")


def gone_name(name: str) -> NameRow | None:
    """Return the row of a name that some releases do not have; None for any other name.

    Scopes, arguments of templates and parentheses may be left out or given: `at::AT_CHECK`,
    `cub::Max`, `data<scalar_t>()`.
    """
    rows = _rows()
    plain = _SPACE.sub("", name.strip().strip("'\"`‘’;,")[:_LONGEST])
    for candidate in (plain, _without_arguments(plain)):
        if row := rows.get(candidate):
            return row
    last = _without_arguments(plain).rpartition("::")[2]
    row = rows.get(last)
    return row if row and "::" not in row.name else None


def _without_arguments(name: str) -> str:
    return name.partition("(")[0].partition("<")[0]


@cache
def _rows() -> Mapping[str, NameRow]:
    found: dict[str, NameRow] = {}
    for table in load_tables("cpp-names", NameTable).values():
        for row in table.rows:
            for name in (row.name, *row.also):
                found.setdefault(_SPACE.sub("", name), row)
                found.setdefault(_without_arguments(_SPACE.sub("", name)), row)
    return found
