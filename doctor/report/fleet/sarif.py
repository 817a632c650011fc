"""The findings about a fleet as a SARIF 2.1.0 log; the nodes are logical locations."""

from __future__ import annotations

import hashlib
from typing import Any

from doctor.base.text import one_line, shorten
from doctor.fleet import nodesets
from doctor.model.fleet import FleetFinding, FleetReport
from doctor.model.scales import Severity
from doctor.report.structured.encoding import encoded

_SCHEMA = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)
_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "note"}
_MOST_RESULTS, _MOST_LOCATIONS = 5000, 1000


def render(report: FleetReport) -> str:
    """Return the report as a SARIF log of one run."""
    findings = report.findings[:_MOST_RESULTS]
    rules = {one.id: one for one in reversed(findings)}
    numbers = {id_: number for number, id_ in enumerate(rules)}
    driver = {
        "name": "canary-doctor",
        "version": report.doctor_version,
        "rules": [_rule(one) for one in rules.values()],
    }
    run = {
        "tool": {"driver": driver},
        "results": [_result(one, numbers[one.id]) for one in findings],
        "invocations": [
            {
                "executionSuccessful": report.exit_code in (0, 1, 4),
                "exitCode": report.exit_code,
            }
        ],
        "columnKind": "unicodeCodePoints",
    }
    return encoded({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]})


def _rule(one: FleetFinding) -> dict[str, Any]:
    return {
        "id": one.id,
        "shortDescription": {"text": one_line(one.id if _is_many(one) else one.title, 1000)},
        "defaultConfiguration": {"level": _LEVELS[one.severity]},
    }


def _is_many(one: FleetFinding) -> bool:
    return one.id.startswith("fleet/")


def _result(one: FleetFinding, rule: int) -> dict[str, Any]:
    text = f"{one.title}\n{one.size} of the nodes: {nodesets.shorten(one.nodes, 1000)}"
    if one.message:
        text += f"\n{one.message}"
    fingerprint = hashlib.sha256(f"{one.id}\0{one.nodes}".encode("utf-8", "replace")).hexdigest()
    return {
        "ruleId": one.id,
        "ruleIndex": rule,
        "level": _LEVELS[one.severity],
        "message": {"text": shorten(text, 4000)},
        "locations": [
            {
                # Code scanning drops a result without a file.
                "physicalLocation": {
                    "artifactLocation": {"uri": "pyproject.toml", "uriBaseId": "%SRCROOT%"},
                    "region": {"startLine": 1},
                },
                "logicalLocations": [
                    {"name": one_line(name, 253), "kind": "resource"}
                    for name in nodesets.unfold(one.nodes)[:_MOST_LOCATIONS]
                ],
            }
        ],
        "partialFingerprints": {"canaryDoctor/v1": fingerprint},
    }
