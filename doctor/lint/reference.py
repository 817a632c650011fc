"""Rules for reference tables: codes, libraries, headers, names of C++, the C library."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from doctor.base.versions import parse
from doctor.model.reference import (
    CodeTable,
    HeaderRow,
    HeaderTable,
    LibraryRow,
    LibraryTable,
    NameTable,
    Packages,
    SymbolVersionTable,
)

_LONGEST = 400
_SENTENCE = re.compile(r"[^\s].*[.?:)]", re.DOTALL)
_PACKAGE = re.compile(r"[a-z0-9][a-z0-9._+@-]*(?:\[[a-z0-9,_-]+\])?", re.IGNORECASE)


def lint_reference(table: Any) -> Iterator[str]:
    """Yield the faults of one reference table, as `place: sentence`."""
    if not table.sources:
        yield "sources: say where the rows were read"
    if not table.rows:
        yield "rows: there is none"
    match table:
        case CodeTable():
            yield from _lint_codes(table)
        case LibraryTable() | HeaderTable():
            yield from _lint_files(table)
        case NameTable():
            yield from _lint_names(table)
        case SymbolVersionTable():
            yield from _lint_versions(table)
        case _:
            yield "rows: of no known kind"


def _lint_codes(table: CodeTable) -> Iterator[str]:
    numbers = [number for row in table.rows for number in (row.number, *row.numbers)]
    yield from _repeated("rows", numbers)
    yield from _repeated("rows", [row.name for row in table.rows])
    for at, row in enumerate(table.rows):
        yield from _lint_sentences(f"rows[{at}]", row.means, row.check)
        if bool(row.means) != bool(row.check) or bool(row.means) != bool(row.fault):
            yield f"rows[{at}]: means, check and fault go together"
    wrong = [word for word in table.context if word != word.lower()]
    yield from (f"context: {word} has capitals" for word in wrong)


def _lint_files(table: LibraryTable | HeaderTable) -> Iterator[str]:
    rows: Sequence[LibraryRow | HeaderRow] = table.rows
    yield from _repeated("rows", [name for row in rows for name in row.names])
    for at, row in enumerate(rows):
        yield from _lint_sentences(f"rows[{at}]", row.means, row.check)
        yield from (f"rows[{at}].packages.{fault}" for fault in _lint_packages(row.packages))
        if not row.names:
            yield f"rows[{at}].names: there is none"
        if row.packages == Packages() and not row.means:
            yield f"rows[{at}]: say which package brings it, or what its absence means"


def _lint_packages(packages: Packages) -> Iterator[str]:
    for manager in ("pip", "conda", "apt", "dnf", "brew"):
        names: Sequence[str] = getattr(packages, manager)
        yield from (
            f"{manager}: {name} is no name of a package"
            for name in names
            if not _PACKAGE.fullmatch(name)
        )


def _lint_names(table: NameTable) -> Iterator[str]:
    yield from _repeated("rows", [name for row in table.rows for name in (row.name, *row.also)])
    for at, row in enumerate(table.rows):
        if not row.since and not row.until:
            yield f"rows[{at}]: a name that was always there and still is needs no row"
        yield from (
            f"rows[{at}]: {version} is no version"
            for version in (row.since, row.until)
            if version and parse(version) is None
        )
        if not row.headers or not row.proofs:
            yield f"rows[{at}]: headers and proofs say how the releases were found"


def _lint_versions(table: SymbolVersionTable) -> Iterator[str]:
    yield from _repeated("rows", [row.version for row in table.rows])
    parsed = [tuple(int(part) for part in row.version.split(".")) for row in table.rows]
    if parsed != sorted(parsed):
        yield "rows: the oldest version comes first"


def _lint_sentences(place: str, *texts: str) -> Iterator[str]:
    for text in texts:
        if text and not _SENTENCE.fullmatch(text):
            yield f"{place}: ends without a full stop: {text!r}"
        if len(text) > _LONGEST:
            yield f"{place}: longer than {_LONGEST} characters: {text[:40]!r}"


def _repeated(place: str, values: Iterable[object]) -> Iterator[str]:
    counts = Counter(values)
    yield from (f"{place}: {value} stands in two rows" for value, n in counts.items() if n > 1)
