"""Reads reports the way those do who take them.

Schemas where there are any, else what a runner's parser does.
"""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import xmlschema

from doctor.model.report import Report
from doctor.report.structured import github, gitlab, junit, sarif

_SCHEMAS = Path(__file__).with_name("schemas")
_COMMAND = re.compile(r"^::(?P<name>\w+)(?: (?P<properties>[^:]*))?::(?P<data>.*)$")
_ESCAPES = {"%25": "%", "%0D": "\r", "%0A": "\n", "%3A": ":", "%2C": ","}


@cache
def _sarif_schema() -> jsonschema.Draft7Validator:
    schema = json.loads((_SCHEMAS / "sarif-2.1.0.json").read_text(encoding="utf-8"))
    return jsonschema.Draft7Validator(schema, format_checker=jsonschema.FormatChecker())


@cache
def _junit_schema() -> xmlschema.XMLSchema:
    return xmlschema.XMLSchema(str(_SCHEMAS / "junit-10.xsd"))


def sarif_run(report: Report) -> dict[str, Any]:
    """Return the one run of a log that fits the schema."""
    log = json.loads(sarif.render(report))
    _sarif_schema().validate(log)
    (run,) = log["runs"]
    return dict(run)


def junit_suites(report: Report) -> dict[str, ET.Element]:
    """Return the suites of a document that fits the schema, by name."""
    text = junit.render(report)
    _junit_schema().validate(text)
    return {suite.attrib["name"]: suite for suite in ET.fromstring(text.encode())}


def violations(report: Report) -> list[dict[str, Any]]:
    """Return the entries of a code quality report, each with what GitLab's parser asks for."""
    found = json.loads(gitlab.render(report))
    for one in found:
        assert all(
            isinstance(one[name], str) and one[name]
            for name in ("description", "check_name", "fingerprint")
        )
        assert one["severity"] in ("info", "minor", "major", "critical", "blocker")
        assert isinstance(one["location"]["lines"]["begin"], int)
        assert one["location"]["path"]
    return list(found)


def commands(report: Report) -> list[tuple[str, dict[str, str], str]]:
    """Return name, properties and message of each command, as the runner decodes it.

    Other lines are only shown.
    """
    found = []
    for line in github.render(report).split("\n"):
        if line.lstrip().startswith("::"):
            match = _COMMAND.match(line)
            assert match, line
            properties = dict(pair.split("=", 1) for pair in (match["properties"] or "").split(","))
            found.append(
                (
                    match["name"],
                    {name: _decoded(value) for name, value in properties.items()},
                    _decoded(match["data"]),
                )
            )
    return found


def _decoded(text: str) -> str:
    return re.sub("%(?:25|0D|0A|3A|2C)", lambda escape: _ESCAPES[escape[0]], text)
