"""Releases that known issues say do not work together, though their metadata allow it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

import msgspec

from doctor.base.versions import in_range
from doctor.model.catalog import Catalog
from doctor.model.issues import Affected, KnownIssue
from doctor.model.scales import Severity

_BAD = frozenset({Severity.WARNING, Severity.ERROR})
_PAIR = 2


class Clash(msgspec.Struct, frozen=True, kw_only=True):
    """Two or more releases that do not work together; `limit` keeps the resolver from them.

    `limit` is empty where each of them was asked for.
    """

    issue: str
    title: str
    packages: tuple[str, ...]
    limit: str = ""


def clashes(
    packages: Mapping[str, str], catalog: Catalog, pinned: Collection[str]
) -> Iterator[Clash]:
    """Yield the known issues that a choice of releases runs into by its packages alone."""
    for name, issue in catalog.issues.items():
        for row in issue.affected:
            if _holds(row, packages):
                yield Clash(
                    issue=name,
                    title=_title(issue, row),
                    packages=tuple(row.packages),
                    limit=_limit(row, pinned),
                )
                break


def _holds(row: Affected, packages: Mapping[str, str]) -> bool:
    if len(row.packages) < _PAIR or row.when or row.predicts not in _BAD:
        return False
    return all(
        name in packages
        and any(
            in_range(packages[name], introduced=one.introduced, fixed=one.fixed) is True
            for one in ranges
        )
        for name, ranges in row.packages.items()
    )


def _title(issue: KnownIssue, row: Affected) -> str:
    title = row.title or issue.title
    return title if "{" not in title else issue.title.partition("{")[0].rstrip(" :,(")


def _limit(row: Affected, pinned: Collection[str]) -> str:
    """Return a requirement that leaves the pair: an older one of what nobody asked for."""
    for name, ranges in reversed(row.packages.items()):
        if name not in pinned and len(ranges) == 1 and ranges[0].introduced:
            return f"{name}<{ranges[0].introduced}"
    for name, ranges in row.packages.items():
        if name not in pinned and len(ranges) == 1 and ranges[0].fixed:
            return f"{name}>={ranges[0].fixed}"
    return ""
