"""The report as a short JSON document, for coding agents: a subset of the JSON report."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from doctor.model.outcomes import RED
from doctor.model.report import Report
from doctor.model.requested import Requested
from doctor.report.structured import json_document, requested_json

_MOST_CHARACTERS = 24_000
_LONGEST_TEXT = 700
_MOST_FINDINGS = 8
_MOST_FIXES = 3
_MOST_EVIDENCE = 4
_MOST_OTHERS = 40
_RED = frozenset(each.value for each in RED)
_OF_A_FINDING = (
    *("id", "fingerprint", "title", "severity", "confidence", "message", "place"),
    *("symptoms", "missing_facts"),
)
_OF_A_FIX = (
    *("title", "use_if", "note", "safe", "lasting", "sudo", "reboot", "snippet", "verify", "asks"),
)
_OF_A_STEP = ("title", "argv", "env", "cwd", "edit", "sudo", "reboot", "source")


def render(report: Report) -> str:
    """Return the report within 24,000 characters; `left_out` counts what is not shown.

    Findings, fixes and steps have the keys of the JSON report (`doctor schema report`). Its plan is
    there as it is.
    """
    whole = msgspec.to_builtins(json_document.document(report))
    for findings in range(_MOST_FINDINGS, -1, -1):
        text = msgspec.json.encode(_digest(whole, findings)).decode()
        if len(text) <= _MOST_CHARACTERS:
            return text
    raise AssertionError("a digest without findings is short")


def render_plan(found: Requested) -> str:
    """Return the answer of `doctor plan` within 24,000 characters, without what does not fit."""
    whole = msgspec.json.decode(requested_json.render(found))
    for dropped in ("", "packages", "ways_out", "plan"):
        whole.pop(dropped, None)
        text = msgspec.json.encode(whole).decode()
        if len(text) <= _MOST_CHARACTERS:
            return text
    raise AssertionError("an answer without a plan is short")


def _digest(whole: Mapping[str, Any], most: int) -> dict[str, Any]:
    found = [each for each in whole["findings"] if each["suppressed"] is None]
    failed = [
        _kept(each, ("id", "device", "verdict", "reason", "signal"))
        for each in whole["outcomes"]
        if each["verdict"] in _RED
    ]
    return {
        "exit_code": whole["exit_code"],
        "summary": whole["summary"],
        "targets": [each["path"] for each in whole["targets"]][:_MOST_OTHERS],
        "interrupted": whole["interrupted"],
        "findings": [_finding(each) for each in found[:most]],
        "more_findings": [
            {"id": each["id"], "title": _short(each["title"])}
            for each in found[most : most + _MOST_OTHERS]
        ],
        "failed_checks": failed[:_MOST_OTHERS] if most else [],
        **({"nothing_to_judge": _reasons(whole["outcomes"])} if whole["exit_code"] == 4 else {}),
        **({"plan": whole["plan"]} if most and whole.get("plan") else {}),
        "left_out": max(len(found) - most - _MOST_OTHERS, 0),
    }


def _reasons(outcomes: Iterable[Mapping[str, Any]]) -> list[str]:
    reasons = dict.fromkeys(each["reason"] for each in outcomes if each["reason"])
    return [_short(reason) for reason in reasons][:_MOST_FINDINGS]


def _finding(found: Mapping[str, Any]) -> dict[str, Any]:
    seen = [each.get("text", "") for each in found["evidence"]]
    return {
        **_kept(found, _OF_A_FINDING),
        "evidence": [_short(text) for text in seen[:_MOST_EVIDENCE]],
        "fixes": [
            {**_kept(fix, _OF_A_FIX), "steps": [_kept(step, _OF_A_STEP) for step in fix["steps"]]}
            for fix in found["fixes"][:_MOST_FIXES]
        ],
        "references": found["references"][:_MOST_EVIDENCE],
    }


def _kept(value: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
    """Return the entries that say something, long texts cut; an argument of a command is whole."""
    return dict(_entries(value, names))


def _entries(value: Mapping[str, Any], names: Iterable[str]) -> Iterator[tuple[str, Any]]:
    for name in names:
        item = value.get(name)
        if item in (None, "", [], {}, ()) or (item is False and name != "safe"):
            continue
        yield name, _short(item) if isinstance(item, str) and name != "verify" else item


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST_TEXT else text[: _LONGEST_TEXT - 1] + "…"
