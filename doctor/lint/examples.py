"""The tests inside known issues, run: each against its issue alone, and against all of them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec

from doctor.base.globs import matches_any
from doctor.catalog.loading import load_folder
from doctor.facts.derive import derive
from doctor.fixes.plan import plan
from doctor.judge.match import diagnose
from doctor.model.catalog import Catalog
from doctor.model.facts import Fact, absent, present
from doctor.model.findings import EvidenceKind
from doctor.model.issues import Example, KnownIssue
from doctor.model.observation import Log, Observation, Target, TargetKind
from doctor.model.outcomes import Case, Outcome, Verdict


def lint_examples(folder: Path) -> dict[str, list[str]]:
    """Return what is wrong with the examples of a folder that has no other faults, by issue."""
    catalog = load_folder(folder)
    return {
        name: list(_lint_examples(name, issue, catalog)) for name, issue in catalog.issues.items()
    }


def _lint_examples(name: str, issue: KnownIssue, catalog: Catalog) -> Iterator[str]:
    alone = msgspec.structs.replace(catalog, issues={name: issue})
    for number, example in enumerate(issue.examples):
        place = f"examples[{number}]: {example.name!r}"
        if fault := run_example(name, example, alone):
            yield f"{place}: {fault}"
        elif (
            example.expect == "match"
            and example.log
            and not example.facts
            and not _fixes(name, example, alone)
        ):
            yield (
                f"{place}: by its log alone no fix can be written; give one without "
                "placeholders that only a machine fills"
            )
        yield from (f"{place}: {rival}" for rival in _rivals(name, example, catalog))


def _fixes(name: str, example: Example, catalog: Catalog) -> bool:
    seen = _observation(example, catalog)
    return any(
        found.fixes
        for found in plan(diagnose(seen, catalog).findings, seen.facts)
        if found.id == name
    )


def _rivals(name: str, example: Example, catalog: Catalog) -> Iterator[str]:
    """Yield the other issues that claim a matching example as well."""
    if example.expect != "match" or not example.log:
        return
    issue = catalog.issues[name]
    findings = diagnose(_observation(example, catalog), catalog).findings
    for found in findings:
        other = catalog.issues.get(found.id)
        if (
            other is None
            or found.id == name
            or all(evidence.kind is not EvidenceKind.LOG for evidence in found.evidence)
        ):
            continue
        if found.id not in (*issue.related, *issue.symptoms) and name not in (
            *other.related,
            *other.symptoms,
        ):
            yield f"{found.id} claims it too; one has to name the other (related)"
        if found is findings[0] and not matches_any(name, other.symptoms):
            yield (
                f"{found.id} comes before it; make that one general or this one its cause "
                "(symptoms), or tell them apart"
            )


def run_example(name: str, example: Example, catalog: Catalog) -> str:
    """Judge one example against a catalog that holds its issue alone.

    Return what is wrong, or an empty text.
    """
    diagnosis = diagnose(_observation(example, catalog), catalog)
    found = next((finding for finding in diagnosis.findings if finding.id == name), None)
    got = "match" if found else "no-match"
    if not found and any(entry.id == name for entry in diagnosis.undecided):
        got = "undecided"
    if not found and any(entry.id == name for entry in diagnosis.ruled_out):
        got = "ruled-out"
    if got != example.expect and (found or example.expect != "no-match"):
        return f"expected {example.expect.value}, got {got}"
    if found and example.severity and found.severity is not example.severity:
        return f"expected severity {example.severity.value}, got {found.severity.value}"
    if found and example.confidence and found.confidence is not example.confidence:
        return f"expected confidence {example.confidence.value}, got {found.confidence.value}"
    return ""


def _observation(example: Example, catalog: Catalog) -> Observation:
    facts: dict[str, Fact] = {
        key: absent("example") if value is None else present(value, "example")
        for key, value in example.facts.items()
    }
    target = Target(name="interpreter", kind=TargetKind.INTERPRETER, path="example")
    workspace = Target(name="cargo", kind=TargetKind.CARGO, path="example")
    return Observation(
        targets=(target, workspace),
        facts=derive(facts, catalog),
        outcomes=tuple(_outcome(spot, verdict) for spot, verdict in example.checks.items()),
        logs=(Log(source="example", lines=tuple(example.log.splitlines())),) if example.log else (),
    )


def _outcome(spot: str, verdict: str) -> Outcome:
    path, _, device = spot.partition("@")
    check, _, case = path.partition("/")
    cases = {case: Case(verdict=Verdict(verdict))} if case else {}
    return Outcome(
        id=check, target="interpreter", device=device or None, verdict=Verdict(verdict), cases=cases
    )
