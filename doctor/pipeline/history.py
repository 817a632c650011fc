"""The last reports, kept for `doctor show`: private files, without secrets and names."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import msgspec

from doctor import __version__
from doctor.base.errors import InputError, UsageError, WriteError
from doctor.host import read_regular
from doctor.host.keeping import is_private, make_private, newest, state_folder
from doctor.host.reading import DOCUMENT
from doctor.model.report import Report
from doctor.redact.report import masked, who

_KEPT = 10


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """A report and when it was made; `version` is that of the doctor that wrote it."""

    version: str
    made: str
    report: Report


def save(clean: Report, env: Mapping[str, str]) -> None:
    """Keep a report without secrets, and remove all but the newest ones.

    Does nothing where that is switched off or cannot be written: the report was shown already.
    """
    if (where := _folder(env)) is None:
        return
    now = datetime.now(timezone.utc)
    entry = Entry(version=__version__, made=now.isoformat(timespec="seconds"), report=clean)
    from doctor.host import writing

    with contextlib.suppress(OSError, WriteError, ValueError):
        if make_private(where):
            path = where / f"{now:%Y%m%dT%H%M%S%f}.json"
            built = msgspec.to_builtins(entry)
            built["report"] = masked(built["report"], who(env))
            writing.write(path, msgspec.json.encode(built).decode(), private=True)
            for old in newest(where)[_KEPT:]:
                old.unlink(missing_ok=True)


def entries(env: Mapping[str, str]) -> list[Path]:
    """Return the files of the reports, the last one first."""
    where = _folder(env)
    return newest(where) if where is not None and is_private(where) else []


def read(path: Path, env: Mapping[str, str]) -> Entry:
    """Read a report that `save` wrote, with the names of this machine in place of their masks.

    Raises UsageError where another release of doctor wrote it, InputError where it is damaged.
    """
    content = read_regular(path, DOCUMENT)
    try:
        raw = msgspec.json.decode(content or b"")
        version = raw["version"]
    except (ValueError, RecursionError, KeyError, TypeError) as error:
        raise InputError(f"{path}: not a report of doctor ({error})") from None
    if version != __version__:
        raise UsageError(
            f"{path}: written by canary-doctor {version}, and this is {__version__}; "
            "run the command again"
        )
    try:
        return msgspec.convert(_unmasked(raw, who(env)), Entry, strict=False)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: not a report of doctor ({error})") from None


def _folder(env: Mapping[str, str]) -> Path | None:
    where = state_folder(env)
    return where / "reports" if where is not None else None


def _unmasked(value: Any, names: Mapping[str, str]) -> Any:
    """Return a value with the masks of `who` replaced: a command in a report has to run here."""
    if isinstance(value, str):
        for mask, real in names.items():
            value = value.replace(mask, real)
        return value
    if isinstance(value, dict):
        return {_unmasked(key, names): _unmasked(item, names) for key, item in value.items()}
    if isinstance(value, list):
        return [_unmasked(item, names) for item in value]
    return value
