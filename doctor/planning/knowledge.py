"""What the compatibility tables say of releases: which exist, and what each goes with.

Everything is expressed in releases of packages. A cell that speaks of torch's CUDA is turned into
the releases of torch whose wheels on PyPI are built with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property, lru_cache
from typing import Any

from packaging.version import Version

from doctor.base.requirements import InvalidRequirement, meets
from doctor.base.versions import major, minor, parse
from doctor.facts.derive.cells import accepts, cell_text
from doctor.model.catalog import Catalog
from doctor.model.compat import Table
from doctor.model.facts import Facts, State, value_of

_OF_TORCH = ("torch.release", "torch.version", "package.torch.version")
_VALUES_OF_TORCH: Mapping[str, Callable[[Mapping[str, Any]], Any]] = {
    "torch.minor": lambda row: minor(str(row["torch"])),
    "torch.cuda_version": lambda row: row.get("cuda"),
    "torch.cuda_major": lambda row: str(major(str(row["cuda"]))) if "cuda" in row else None,
}
_OF_MACHINE = ("python.version", "host.glibc", "nvidia.driver_version")


def package_of(fact: str) -> str | None:
    """Return the package whose version a fact gives."""
    if fact in _OF_TORCH:
        return "torch"
    if fact == "triton.version":
        return "triton"
    kind, _, rest = fact.partition(".")
    return rest.removesuffix(".version") if kind == "package" and "." in rest else None


def specifiers(cell: Any) -> tuple[str, ...]:
    """Return what a cell accepts as alternative specifiers."""
    if isinstance(cell, list | tuple):
        return tuple(one for item in cell for one in specifiers(item))
    return (cell_text(cell),) if isinstance(cell, dict) else (f"=={cell_text(cell)}",)


@lru_cache(maxsize=16384)
def fits_any(version: str, alternatives: tuple[str, ...]) -> bool:
    """Say whether a version meets one of several specifiers; none means any version."""
    try:
        return not alternatives or any(meets(version, one) for one in alternatives)
    except InvalidRequirement:
        return False


class Knowledge:
    """The tables of a catalog on one machine, by package."""

    def __init__(self, catalog: Catalog, facts: Facts) -> None:
        self._facts = facts
        self._tables: dict[str, list[tuple[str, Table]]] = {}
        for table in catalog.tables.values():
            keys = [(key, column) for key, column in table.columns.items() if column.key]
            package = package_of(keys[0][1].fact) if len(keys) == 1 else None
            if package is not None:
                self._tables.setdefault(package, []).append((keys[0][0], table))
        self._torch = catalog.tables.get("torch")
        self._releases: dict[str, tuple[str, ...]] = {}
        self._torches: dict[tuple[str, str], tuple[str, ...] | None] = {}

    @cached_property
    def torch_rows(self) -> Mapping[str, Mapping[str, Any]]:
        """Return the row of each release of torch with a wheel for this Python, newest first."""
        rows = self._torch.rows if self._torch else ()
        return {str(row["torch"]): row for row in rows if self._serves(self._torch, row)}

    def releases(self, package: str) -> tuple[str, ...]:
        """Return the releases of a package that tables name, newest first."""
        if package not in self._releases:
            self._releases[package] = self._named(package)
        return self._releases[package]

    def _named(self, package: str) -> tuple[str, ...]:
        found: dict[str, None] = {}
        for key, table in self._tables.get(package, ()):
            for row in table.rows:
                if self._serves(table, row):
                    found |= dict.fromkeys(_versions(row.get(key)))
            if table.newest is not None and any(
                accepts(row.get(key), table.newest.release) is True for row in table.rows
            ):
                found[table.newest.release] = None
        if package in self._columns_of_torch:
            column = self._columns_of_torch[package]
            for pair in self.torch_rows.values():
                found |= dict.fromkeys(_versions(pair.get(column)))
        known = [one for one in found if parse(one) is not None]
        return tuple(sorted(known, key=_order, reverse=True))

    def torches(self, package: str, version: str) -> tuple[str, ...] | None:
        """Return the releases of torch that a release goes with; None where no table knows."""
        if package == "triton":
            return None  # torch pins its triton, and says so itself
        if (package, version) not in self._torches:
            self._torches[package, version] = self._served(package, version)
        return self._torches[package, version]

    def _served(self, package: str, version: str) -> tuple[str, ...] | None:
        answers = [
            found
            for found in (self._by_own_table(package, version), self._by_torch(package, version))
            if found is not None
        ]
        if not answers:
            return None
        both = tuple(one for one in answers[0] if all(one in other for other in answers))
        return both or answers[-1]

    def asks(self, package: str, version: str) -> Iterator[tuple[str, tuple[str, ...]]]:
        """Yield which other packages a release goes with, each with alternative specifiers."""
        for key, table in self._tables.get(package, ()):
            row = _row(table, key, version)
            for name, column in table.columns.items():
                other = None if column.key or row is None else package_of(column.fact)
                if other in (None, "torch", package) or row is None or name not in row:
                    continue
                if package != "torch" and other is not None:
                    yield other, specifiers(row[name])

    @cached_property
    def _columns_of_torch(self) -> Mapping[str, str]:
        table = self._torch
        named = ("torchvision", "torchaudio", "torchcodec")
        return {name: name for name in named if table is not None and name in table.columns}

    def _by_torch(self, package: str, version: str) -> tuple[str, ...] | None:
        column = self._columns_of_torch.get(package)
        if column is None:
            return None
        found = tuple(
            release
            for release, row in self.torch_rows.items()
            if accepts(row.get(column), version) is True
        )
        return found or None

    def _by_own_table(self, package: str, version: str) -> tuple[str, ...] | None:
        answers = [
            found
            for key, table in self._tables.get(package, ())
            if (row := _row(table, key, version)) is not None
            and (found := self._accepted(table, row)) is not None
        ]
        return answers[0] if answers else None

    def _accepted(self, table: Table, row: Mapping[str, Any]) -> tuple[str, ...] | None:
        named = [
            (column, row[name])
            for name, column in table.columns.items()
            if name in row
            and (column.fact in _OF_TORCH or column.fact in _VALUES_OF_TORCH)
            and all(parse(one) is not None for one in _versions(row[name]))
        ]
        # Where a column about CUDA judges, those that only inform would ask for more than is true.
        strict = any(column.judge and column.fact in _VALUES_OF_TORCH for column, _ in named)
        cells = [
            (column.fact, cell)
            for column, cell in named
            if column.judge or column.fact in _OF_TORCH or not strict
        ]
        if not any(fact in _OF_TORCH or fact == "torch.minor" for fact, _ in cells):
            return None
        return tuple(
            release
            for release, torch in self.torch_rows.items()
            if all(
                accepts(cell, release if fact in _OF_TORCH else _VALUES_OF_TORCH[fact](torch))
                is not False
                for fact, cell in cells
            )
        )

    def _serves(self, table: Table | None, row: Mapping[str, Any]) -> bool:
        """Say whether a row is for this Python, system and driver, as far as they are known."""
        for name, column in (table.columns if table else {}).items():
            fact = self._facts.get(column.fact)
            if column.fact in _OF_MACHINE and name in row and fact is not None:
                known = fact.state is State.PRESENT
                if known and accepts(row[name], value_of(self._facts, column.fact)) is False:
                    return False
        return True


def _order(version: str) -> Version:
    return parse(version) or Version("0")


def _row(table: Table, key: str, version: str) -> Mapping[str, Any] | None:
    return next((row for row in table.rows if accepts(row.get(key), version) is True), None)


def _versions(cell: Any) -> tuple[str, ...]:
    """Return the releases that a cell names; a range names its beginning."""
    if isinstance(cell, dict):
        return (str(cell["from"]),) if "from" in cell else ()
    if isinstance(cell, list | tuple):
        return tuple(one for item in cell for one in _versions(item))
    return () if cell is None else (str(cell),)
