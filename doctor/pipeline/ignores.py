"""`[[tool.doctor.ignore]]`: what a project lives with, why, and until when."""

from __future__ import annotations

import os
from datetime import date, datetime
from pathlib import Path
from typing import Any

from doctor.base.errors import UsageError
from doctor.base.refusals import absolute_path
from doctor.base.suggestions import suggest
from doctor.judge.suppressions import Ignore
from doctor.model.findings import Place
from doctor.pipeline.manifest import Manifest, nearest

_KEYS = ("id", "reason", "until", "match")
_SAYS = {
    "id": "the id of a finding, or a glob of ids",
    "reason": "why it is ignored",
    "match": "a text in the finding's message",
}


_FILLERS = "\u115f\u1160\u3164\uffa0"
"""Letters without a shape (Unicode, Default_Ignorable_Code_Point)."""


def ignores_of(project: Path) -> tuple[Ignore, ...]:
    """Return the ignores of a project: those of the nearest pyproject.toml with `[tool.doctor]`.

    Raises UsageError for a broken one, with the file and the line.
    """
    folder = absolute_path(project)
    manifest = nearest(folder)
    return () if manifest is None else read_ignores(manifest, folder)


def read_ignores(manifest: Manifest, project: Path) -> tuple[Ignore, ...]:
    """Read every ignore of a manifest; raises UsageError with the file, the line and the key."""
    entries = manifest.table.get("ignore", [])
    lines = manifest.ignores()
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise UsageError(
            f"{manifest.path}:{manifest.line('ignore')}: tool.doctor.ignore is a list of tables: "
            "[[tool.doctor.ignore]]"
        )
    if len(lines) != len(entries):
        lines = [manifest.line("ignore")] * len(entries)
    named = _named(manifest.path, project)
    return tuple(
        _ignore(entry, manifest.path, Place(path=named, line=line))
        for entry, line in zip(entries, lines, strict=True)
    )


def _named(path: Path, project: Path) -> str:
    """Name the manifest as the project does."""
    return Path(os.path.relpath(path, project)).as_posix()


def _ignore(entry: dict[str, Any], path: Path, place: Place) -> Ignore:
    where = f"{path}:{place.line}: tool.doctor.ignore"
    for key in entry:
        if key not in _KEYS:
            raise UsageError(
                f"{where}.{key} is no key of an ignore"
                f"{suggest(key, _KEYS, '; it has ' + ', '.join(_KEYS))}"
            )
    for key, says in _SAYS.items():
        value = entry.get(key, "" if key == "match" else None)
        if (
            not isinstance(value, str)
            or (key != "match" and not value.strip())
            or (key == "reason" and not _has_words(value))
        ):
            raise UsageError(f"{where}.{key} has to be there as a text: {says}")
    return Ignore(
        id=entry["id"],
        reason=entry["reason"],
        until=_day(entry, where),
        match=entry.get("match", ""),
        place=place,
    )


def _has_words(reason: str) -> bool:
    """Say whether a reader sees a letter or a digit."""
    return any(letter.isalnum() and letter not in _FILLERS for letter in reason)


def _day(entry: dict[str, Any], where: str) -> date:
    value = entry.get("until")
    if isinstance(value, str):
        try:
            return date.fromisoformat(value)
        except ValueError:
            value = None
    if isinstance(value, datetime):
        return value.date()
    if isinstance(value, date):
        return value
    raise UsageError(f"{where}.until has to be there as a day: until = 2027-01-31")
