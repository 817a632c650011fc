"""Say which systems, compilers and Conda packages have a version of the C and C++ runtimes.

The tables lie in `matrices/c-library`: GLIBC, GLIBCXX and CXXABI.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import NamedTuple

from doctor.catalog.reference import load_tables
from doctor.model.reference import SymbolVersionRow, SymbolVersionTable

_NAME = re.compile(r"(GLIBCXX|GLIBC|CXXABI)_([0-9]{1,3}(?:\.[0-9]{1,3}){1,2})")
_TAG = re.compile(r"(?:manylinux_)([0-9]{1,3})_([0-9]{1,3})(?:_[a-z0-9_]{1,20})?")
_OLD_TAGS = {"manylinux1": "2.5", "manylinux2010": "2.12", "manylinux2014": "2.17"}


class SymbolVersion(NamedTuple):
    """One version: its name, the library that has it, and its row.

    `row` is the oldest row that is at least as new as the version.
    """

    name: str
    library: str
    row: SymbolVersionRow


def symbol_version(name: str) -> SymbolVersion | None:
    """Return what is known of GLIBC_2.34, GLIBCXX_3.4.29, CXXABI_1.3.13 or a manylinux tag.

    None for another name, and for a version that is newer than the table.
    """
    text = name.strip()[:200]
    match = _NAME.search(text)
    prefix, version = (match[1], match[2]) if match else ("GLIBC", _of_tag(text))
    if not version:
        return None
    wanted = _parts(version)
    table = _tables()[prefix]
    row = next((row for row in table.rows if _parts(row.version) >= wanted), None)
    return SymbolVersion(f"{prefix}_{version}", table.library, row) if row else None


def _of_tag(text: str) -> str:
    if match := _TAG.search(text):
        return f"{match[1]}.{match[2]}"
    return next((version for tag, version in _OLD_TAGS.items() if tag in text), "")


def _parts(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))


@cache
def _tables() -> Mapping[str, SymbolVersionTable]:
    tables = load_tables("c-library", SymbolVersionTable).values()
    return {table.prefix: table for table in tables}
