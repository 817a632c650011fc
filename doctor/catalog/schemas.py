"""The JSON Schemas of what doctor writes and of what authors write for it."""

from __future__ import annotations

from typing import Final

import msgspec

from doctor.model.comparison import Comparison
from doctor.model.compat import Table
from doctor.model.document import ReportDocument
from doctor.model.fleet import FleetReport
from doctor.model.issues import KnownIssue
from doctor.model.observation import Observation
from doctor.model.reference import (
    CodeTable,
    HeaderTable,
    LibraryTable,
    NameTable,
    SymbolVersionTable,
)
from doctor.model.requested import RequestedDocument

KINDS: Final = {
    "report": ReportDocument,
    "comparison": Comparison,
    "plan": RequestedDocument,
    "fleet": FleetReport,
    "observation": Observation,
    "issue": KnownIssue,
    "table": Table,
    "codes": CodeTable,
    "libraries": LibraryTable,
    "headers": HeaderTable,
    "cpp-names": NameTable,
    "c-library": SymbolVersionTable,
}
"""What there is a schema of."""

_DIALECT = "https://json-schema.org/draft/2020-12/schema"


def schema(name: str) -> str:
    """Return a JSON Schema as indented JSON, ending in a line feed; `name` is one of `KINDS`."""
    document = {"$schema": _DIALECT, **msgspec.json.schema(KINDS[name])}
    return msgspec.json.format(msgspec.json.encode(document), indent=2).decode() + "\n"
