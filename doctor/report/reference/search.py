"""Find checks, known issues and tables by words, globs and components."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from doctor.base.globs import matches_any
from doctor.model.catalog import Catalog
from doctor.model.checks import Check
from doctor.model.issues import KnownIssue


class Matches(msgspec.Struct, frozen=True, kw_only=True):
    """Ids of checks, known issues and tables that fit a query, the best ones first."""

    checks: tuple[str, ...] = ()
    issues: tuple[str, ...] = ()
    tables: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        """Say whether anything fits."""
        return bool(self.checks or self.issues or self.tables)


def matching(words: Sequence[str], catalog: Catalog, checks: Mapping[str, Check]) -> Matches:
    """Return what every word fits: as a component, a glob of ids, or a part of an id or a title."""
    components = {name.partition("/")[0] for name in catalog.issues}
    named = [word for word in words if word in components]
    others = [word for word in words if word not in components]
    issues = {
        name: (name, issue.title)
        for name, issue in catalog.issues.items()
        if all(name.partition("/")[0] == component for component in named)
    }
    return Matches(
        checks=_fitting(
            {name: (name, "" if named else one.header.summary) for name, one in checks.items()},
            words,
        ),
        issues=_fitting(issues, others),
        tables=_fitting({name: (name, "") for name in catalog.tables}, words),
    )


def with_words(words: Sequence[str], catalog: Catalog) -> tuple[str, ...]:
    """Return the known issues that hold every word anywhere: title, cause, or text of a log."""
    wanted = [word.casefold() for word in words]
    ranked = []
    for name, issue in catalog.issues.items():
        parts = [part.casefold() for part in _parts(name, issue)]
        if all(any(word in part for part in parts) for word in wanted):
            first = max(next(n for n, part in enumerate(parts) if word in part) for word in wanted)
            ranked.append((first, name))
    return tuple(name for _, name in sorted(ranked))


def _parts(name: str, issue: KnownIssue) -> tuple[str, ...]:
    patterns = " ".join(signature.pattern for signature in issue.signatures)
    plain = patterns.replace(r"\s+", " ").replace("\\", "")
    return (f"{name} {issue.title}", plain, issue.cause)


def _fitting(known: Mapping[str, tuple[str, str]], words: Sequence[str]) -> tuple[str, ...]:
    """Return the ids that fit each word, in their order."""
    found = (
        name for name, texts in known.items() if all(_fits(name, texts, word) for word in words)
    )
    return tuple(sorted(found))


def _fits(name: str, texts: tuple[str, str], word: str) -> bool:
    if any(sign in word for sign in "*?["):
        return matches_any(name, (word,))
    return any(word.casefold() in text.casefold() for text in texts)


def document(found: Matches, catalog: Catalog, checks: Mapping[str, Check]) -> dict[str, Any]:
    """Return matches as plain values, for programs."""
    return {
        "checks": [
            {
                "id": name,
                "summary": checks[name].header.summary,
                "kind": checks[name].header.kind.value,
                "tier": checks[name].header.tier.value,
                "seconds": checks[name].header.timeout,
            }
            for name in found.checks
        ],
        "issues": [
            {
                "id": name,
                "title": catalog.issues[name].title,
                "severity": catalog.issues[name].severity.value,
            }
            for name in found.issues
        ],
        "tables": [{"id": name, "title": catalog.tables[name].title} for name in found.tables],
    }
