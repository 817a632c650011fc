"""Holds what doctor said against what a scenario expects."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from tests.rig.scenario import Scenario, Stage

_RANK = {"nothing": 0, "note": 1, "warning": 2, "error": 3}
_RED = {"failed", "crashed", "timed_out", "broken"}


def complaints(stage: Stage) -> list[str]:
    """Let doctor check on a stage; return everything that is not as it has to be."""
    path = stage.folder / "report.json"
    ran = stage.run("--report", f"json={path}")
    assert "Traceback (most recent call last)" not in ran.stderr, ran.stderr
    assert path.exists(), f"no report: exit code {ran.returncode}: {ran.stderr or ran.stdout}"
    report = json.loads(path.read_text(encoding="utf-8"))
    text = " ".join(ran.stdout.split())
    wrong = [
        *_about_findings(stage.scenario, report),
        *_about_checks(stage.scenario, report),
        *_about_text(stage.scenario, text),
    ]
    if ran.returncode != stage.scenario.code:
        wrong.insert(0, f"exit code {ran.returncode}, expected {stage.scenario.code}")
    facts = report["facts"]
    for name, value in stage.scenario.facts.items():
        if facts.get(name, {}).get("value") != value:
            wrong.append(f"{name} is {facts.get(name)}, expected {value!r}")
    return [*wrong, f"--- it said:\n{ran.stdout}"] if wrong else []


def _about_findings(played: Scenario, report: dict[str, Any]) -> list[str]:
    findings = report["findings"]
    ids = [finding["id"] for finding in findings]
    wrong = [
        f"{rule} must not be found"
        for rule in ids
        for pattern in played.never
        if re.fullmatch(pattern, rule)
    ]
    if not played.first:
        bad = [
            f"{one['severity']} {one['id']}: {one['title']}"
            for one in findings
            if _RANK[one["severity"]] > _RANK[played.worst]
        ]
        return wrong + ([f"found {bad}, expected {played.worst}"] if bad else [])
    if not findings:
        return [*wrong, f"nothing found, expected one of {played.first}"]
    first = findings[0]
    if not any(re.fullmatch(pattern, first["id"]) for pattern in played.first):
        wrong.append(f"{first['id']} comes first of {ids}, expected one of {played.first}")
    if played.severity and first["severity"] != played.severity:
        wrong.append(f"{first['id']} is {first['severity']}, expected {played.severity}")
    said = " ".join(json.dumps(first, ensure_ascii=False).split())
    return wrong + [
        f"{first['id']} does not say {pattern!r}"
        for pattern in played.says
        if not re.search(pattern, said)
    ]


def _about_checks(played: Scenario, report: dict[str, Any]) -> list[str]:
    named = {f"{one['id']} {one.get('device') or ''}".strip(): one for one in report["outcomes"]}
    verdicts = {name: one["verdict"] for name, one in named.items()}
    red = tuple(sorted(name for name, verdict in verdicts.items() if verdict in _RED))
    wrong = (
        [f"red: {red}, expected {played.red}"]
        if played.red is not None and red != tuple(sorted(played.red))
        else []
    )
    wrong += [
        f"{name} is {verdicts.get(name)}, expected passed"
        for name in played.green
        if verdicts.get(name) != "passed"
    ]
    for name, why in played.skipped.items():
        reason = named.get(name, {}).get("reason", "")
        if verdicts.get(name) != "skipped" or not re.search(why, reason):
            wrong.append(f"{name} is {verdicts.get(name)} ({reason}), expected skipped ({why})")
    for name, cases in played.red_cases.items():
        failed = [
            case
            for case, how in (named.get(name, {}).get("cases") or {}).items()
            if how["verdict"] in _RED
        ]
        if sorted(failed) != sorted(cases):
            wrong.append(f"{name} failed in {failed}, expected {list(cases)}")
    return wrong


def _about_text(played: Scenario, text: str) -> list[str]:
    wrong = [
        f"the report does not say {pattern!r}"
        for pattern in played.tells
        if not re.search(pattern, text)
    ]
    return wrong + [
        f"the report says {pattern!r}" for pattern in played.hides if re.search(pattern, text)
    ]


def stage_of(scenario: Scenario, folder: Path, libraries: Path, python: Path) -> Stage:
    """Set a scenario up."""
    return Stage(scenario, folder, libraries, python)
