"""Rules for known issues, as far as they can be told without running anything."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

import msgspec

from doctor.base.literals import required_literals
from doctor.base.patterns import compile_pattern, pattern_error
from doctor.facts.placeholders import names
from doctor.lint.advice import lint_advice, lint_placeholders, lint_steps, used_placeholders
from doctor.model.checks import Check
from doctor.model.issues import Condition, KnownIssue, Recipe
from doctor.model.vocabulary import is_known

_OPERATORS = ("range", "one_of", "matches", "present", "absent")
_SLUG = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*(/[a-z0-9]+(-[a-z0-9]+)*)?$")
_PIECE = re.compile(r"\\.|\(\?P<(\w+)>|\(\?|[\[\]()]")
"""What decides where a group of a pattern begins: escapes, classes and parentheses."""
_ADDRESS = re.compile(r"https?://[^/\s.]+\.[^/\s]")


def lint_issue(
    name: str, issue: KnownIssue, names: frozenset[str], checks: dict[str, Check]
) -> Iterator[str]:
    """Yield the faults of one known issue."""
    if not _SLUG.match(name):
        yield "the path is not component/slug in kebab case"
    if not issue.affected and not issue.signatures and not issue.proofs:
        yield "nothing would ever recognise it: give affected, signatures or proofs"
    if not issue.references:
        yield "references: give at least one source that was opened"
    if not issue.fixes:
        yield "fixes: every finding ends in something to do"
    yield from _lint_claims(issue)
    yield from _lint_unwritten(issue)
    yield from (f"related: no such issue: {other}" for other in issue.related if other not in names)
    yield from _lint_conditions(issue)
    yield from _lint_patterns(issue)
    yield from _lint_groups(issue)
    yield from _lint_proofs(issue, checks)
    groups = {
        name
        for signature in issue.signatures
        for name in re.findall(r"\(\?P<(\w+)>", signature.pattern)
    }
    for number, recipe in enumerate(issue.fixes):
        yield from (
            f"fixes[{number}]: {fault}"
            for fault in (
                *lint_recipe(recipe, groups),
                *lint_advice(recipe, name.partition("/")[0]),
            )
        )
    yield from _lint_example_kinds(issue)


def _lint_claims(issue: KnownIssue) -> Iterator[str]:
    """Say where an entry claims more than what it gives can carry."""
    if issue.certain and not all(
        row.exposes or not (row.when or row.packages) for row in issue.affected
    ):
        yield (
            "certain: facts that prove it tell of it; only a row without conditions, for "
            "texts that need no facts, can say exposes: false"
        )
    if any(row.predicts and not row.exposes for row in issue.affected):
        yield "affected: a row that predicts a severity cannot say exposes: false"
    if issue.certain and not issue.affected:
        yield "certain: needs affected rows"
    if issue.gathers and not (issue.gathers > 1 and issue.symptoms):
        yield "gathers: needs symptoms, and at least 2 of them, for one tells of no common cause"
    if issue.conclusive and not (issue.signatures and issue.affected):
        yield "conclusive: needs signatures, and affected rows that a log may come from outside of"


def _lint_unwritten(issue: KnownIssue) -> Iterator[str]:
    """Name what `doctor new-issue` left to be said, in brackets."""
    texts = {"title": issue.title, "cause": issue.cause}
    texts |= {f"fixes[{number}].title": recipe.title for number, recipe in enumerate(issue.fixes)}
    texts |= {
        f"references[{number}].what": reference.what
        for number, reference in enumerate(issue.references)
    }
    for number, example in enumerate(issue.examples):
        texts |= {f"examples[{number}].name": example.name, f"examples[{number}].log": example.log}
    yield from (
        f"{place}: still to be written"
        for place, text in texts.items()
        if re.fullmatch(r"\([^()]*\)", text.strip())
    )
    for number, reference in enumerate(issue.references):
        if not _ADDRESS.match(reference.url):
            yield f"references[{number}].url: {reference.url!r} is no address"


def _lint_conditions(issue: KnownIssue) -> Iterator[str]:
    rows = [(f"affected[{number}]", row.when) for number, row in enumerate(issue.affected)]
    rows += [(f"milder[{number}]", one.when) for number, one in enumerate(issue.milder)]
    texts = [
        (f"affected[{number}]", text)
        for number, row in enumerate(issue.affected)
        for text in (row.title, row.cause)
    ]
    yield from (
        f"{place}: no such fact: {placeholder}"
        for place, text in texts
        for placeholder in names(text)
        if not is_known(placeholder)
    )
    for place, conditions in rows:
        for number, condition in enumerate(conditions):
            yield from (f"{place}.when[{number}]: {fault}" for fault in lint_condition(condition))


def lint_condition(condition: Condition) -> Iterator[str]:
    """Yield the faults of one condition."""
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
            if not required_literals(pattern):
                yield (
                    f"signatures[{number}]: {pattern!r} holds no plain text of three "
                    "characters, which a long log is searched for first"
                )


def _lint_groups(issue: KnownIssue) -> Iterator[str]:
    """Yield the groups whose value no sentence and no command shows."""
    texts = [issue.title, issue.cause]
    texts += [text for row in issue.affected for text in (row.title, row.cause)]
    shown = {name for text in texts for name in names(text)}
    shown.update(name for recipe in issue.fixes for name in used_placeholders(recipe))
    for number, signature in enumerate(issue.signatures):
        for pattern in (signature.pattern, *signature.also, *signature.unless):
            if pattern_error(pattern):
                continue
            groups = _groups(pattern)
            if "" in groups:
                yield f"signatures[{number}]: {pattern!r} captures without a name; write (?:…)"
            used = shown if pattern == signature.pattern else ()
            yield from (
                f"signatures[{number}]: nothing uses the group {group!r}; write (?:…)"
                for group in groups
                if group and f"log.{group}" not in used
            )


def _groups(pattern: str) -> list[str]:
    """Return the names of the groups that capture; that of a group without a name is empty."""
    names, in_class = [], False
    for piece in _PIECE.finditer(pattern):
        if piece[0] in ("[", "]"):
            in_class = piece[0] == "["
        elif not in_class and piece[0].startswith("(") and piece[0] != "(?":
            names.append(piece[1] or "")
    return names


def _lint_pattern(pattern: str) -> Iterator[str]:
    if why := pattern_error(pattern):
        yield why
    elif compile_pattern(pattern).search("") is not None:
        yield f"{pattern!r} matches the empty text"


def _lint_proofs(issue: KnownIssue, checks: dict[str, Check]) -> Iterator[str]:
    for number, proof in enumerate(issue.proofs):
        check = checks.get(proof.check)
        if check is None:
            yield f"proofs[{number}]: no such check: {proof.check}"
        elif proof.case is not None and proof.case not in check.header.cases:
            yield (
                f"proofs[{number}]: {proof.check} has no case {proof.case} (it has "
                f"{', '.join(check.header.cases)})"
            )


def lint_recipe(recipe: Recipe, groups: Collection[str] = ()) -> Iterator[str]:
    """Yield the faults of a fix.

    `groups` are the names that its placeholders may take out of a log.
    """
    yield from lint_steps(recipe)
    yield from lint_placeholders(recipe)
    for number, one in enumerate(recipe.use_if):
        if isinstance(one, Condition):
            yield from (f"use_if[{number}]: {fault}" for fault in lint_condition(one))
    for pattern in (*recipe.shown, *recipe.unless):
        yield from _lint_pattern(pattern)
        if not required_literals(pattern):
            yield f"{pattern!r} holds no plain text of three characters"
    for placeholder in sorted(set(used_placeholders(recipe))):
        if placeholder.startswith("log.") and placeholder[4:] not in groups:
            yield f"{{{placeholder}}}: no signature has a group of that name"
        elif not placeholder.startswith("log.") and not is_known(placeholder):
            yield f"{{{placeholder}}}: no such fact"


def _lint_example_kinds(issue: KnownIssue) -> Iterator[str]:
    kinds = [example.expect for example in issue.examples]
    read = {reference.url for reference in issue.references}
    for number, example in enumerate(issue.examples):
        if example.source and not _ADDRESS.match(example.source):
            yield f"examples[{number}].source: {example.source!r} is no address"
        if example.source in read:
            yield (
                f"examples[{number}].source: it stands under references; an example of that "
                "thread proves nothing new"
            )
    if "match" not in kinds:
        yield "examples: one must match"
    if not {"no-match", "ruled-out", "undecided"} & set(kinds):
        yield "examples: one must not match"
