"""Facts that belong together: a requirement, a cell of a table, what compiled files ask for.

A family is a set of facts with one prefix, `requires.torchvision.torch.met`, `….specifier`. Whoever
needs one takes it from here and not out of the names of its facts.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import NamedTuple

import msgspec

from doctor.facts.placeholders import as_text
from doctor.model.facts import Facts, value_of


class Requirement(NamedTuple):
    """That one distribution asks for another, by normalized names: the family `requires.*.*`."""

    package: str
    wanted: str

    def fact(self, member: str) -> str:
        """Return the name of the fact `met`, `specifier`, `installed` or `moved`."""
        return f"requires.{self.package}.{self.wanted}.{member}"

    def text(self, member: str, facts: Facts) -> str:
        """Return the value of such a fact as text; empty where it has none."""
        return as_text(value_of(facts, self.fact(member)) or "")

    def is_unmet(self, facts: Facts) -> bool:
        """Say whether what is installed is known not to meet it."""
        return value_of(facts, self.fact("met")) is False


def requirement_of(name: str) -> tuple[Requirement, str] | None:
    """Return the requirement that a fact belongs to, and which of its facts it is."""
    family, _, rest = name.partition(".")
    pair, _, member = rest.rpartition(".")
    package, _, wanted = pair.partition(".")
    if family != "requires" or not wanted:
        return None
    return Requirement(package, wanted), member


def requirements(facts: Facts, member: str = "met") -> Iterator[Requirement]:
    """Yield each requirement that has such a fact, by name."""
    ending = f".{member}"  # planning asks thousands of times, and most facts are something else
    for name in sorted(
        name for name in facts if name.startswith("requires.") and name.endswith(ending)
    ):
        found = requirement_of(name)
        if found is not None and found[1] == member:
            yield found[0]


class TableCell(msgspec.Struct, frozen=True):
    """What a compatibility table says in one column about this machine: the family `compat.*.*`.

    The fact of the family itself is the verdict, `fits` or `violated`, where the column judges.
    """

    table: str
    column: str

    @property
    def verdict(self) -> str:
        """Return the name of the fact that says how the machine stands to the cell."""
        return f"compat.{self.table}.{self.column}"

    def fact(self, member: str) -> str:
        """Return the name of the fact `wanted`, `seen` or `by`."""
        return f"{self.verdict}.{member}"

    def text(self, member: str, facts: Facts) -> str:
        """Return the value of such a fact as text; empty where it has none."""
        return as_text(value_of(facts, self.fact(member)) or "")

    def is_violated(self, facts: Facts) -> bool:
        """Say whether the machine is known not to fit."""
        return bool(value_of(facts, self.verdict) == "violated")


def table_cell(name: str) -> TableCell | None:
    """Return the cell whose verdict a fact is; None for any other fact."""
    family, *rest = name.split(".")
    if family != "compat" or len(rest) != 2 or rest[1] == "beyond":
        return None
    return TableCell(*rest)


def table_cells(facts: Facts) -> Iterator[TableCell]:
    """Yield each cell that has a verdict, by name."""
    yield from filter(None, map(table_cell, sorted(facts)))


class NewerThanTable(msgspec.Struct, frozen=True, kw_only=True):
    """A release that a table does not cover: what `compat.<table>.beyond` holds.

    `of` is the key, `here` its release on this machine, `ends` the newest release of the table,
    which somebody looked up on the day `read`.
    """

    of: str
    here: str
    ends: str
    read: str

    @staticmethod
    def fact(table: str) -> str:
        """Return the name of the fact of a table."""
        return f"compat.{table}.beyond"


def newer_than_tables(facts: Facts) -> Iterator[tuple[str, NewerThanTable]]:
    """Yield the tables that end before this machine, by name."""
    for name in sorted(facts):
        family, _, table = name.removesuffix(".beyond").partition(".")
        if family != "compat" or name != NewerThanTable.fact(table):
            continue
        value = value_of(facts, name)
        # A saved report may hold anything under this name.
        with suppress(msgspec.ValidationError):
            yield table, msgspec.convert(value, NewerThanTable, strict=False)


class ExtensionFact(NamedTuple):
    """One property of a package's compiled files: the family `extension.*.*`."""

    package: str
    kind: str

    @property
    def name(self) -> str:
        """Return the name of the fact."""
        return f"extension.{self.package}.{self.kind}"


def extension_fact(name: str) -> ExtensionFact | None:
    """Return the package and the property that a fact is about; None for any other fact."""
    family, *rest = name.split(".")
    return ExtensionFact(*rest) if family == "extension" and len(rest) == 2 else None


def extension_facts(facts: Facts) -> Iterator[ExtensionFact]:
    """Yield what is known of compiled files, by name."""
    yield from filter(None, map(extension_fact, sorted(facts)))


def packages_with_extensions(facts: Facts) -> tuple[str, ...]:
    """Return the packages of whose compiled files something is known."""
    parts = filter(None, map(extension_fact, facts))
    return tuple(dict.fromkeys(part.package for part in parts))


def named_packages(facts: Facts) -> dict[str, str]:
    """Return the packages that have a fact `package.*.version`, and their releases.

    A text names some of those that are installed.
    """
    found = ((name, value_of(facts, name)) for name in facts if name.startswith("package."))
    return {
        name.removeprefix("package.").removesuffix(".version"): str(value)
        for name, value in found
        if name.endswith(".version") and value
    }
