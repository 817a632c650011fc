"""Compatibility tables: which releases go together, each row with its source and date."""

from __future__ import annotations

from datetime import date
from enum import Enum
from typing import Any

from doctor.model.issues import CatalogEntry, Condition, Recipe
from doctor.model.scales import Severity


class Origin(str, Enum):
    """What kind of source a row was read from."""

    BINARY = "binary"
    METADATA = "metadata"
    SOURCE = "source"
    ISSUE = "issue"
    DOCUMENTATION = "documentation"
    COPY = "copy"
    UNVERIFIED = "unverified"


class Source(CatalogEntry, frozen=True, kw_only=True):
    """Where rows were read, and on which day."""

    what: str
    opened: date
    evidence: Origin
    url: str = ""


class Column(CatalogEntry, frozen=True, kw_only=True):
    """What a column of cells is held against.

    `fact` is the fact that a cell judges (or, for a key, selects the row by); without `judge` a
    column only informs. `says` is the sentence of the finding, with `{seen}` and `{wanted}`;
    `fixes` is what to do then, in order of preference. A column can stand in for metadata, which a
    pasted text does not bring: what its cells name is `asked_by` that package, `when` these
    conditions hold.
    """

    fact: str
    key: bool = False
    judge: bool = False
    severity: Severity = Severity.WARNING
    says: str = ""
    asked_by: str = ""
    when: tuple[Condition, ...] = ()
    fixes: tuple[Recipe, ...] = ()


class Newest(CatalogEntry, frozen=True, kw_only=True):
    """Where the rows end: the newest `release` that they speak of, looked up on `read`.

    `of` names the key, the first where left out.
    """

    release: str
    read: date
    of: str = ""


class Table(CatalogEntry, frozen=True, kw_only=True):
    """One table. A row maps column names to cells.

    A value, a list of alternatives, or a half-open range `{from, before}`.

    A row is selected when each of its key cells accepts its fact; the first such row counts.
    `applies` must hold for the table to judge at all. A row's `source` names entries of `sources`.
    A key later than `newest`, which no row accepts, is beyond the table.
    """

    title: str
    columns: dict[str, Column]
    sources: dict[str, Source]
    rows: tuple[dict[str, Any], ...]
    applies: tuple[Condition, ...] = ()
    product: str = ""
    newest: Newest | None = None
