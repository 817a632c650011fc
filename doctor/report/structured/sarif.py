"""The findings as a SARIF 2.1.0 log, as code scanning takes it.

No `automationDetails`: where a run has them, GitHub's uploader no longer takes the category that a
workflow gives, nor makes one of the workflow, the job and its matrix. `fixes` replace the
version in the line that pins the culprit, where that line alone decides.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any
from urllib.parse import quote

from doctor.base.text import one_line, shorten
from doctor.model.facts import value_of
from doctor.model.findings import Finding, Suppression
from doctor.model.outcomes import Verdict
from doctor.model.report import Report
from doctor.model.scales import Severity
from doctor.planning.line_edits import LineEdit, line_edits
from doctor.report.markdown.blocks import blocks
from doctor.report.structured.encoding import encoded
from doctor.report.structured.fingerprints import anchor, fingerprints, is_inside
from doctor.report.structured.text import body, evidence_lines
from doctor.report.view.assumptions import as_if
from doctor.report.view.detail import HELP
from doctor.report.view.findings import finding

_SCHEMA = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)
_ROOT = "%SRCROOT%"
_MOST_RESULTS, _MOST_BYTES = 5000, 9_500_000
"""What code scanning shows of a run; it takes 10 MB."""
_MOST_NOTICES = 100
_LONGEST, _LONGEST_NAME, _LONGEST_HELP = 4000, 1000, 12_000
_IN_HELP = HELP._replace(fixes=1)
_ADDRESS = re.compile(
    r"https://[\w.~:/?%@!$&'()*+,;=-]{1,900}(?:#[\w.~:/?%@!$&'()*+,;=-]{0,100})?", re.ASCII
)
_WORDS = re.compile(r"[A-Za-z0-9]+")
_ABOUT_DOCTOR = ("check/", "probe/")
"""Findings about doctor itself are notifications of the tool, not results about the project."""
_PROBLEM = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "recommendation"}
_ENDS = {
    0: "nothing at or above the limit was found",
    1: "a finding at or above the limit",
    3: "doctor could not do its job",
    4: "there was nothing to judge",
    130: "interrupted",
}


def render(report: Report) -> str:
    """Return the report as a SARIF log of one run."""
    findings = [found for found in report.findings if not found.id.startswith(_ABOUT_DOCTOR)]
    rules, results = _fitting(findings, report)
    driver = {
        "name": "canary-doctor",
        "fullName": f"canary-doctor {report.doctor_version}",
        "version": report.doctor_version,
        "rules": list(rules.values()),
        "properties": {
            "catalog": report.catalog.digest,
            "issues": report.catalog.issues,
            "newestSource": report.catalog.newest_source,
        },
    }
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {
            _ROOT: {"description": {"text": "The root of the repository, or the project's folder."}}
        },
        "invocations": [_invocation(report, left=len(findings) - len(results))],
        "results": results,
    }
    return encoded({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]})


def _fitting(
    findings: Sequence[Finding], report: Report
) -> tuple[dict[str, dict[str, Any]], list[dict[str, Any]]]:
    """Return the rules by their id, and the results that fit, the most important first."""
    windows = value_of(report.observation.facts, "host.os") == "windows"
    rules: dict[str, dict[str, Any]] = {}
    results: list[dict[str, Any]] = []
    size = 0
    for found, mark in zip(
        findings[:_MOST_RESULTS], fingerprints(findings[:_MOST_RESULTS]), strict=True
    ):
        new = {} if found.id in rules else {found.id: _rule(found, windows=windows)}
        index = list(rules).index(found.id) if not new else len(rules)
        result = _result(found, mark, index, report, windows=windows)
        size += (
            len(encoded([*new.values(), result]).encode()) * 5 // 4
        )  # deeper in the log there is more indent
        if size > _MOST_BYTES:
            break
        rules |= new
        results.append(result)
    return rules, results


def _rule(found: Finding, *, windows: bool) -> dict[str, Any]:
    message = one_line(found.message, _LONGEST_NAME)
    rule: dict[str, Any] = {
        "id": one_line(found.id, 250),
        "name": "".join(word[:1].upper() + word[1:] for word in _WORDS.findall(found.id))[:250]
        or "Finding",
        "shortDescription": {"text": one_line(found.title, _LONGEST_NAME)},
        "fullDescription": {"text": message},
        "help": {
            "text": shorten(body(found, windows=windows, detail=_IN_HELP), _LONGEST_HELP),
            "markdown": _help(found, windows=windows),
        },
        "defaultConfiguration": {"level": found.severity.value},
        "properties": {
            "tags": [one_line(found.id, 250).partition("/")[0], "gpu-stack"],
            "precision": found.confidence.value,
            "problem.severity": _PROBLEM[found.severity],
        },
    }
    link = next((one for one in found.references if _ADDRESS.fullmatch(one)), None)
    return {**rule, **({"helpUri": link} if link else {})}


def _help(found: Finding, *, windows: bool) -> str:
    """Return the whole finding as Markdown, cut between its parts where it is too long."""
    parts = [*blocks(finding(found, HELP, windows=windows).blocks)]
    if found.id.isascii() and "`" not in found.id:
        parts.append(f"To leave it out: `doctor check --skip {found.id}`.")
    while len(text := "\n\n".join(parts)) > _LONGEST_HELP and len(parts) > 1:
        parts.pop()
    return text


def _message(found: Finding, *, windows: bool) -> str:
    text = body(found, windows=windows)
    return _literal(f"{one_line(found.title, _LONGEST_NAME)}\n{text}")


def _literal(text: str) -> str:
    """Escape what a message would take for a placeholder (SARIF 3.11.5) or a link (3.11.6)."""
    return shorten(text, 2 * _LONGEST).replace("{", "{{").replace("}", "}}").replace("](", "] (")


def _result(
    found: Finding, mark: str, index: int, report: Report, *, windows: bool
) -> dict[str, Any]:
    place = anchor(found, report.observation.facts)
    result: dict[str, Any] = {
        "ruleId": one_line(found.id, 250),
        "ruleIndex": index,
        "level": found.severity.value,
        "message": {"text": _message(found, windows=windows)},
        "locations": [
            {
                "physicalLocation": {
                    "artifactLocation": _artifact(place.path),
                    "region": {"startLine": place.line},
                }
            }
        ],
        "partialFingerprints": {"canaryDoctor/v1": mark},
        "properties": {
            "confidence": found.confidence.value,
            "target": one_line(found.target, 250),
            "evidence": evidence_lines(found, 10),
        },
    }
    edits = line_edits(found, report.observation.facts, report.plan)
    return {
        **result,
        **({"fixes": [_fix(edits)]} if edits and is_inside(edits[0].path) else {}),
        **({"suppressions": [_suppression(found.suppressed)]} if found.suppressed else {}),
    }


def _fix(edits: Sequence[LineEdit]) -> dict[str, Any]:
    """Return the edits of one line as a fix (SARIF 3.55); all of them are of one file."""
    replacements = [
        {
            "deletedRegion": {
                "startLine": edit.line,
                "startColumn": edit.column,
                "endLine": edit.line,
                "endColumn": edit.column + len(edit.before),
            },
            "insertedContent": {"text": edit.after},
        }
        for edit in edits
    ]
    change = {"artifactLocation": _artifact(edits[0].path), "replacements": replacements}
    told = ", ".join(f"{edit.before or 'nothing'} becomes {edit.after}" for edit in edits)
    return {
        "description": {"text": _literal(one_line(f"{edits[0].place}: {told}", _LONGEST_NAME))},
        "artifactChanges": [change],
    }


def _artifact(path: str) -> dict[str, str]:
    return {"uri": quote(path.replace("\\", "/")), "uriBaseId": _ROOT}


def _suppression(suppressed: Suppression) -> dict[str, Any]:
    until = f" (until {suppressed.until})" if suppressed.until else ""
    told = one_line((suppressed.reason or f"by {suppressed.by}") + until, _LONGEST_NAME)
    return {"kind": "external", "status": "accepted", "justification": told}


def _invocation(report: Report, *, left: int) -> dict[str, Any]:
    seen_at = report.observation.taken
    told = list(_notices(report, left))
    return {
        "executionSuccessful": not report.observation.interrupted,
        "exitCode": report.exit_code,
        "exitCodeDescription": _ENDS.get(report.exit_code, "see the README of doctor"),
        **({"endTimeUtc": _utc(seen_at)} if _utc(seen_at) else {}),
        "toolExecutionNotifications": told[:_MOST_NOTICES],
    }


def _utc(moment: str) -> str:
    """Return a moment as SARIF writes it.

    Empty where it is none, since a report may come from anywhere.
    """
    day, _, rest = moment.partition("T")
    clock = rest.removesuffix("Z").removesuffix("+00:00")
    digits = (*day.split("-"), *clock.split(":"))
    fits = [len(part) for part in digits] == [4, 2, 2, 2, 2, 2] and all(
        part.isascii() and part.isdigit() for part in digits
    )
    return f"{day}T{clock}Z" if fits else ""


def _notices(report: Report, left: int) -> Iterator[dict[str, Any]]:
    """Yield what doctor has to say of itself: what keeps this run from being the whole truth."""
    if report.observation.interrupted:
        yield _notice(
            "interrupted", "error", "doctor was interrupted; what it saw until then is here"
        )
    if told := as_if(report.observation.facts):
        yield _notice("assumed", "note", told)
    if report.exit_code == 4:
        yield _notice(
            "nothing-to-judge",
            "warning",
            "there was nothing to judge: no framework, and no check ran",
        )
    if left:
        yield _notice(
            "left-out",
            "warning",
            f"{left} more findings do not fit into this log; the JSON report has them all",
        )
    for outcome in report.observation.outcomes:
        if outcome.verdict is Verdict.BROKEN:
            where = f" on {outcome.device}" if outcome.device else ""
            yield _notice(
                f"check/{outcome.id}",
                "warning",
                f"the check {outcome.id}{where} is broken: {outcome.reason}",
            )
    for failure in report.observation.probe_failures:
        yield _notice(
            f"probe/{failure.probe}",
            "note",
            f"the probe {failure.probe} did not finish: {failure.why}",
        )


def _notice(name: str, level: str, text: str) -> dict[str, Any]:
    return {
        "descriptor": {"id": one_line(name, 250)},
        "level": level,
        "message": {"text": _literal(one_line(text, _LONGEST))},
    }
