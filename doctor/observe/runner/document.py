"""The file that a check script leaves behind, and how it is read (see checks/README.md)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from doctor.host import read_regular
from doctor.model.outcomes import Case

_LIMIT = 4 << 20


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """One entry of `results` in the file that a check script writes."""

    verdict: str
    device: str | None = None
    reason: str = ""
    seconds: float = 0.0
    cases: dict[str, Case] = msgspec.field(default_factory=dict)
    data: dict[str, Any] = msgspec.field(default_factory=dict)


class Doing(msgspec.Struct, frozen=True, kw_only=True):
    """What the script was about when it last wrote its file."""

    device: str | None = None
    case: str = ""
    act: bool = False


class Document(msgspec.Struct, frozen=True, kw_only=True):
    """The file that a check script writes (see checks/README.md)."""

    contract: int
    facts: dict[str, Any] = msgspec.field(default_factory=dict)
    results: tuple[Record, ...] = ()
    doing: Doing | None = None


class NoDocument(msgspec.Struct, frozen=True):
    """Why a check script left no document.

    `overwritten` is true if the file holds what no script of doctor writes: the scripts replace the
    file as a whole by a valid document, so something else in the process wrote it.
    """

    reason: str
    overwritten: bool = False


def read(result: Path) -> Document | NoDocument:
    """Return the document that a script left, or why there is none.

    Does not wait, whatever lies in the place of the file.
    """
    data = read_regular(result, _LIMIT + 1)
    if data is None:
        return NoDocument("the script ended without writing its result")
    if len(data) > _LIMIT:
        return NoDocument(f"the script's result is larger than {_LIMIT} bytes")
    try:
        return msgspec.json.decode(data, type=Document)
    except (ValueError, RecursionError) as error:  # a byte that is no UTF-8 is no DecodeError
        return NoDocument(f"the script's result cannot be read: {error}", overwritten=True)
