"""Rules for catalog entries, the examples inside them included; every fault at once, each with its file and place."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from doctor.catalog import CatalogError, load_folder, read_entry
from doctor.derive import derive
from doctor.holes import names
from doctor.match import diagnose
from doctor.model.catalog import Catalog
from doctor.model.checks import Check
from doctor.model.compat import Table
from doctor.model.facts import Fact, absent, present
from doctor.model.issues import Condition, Example, KnownIssue, Recipe
from doctor.model.observation import Log, Observation, Target, TargetKind
from doctor.model.outcomes import Case, Outcome, Verdict
from doctor.model.vocabulary import is_known

_OPERATORS = ("range", "one_of", "matches", "present", "absent")
_EXPECT = ("match", "no-match", "undecided", "ruled-out")
_HOW = ("reproduced", "thread", "documented")
_OPTIONS = ("no-deps", "no-build-isolation", "reinstall", "no-cache", "pre", "upgrade")
_EVIDENCE = ("binary", "metadata", "source", "issue", "documentation", "copy", "unverified")
_SLUG = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*(/[a-z0-9]+(-[a-z0-9]+)*)?$")
_NESTED = re.compile(r"\([^()]*[+*]\)[+*]|\\[1-9]|\(\?[=!<][^)]*")


def lint(folder: Path, checks: dict[str, Check]) -> tuple[str, ...]:
    """Return every fault of a catalog folder, as `file: place: sentence`; empty where there is none."""
    faults: list[str] = []
    loaded: dict[str, KnownIssue] = {}
    for path in sorted((folder / "issues").rglob("*.yaml")):
        name = path.relative_to(folder / "issues").with_suffix("").as_posix()
        try:
            loaded[name] = read_entry(path, KnownIssue)
        except CatalogError as error:
            faults.append(str(error))
    faults += [f"{folder / 'compat'}: {fault}" for fault in _lint_tables(folder)]
    for name, issue in loaded.items():
        faults += [f"{folder / 'issues' / name}.yaml: {fault}" for fault in _lint_issue(name, issue, loaded, checks)]
    return (*faults, *([] if faults else _lint_examples(folder)))


def _lint_tables(folder: Path) -> Iterator[str]:
    for path in sorted((folder / "compat").rglob("*.yaml")):
        try:
            table = read_entry(path, Table)
        except CatalogError as error:
            yield str(error)
        else:
            yield from (f"{path.name}: {fault}" for fault in _lint_table(table))


def _lint_table(table: Table) -> Iterator[str]:
    for name, column in table.columns.items():
        if not is_known(column.fact):
            yield f"columns.{name}: no such fact: {column.fact}"
    if not any(column.key for column in table.columns.values()):
        yield "columns: none is a key"
    for name, source in table.sources.items():
        if source.evidence not in _EVIDENCE:
            yield f"sources.{name}.evidence: {source.evidence!r} is none of {', '.join(_EVIDENCE)}"
    for number, row in enumerate(table.rows):
        yield from (f"rows[{number}]: {fault}" for fault in _lint_row(row, table))


def _lint_row(row: dict[str, Any], table: Table) -> Iterator[str]:
    yield from (f"no such column: {name}" for name in row if name not in table.columns and name != "source")
    sources = row.get("source") or ()
    if not sources:
        yield "a row needs a source"
    yield from (f"no such source: {name}" for name in sources if name not in table.sources)


def _lint_issue(name: str, issue: KnownIssue, known: dict[str, KnownIssue], checks: dict[str, Check]) -> Iterator[str]:
    if not _SLUG.match(name):
        yield "the path is not component/slug in kebab case"
    if not issue.affected and not issue.signatures and not issue.proofs:
        yield "nothing would ever recognise it: give affected, signatures or proofs"
    if issue.certain and not issue.affected:
        yield "certain: needs affected rows"
    if issue.conclusive and not (issue.signatures and issue.affected):
        yield "conclusive: needs signatures, and affected rows that a log may come from outside of"
    if issue.verified.how not in _HOW:
        yield f"verified.how: {issue.verified.how!r} is none of {', '.join(_HOW)}"
    if not issue.references:
        yield "references: give at least one source that was opened"
    if not issue.fixes:
        yield "fixes: every finding ends in something to do"
    yield from _lint_unwritten(issue)
    yield from (f"related: no such issue: {other}" for other in issue.related if other not in known)
    yield from _lint_conditions(issue)
    yield from _lint_patterns(issue)
    yield from _lint_proofs(issue, checks)
    for number, recipe in enumerate(issue.fixes):
        yield from (f"fixes[{number}]: {fault}" for fault in _lint_recipe(recipe, issue))
    yield from _lint_example_kinds(issue)


def _lint_unwritten(issue: KnownIssue) -> Iterator[str]:
    """Name what `doctor new-issue` left to be said, in brackets."""
    texts = {"title": issue.title, "cause": issue.cause}
    texts |= {f"fixes[{number}].title": recipe.title for number, recipe in enumerate(issue.fixes)}
    texts |= {f"references[{number}].what": reference.what for number, reference in enumerate(issue.references)}
    for number, example in enumerate(issue.examples):
        texts |= {f"examples[{number}].name": example.name, f"examples[{number}].log": example.log}
    yield from (f"{place}: still to be written" for place, text in texts.items() if re.fullmatch(r"\([^()]*\)", text.strip()))
    for number, reference in enumerate(issue.references):
        if not re.match(r"https?://[^/\s]+\.[^/\s]+", reference.url):
            yield f"references[{number}].url: {reference.url!r} is no address"


def _lint_conditions(issue: KnownIssue) -> Iterator[str]:
    rows = [(f"affected[{number}]", row.when) for number, row in enumerate(issue.affected)]
    rows += [(f"milder[{number}]", one.when) for number, one in enumerate(issue.milder)]
    rows += [(f"fixes[{number}]", recipe.when) for number, recipe in enumerate(issue.fixes)]
    for place, conditions in rows:
        for number, condition in enumerate(conditions):
            yield from (f"{place}.when[{number}]: {fault}" for fault in _lint_condition(condition))


def _lint_condition(condition: Condition) -> Iterator[str]:
    if not is_known(condition.fact):
        yield f"no such fact: {condition.fact} (facts are named in doctor/model/vocabulary.py)"
    given = [name for name in _OPERATORS if getattr(condition, name) is not None]
    given += ["equals"] if condition.equals is not msgspec.UNSET else []
    if len(given) != 1:
        yield f"exactly one operator is wanted, not {', '.join(given) or 'none'}"
    if condition.matches is not None:
        yield from _lint_pattern(condition.matches)


def _lint_patterns(issue: KnownIssue) -> Iterator[str]:
    for number, signature in enumerate(issue.signatures):
        for pattern in (signature.pattern, *signature.also, *signature.unless):
            yield from (f"signatures[{number}]: {fault}" for fault in _lint_pattern(pattern))


def _lint_pattern(pattern: str) -> Iterator[str]:
    try:
        compiled = re.compile(pattern)
    except re.error as error:
        yield f"{pattern!r} is no regular expression: {error}"
        return
    if compiled.match(""):
        yield f"{pattern!r} matches the empty text"
    if (found := _NESTED.search(pattern)) and not found[0].startswith("(?P<"):
        yield f"{pattern!r}: nested repetition, back-references and look-around are not allowed (linear time)"


def _lint_proofs(issue: KnownIssue, checks: dict[str, Check]) -> Iterator[str]:
    for number, proof in enumerate(issue.proofs):
        check = checks.get(proof.check)
        if check is None:
            yield f"proofs[{number}]: no such check: {proof.check}"
        elif proof.case is not None and proof.case not in check.header.cases:
            yield f"proofs[{number}]: {proof.check} has no case {proof.case} (it has {', '.join(check.header.cases)})"


def _lint_recipe(recipe: Recipe, issue: KnownIssue) -> Iterator[str]:
    acts = [bool(recipe.install), bool(recipe.uninstall), bool(recipe.system), bool(recipe.env), bool(recipe.run), bool(recipe.edit)]
    if not any(acts):
        yield "it does nothing: give install, uninstall, system, env, run or edit"
    yield from (f"no such option: {option}" for option in recipe.options if option not in _OPTIONS)
    groups = {name for signature in issue.signatures for name in re.compile(signature.pattern).groupindex}
    texts = [recipe.title, recipe.verify, *recipe.install, *recipe.uninstall, *recipe.env.values(), *recipe.edit.values()]
    texts += [part for argv in recipe.run for part in argv]
    for hole in {hole for text in texts for hole in names(text)}:
        if hole.startswith("log.") and hole[4:] not in groups:
            yield f"{{{hole}}}: no signature has a group of that name"
        elif not hole.startswith("log.") and not is_known(hole):
            yield f"{{{hole}}}: no such fact"


def _lint_example_kinds(issue: KnownIssue) -> Iterator[str]:
    kinds = [example.expect for example in issue.examples]
    yield from (f"examples: expect: {kind!r} is none of {', '.join(_EXPECT)}" for kind in kinds if kind not in _EXPECT)
    if "match" not in kinds:
        yield "examples: one must match"
    if not {"no-match", "ruled-out", "undecided"} & set(kinds):
        yield "examples: one must not match"


def _lint_examples(folder: Path) -> Iterator[str]:
    catalog = load_folder(folder)
    for name, issue in catalog.issues.items():
        alone = msgspec.structs.replace(catalog, issues={name: issue})
        for example in issue.examples:
            if fault := run_example(name, example, alone):
                yield f"{folder / 'issues' / name}.yaml: example {example.name!r}: {fault}"


def run_example(name: str, example: Example, catalog: Catalog) -> str:
    """Judge one example against a catalog that holds its issue alone; return what is wrong, or an empty text."""
    diagnosis = diagnose(_observation(example, catalog), catalog)
    found = next((finding for finding in diagnosis.findings if finding.id == name), None)
    got = "match" if found else "no-match"
    if not found and any(entry.id == name for entry in diagnosis.undecided):
        got = "undecided"
    if not found and any(entry.id == name for entry in diagnosis.ruled_out):
        got = "ruled-out"
    if got != example.expect and (found or example.expect != "no-match"):
        return f"expected {example.expect}, got {got}"
    if found and example.severity and found.severity is not example.severity:
        return f"expected severity {example.severity.value}, got {found.severity.value}"
    if found and example.confidence and found.confidence is not example.confidence:
        return f"expected confidence {example.confidence.value}, got {found.confidence.value}"
    return ""


def _observation(example: Example, catalog: Catalog) -> Observation:
    facts: dict[str, Fact] = {
        key: absent("example") if value is None else present(value, "example") for key, value in example.facts.items()
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
    return Outcome(id=check, target="interpreter", device=device or None, verdict=Verdict(verdict), cases=cases)
