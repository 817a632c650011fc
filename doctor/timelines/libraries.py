"""Say which library a soname, a DLL or a dylib is, and which packages bring it.

The tables lie in `matrices/libraries`. They are read when a library is first looked up.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from functools import cache
from typing import NamedTuple

from doctor.catalog.reference import load_tables
from doctor.model.reference import LibraryRow, LibraryTable, Packages

_LONGEST = 255
_VERSION = re.compile(r"\.[0-9]+$")
_REPAIRED = re.compile(r"-[0-9a-f]{8}(?=\.(?:so|dylib|dll|[0-9]))")
"""What auditwheel and its like add to the name of a library that they copy into a wheel."""
_SYSTEM_NAMES = (".so", ".dll", ".dylib", ".pyd")


class Library(NamedTuple):
    """One library: the name that was asked for, the name in the table, and its row.

    `exact` is false if only another version of the library is in the table.
    """

    asked: str
    name: str
    row: LibraryRow
    exact: bool

    @property
    def what(self) -> str:
        """Return what the library is."""
        return self.row.what

    @property
    def generation(self) -> str:
        """Return the release that the name means; empty where it tells none."""
        return self.row.generation if self.exact else ""

    @property
    def packages(self) -> Packages:
        """Return the packages that bring it; none for a version that the table does not have."""
        return self.row.packages if self.exact else Packages()


def library(name: str) -> Library | None:
    """Return the library of a soname, a DLL or a dylib, with or without a path; None if unknown.

    A longer version counts as the shorter one that the table has: `libcudart.so.11.0.221` is
    `libcudart.so.11.0`. A version that the table does not have gives the library of another
    version, with `exact` false.
    """
    asked = name.strip()[: _LONGEST * 16].replace("\\", "/").rpartition("/")[2][:_LONGEST]
    plain = _REPAIRED.sub("", asked.strip("'\"`():,"))
    lower = plain.lower()
    if not any(mark in lower for mark in _SYSTEM_NAMES):
        return None
    names, patterns, stems = _index()
    for candidate in _shorter(lower):
        if row := names.get(candidate):
            return Library(plain, candidate, row, exact=True)
    for pattern, row in patterns:
        if fnmatchcase(lower, pattern):
            return Library(plain, pattern, row, exact=True)
    stem = _stem(lower)
    return Library(plain, stem, stems[stem], exact=False) if stem in stems else None


def _shorter(name: str) -> Iterator[str]:
    """Yield a name, and then the name without the last part of its version, and so on."""
    yield name
    while (match := _VERSION.search(name)) is not None:
        name = name[: match.start()]
        if name.endswith(".so"):  # another version is another library
            return
        yield name


def _stem(name: str) -> str:
    """Return a name without version: `libcudart.so`, `cudart64`, `libomp.dylib`."""
    head, mark, _ = name.partition(".so")
    if mark:
        return head + mark
    head, mark, _ = name.partition(".dylib")
    if mark:
        return re.sub(r"(?:\.[0-9]{1,4}){1,4}$", "", head) + mark
    return re.sub(r"(?:[-_]?[0-9]{1,4}){1,4}$", "", name.removesuffix(".dll"))


_Index = tuple[
    Mapping[str, LibraryRow], tuple[tuple[str, LibraryRow], ...], Mapping[str, LibraryRow]
]


@cache
def _index() -> _Index:
    names: dict[str, LibraryRow] = {}
    patterns: list[tuple[str, LibraryRow]] = []
    stems: dict[str, LibraryRow] = {}
    for table in load_tables("libraries", LibraryTable).values():
        for row in table.rows:
            for name in (each.lower() for each in row.names):
                if "*" in name:
                    patterns.append((name, row))
                else:
                    names.setdefault(name, row)
                    stems.setdefault(_stem(name), row)
    return names, tuple(patterns), stems
