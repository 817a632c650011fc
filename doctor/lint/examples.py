"""The tests inside known issues, run: each against its issue alone, and against all of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from doctor.base.globs import matches_any
from doctor.base.literals import required_literals
from doctor.catalog.loading import load_folder
from doctor.facts.derive import derive
from doctor.fixes.attach import with_fixes
from doctor.judge.match import diagnose
from doctor.model.catalog import Catalog
from doctor.model.facts import Fact, absent, present
from doctor.model.findings import EvidenceKind
from doctor.model.issues import Example, Expect
from doctor.model.observation import Log, Observation, Target, TargetKind
from doctor.model.outcomes import Case, Outcome, Verdict
from doctor.model.report import Diagnosis


def lint_examples(folder: Path) -> dict[str, list[str]]:
    """Return what is wrong with the examples of a folder that has no other faults, by issue."""
    catalog = load_folder(folder)
    trial = Trial(catalog)
    return {name: list(_lint_examples(name, trial)) for name in catalog.issues}


class Trial:
    """A catalog, and the observations that its examples stand for.

    Most examples are a log without a fact. What follows from no facts is derived once, and issues
    that only a text could bring up are judged where their text may stand in the log.
    """

    def __init__(self, catalog: Catalog) -> None:
        self.catalog = catalog
        self._nothing = derive({}, catalog)
        blank = self.observation(Example(name="a blank", expect=Expect.NO_MATCH, log=" "))
        found = {one.id for one in diagnose(blank, catalog).findings}
        self._always = {
            name for name, issue in catalog.issues.items() if issue.gathers or name in found
        }
        self._literals = {
            name: [required_literals(one.pattern) for one in issue.signatures]
            for name, issue in catalog.issues.items()
        }

    def observation(self, example: Example) -> Observation:
        """Return what was seen of the machine that an example describes."""
        facts: dict[str, Fact] = {
            key: absent("example") if value is None else present(value, "example")
            for key, value in example.facts.items()
        }
        target = Target(name="interpreter", kind=TargetKind.INTERPRETER, path="example")
        workspace = Target(name="cargo", kind=TargetKind.CARGO, path="example")
        return Observation(
            targets=(target, workspace),
            facts=derive(facts, self.catalog) if facts else self._nothing,
            outcomes=tuple(_outcome(spot, verdict) for spot, verdict in example.checks.items()),
            logs=(
                (Log(source="example", lines=tuple(example.log.splitlines())),)
                if example.log
                else ()
            ),
        )

    def alone(self, name: str, example: Example) -> Diagnosis:
        """Judge an example against one issue."""
        return self._judge(example, [name])

    def beside_others(self, example: Example) -> Diagnosis:
        """Judge an example against the whole catalog."""
        if example.facts or example.checks:
            return self._judge(example, self.catalog.issues)
        log = "\n".join(example.log.splitlines())
        return self._judge(
            example,
            [
                name
                for name, signatures in self._literals.items()
                if name in self._always
                or any(not one or any(text in log for text in one) for one in signatures)
            ],
        )

    def _judge(self, example: Example, names: Iterable[str]) -> Diagnosis:
        issues = {name: self.catalog.issues[name] for name in names}
        return diagnose(
            self.observation(example), msgspec.structs.replace(self.catalog, issues=issues)
        )


def _lint_examples(name: str, trial: Trial) -> Iterator[str]:
    for number, example in enumerate(trial.catalog.issues[name].examples):
        place = f"examples[{number}]: {example.name!r}"
        alone = trial.alone(name, example)
        if fault := _fault(name, example, alone):
            yield f"{place}: {fault}"
        elif (
            example.expect == "match"
            and example.log
            and not example.facts
            and not any(
                found.fixes
                for found in with_fixes(alone.findings, trial.observation(example).facts)
                if found.id == name
            )
        ):
            yield (
                f"{place}: by its log alone no fix can be written; give one without "
                "placeholders that only a machine fills"
            )
        yield from (f"{place}: {rival}" for rival in _rivals(name, example, trial))


def _rivals(name: str, example: Example, trial: Trial) -> Iterator[str]:
    """Yield the other issues that claim a matching example as well."""
    if example.expect != "match" or not example.log:
        return
    issue = trial.catalog.issues[name]
    findings = trial.beside_others(example).findings
    for found in findings:
        other = trial.catalog.issues.get(found.id)
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


def _fault(name: str, example: Example, diagnosis: Diagnosis) -> str:
    """Return in what a diagnosis differs from what the example expects, or an empty text."""
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


def _outcome(spot: str, verdict: str) -> Outcome:
    path, _, device = spot.partition("@")
    check, _, case = path.partition("/")
    cases = {case: Case(verdict=Verdict(verdict))} if case else {}
    return Outcome(
        id=check, target="interpreter", device=device or None, verdict=Verdict(verdict), cases=cases
    )
