"""Turn the options of `doctor check` into checks, devices and bounds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from doctor.base.errors import UsageError
from doctor.base.globs import matches_any
from doctor.base.refusals import absolute_path
from doctor.base.suggestions import suggest
from doctor.model.catalog import Catalog
from doctor.model.checks import Check

MOST_SECONDS = 1e7
"""Longest bound in seconds; the timers of some systems take no more than months."""
NONE = ("",)
"""The globs of checks where `--only` names known issues alone."""


def selected_ids(
    only: Sequence[str], known: Catalog, checks: Mapping[str, Check], named: str = "--only"
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Sort the globs of `--only` into those of known issues and those of checks.

    One that names nothing at all is a mistake.

    Where there are globs and none names a check, the glob of checks is one that matches none.
    """
    issues = tuple(
        glob for glob in only if any(matches_any(name, (glob,)) for name in known.issues)
    )
    runs = tuple(glob for glob in only if any(matches_any(name, (glob,)) for name in checks))
    for glob in only:
        if glob not in (*issues, *runs):
            raise UsageError(
                f"{named} {glob}: no check and no known issue has such an "
                f"id{suggest(glob, [*checks, *known.issues])}"
            )
    return issues, runs or (NONE if only else ())


def sources(flash_attn: Path | None, *, network: bool) -> dict[str, str]:
    """Return what checks are told about sources that they may build (checks/README.md)."""
    if flash_attn is not None and not flash_attn.exists():
        raise UsageError(f"--flash-attn {flash_attn}: no such file or folder")
    given = {"CANARY_FLASH_ATTN": str(flash_attn.resolve())} if flash_attn else {}
    return {**given, "CANARY_NETWORK": "1"} if network else given


def features(texts: Iterable[str]) -> tuple[str, ...]:
    """Return the named Cargo features; commas or spaces separate them, as for cargo."""
    return tuple(feature for text in texts for feature in text.replace(",", " ").split())


def folder(project: Path) -> Path:
    """Return the project's folder; raises UsageError where there is none."""
    if not project.is_dir():
        raise UsageError(f"--project {project}: no such folder")
    return absolute_path(project)
