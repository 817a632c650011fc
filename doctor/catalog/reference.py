"""From the folders of reference tables to their rows, read when they are first needed."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any, Final, TypeVar

import msgspec

from doctor.base.bundled import bundled
from doctor.catalog.loading import CatalogError, read_entries, read_through
from doctor.model.reference import (
    CodeTable,
    HeaderTable,
    LibraryTable,
    NameTable,
    SymbolVersionTable,
)

FAMILIES: Final[dict[str, type[Any]]] = {
    "codes": CodeTable,
    "libraries": LibraryTable,
    "headers": HeaderTable,
    "cpp-names": NameTable,
    "c-library": SymbolVersionTable,
}
"""The folders of reference tables below `matrices`, and what their files hold."""

_T = TypeVar("_T")


def load_tables(family: str, kind: type[_T]) -> dict[str, _T]:
    """Return the tables of a family of `FAMILIES` by name; `kind` is the type of one.

    Raises CatalogError for a file of a checkout that does not fit the schema.
    """
    return {name: table for name, table in _load(family).items() if isinstance(table, kind)}


@cache
def _load(family: str) -> dict[str, Any]:
    folder = bundled("matrices")
    packed, tables = folder / compiled_name(family), _mapping(FAMILIES[family])
    if packed.is_file():
        return dict(msgspec.msgpack.decode(packed.read_bytes(), type=tables))
    beside = folder.parent / f".{compiled_name(family)}"
    return dict(
        read_through(beside, [folder / family], tables, lambda: read_tables(folder, family))
    )


def _mapping(kind: Any) -> Any:
    """Return the type of tables by name, for a type that is known only while doctor runs."""
    return dict[str, kind]


def read_tables(folder: Path, family: str) -> dict[str, Any]:
    """Read the YAML files of a family below a folder such as `matrices`.

    Raises CatalogError with every fault.
    """
    faults: list[str] = []
    tables = dict(read_entries(folder / family, FAMILIES[family], faults))
    if faults:
        raise CatalogError("\n".join(faults))
    return tables


def compiled_name(family: str) -> str:
    """Return the name of the file that holds a family's tables in the wheel."""
    return f"{family}.msgpack"


def compiled_tables(folder: Path) -> dict[str, bytes]:
    """Return what the wheel holds of the reference tables below a folder, by file name."""
    return {
        compiled_name(family): msgspec.msgpack.encode(read_tables(folder, family))
        for family in FAMILIES
    }
