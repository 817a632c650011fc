"""The answer of `doctor plan` as JSON."""

from __future__ import annotations

import msgspec

from doctor import __version__
from doctor.model.requested import Requested, RequestedDocument, ToolDocument
from doctor.report.structured.json_document import plan_document

SCHEMA_VERSION = 1


def render(found: Requested) -> str:
    """Return the document, indented."""
    document = RequestedDocument(
        schema_version=SCHEMA_VERSION,
        doctor=ToolDocument(name="canary-doctor", version=__version__),
        exit_code=found.exit_code,
        requests=found.requests,
        machine=found.machine,
        plan=plan_document(found.plan) if found.plan else None,
        conflict=found.conflict,
        ways_out=tuple(map(plan_document, found.ways_out)),
        fault=found.fault,
        packages=found.packages,
    )
    return msgspec.json.format(msgspec.json.encode(document), indent=2).decode()
