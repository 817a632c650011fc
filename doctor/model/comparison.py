"""What changed between two reports."""

from __future__ import annotations

from typing import Any

import msgspec

from doctor.model.document import FindingDocument
from doctor.model.facts import Facts
from doctor.model.scales import Severity


class Side(msgspec.Struct, frozen=True, kw_only=True):
    """One of two reports: where it was read, when it was taken, and what judged it."""

    name: str
    taken: str = ""
    doctor_version: str = ""
    catalog: str = ""


class Judged(msgspec.Struct, frozen=True, kw_only=True):
    """A side with all that is compared."""

    side: Side
    facts: Facts
    findings: tuple[FindingDocument, ...]


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """A fact that is another one now; None is absent."""

    group: str
    fact: str
    before: Any
    after: Any


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """What changed, what matters most first.

    The findings that came (worse ones included) and those that went.
    """

    schema_version: int = 1
    before: Side
    after: Side
    changes: tuple[Change, ...] = ()
    came: tuple[FindingDocument, ...] = ()
    worse: dict[str, Severity] = msgspec.field(default_factory=dict)
    went: tuple[FindingDocument, ...] = ()
    exit_code: int = 0
