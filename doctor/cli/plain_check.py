"""A plain `doctor check`, without typer: its import costs as much as probing the environment.

Only options that need no conversion are known here. Everything else, mistakes and settings of the
project included, is for the application (doctor.cli.app), which defines what each option means.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import msgspec

from doctor.base.errors import UsageError
from doctor.base.refusals import RefusedError, absolute_path
from doctor.cli.examination import examine
from doctor.cli.program_names import warn_of_shadow
from doctor.pipeline.manifest import nearest
from doctor.pipeline.requests import CheckRequest, ObserveRequest
from doctor.report import Format

_FLAGS = {
    "--no-canaries": "no_canaries",
    "--quiet": "quiet",
    "-q": "quiet",
    "--verbose": "verbose",
    "-v": "verbose",
}
_PYTHON = ("--python", "-p")
_NO_SETTING = "DOCTOR_CACHE_DIR"
"""The only variable of this name that is not the setting of an option."""


class PlainCheck(msgspec.Struct, frozen=True, kw_only=True):
    """A plain check: its request, and how much of the report is shown."""

    request: CheckRequest
    quiet: bool = False
    verbose: bool = False


def parsed(arguments: Sequence[str]) -> PlainCheck | None:
    """Return the check that the arguments ask for; None where typer has to read them."""
    if arguments[:1] != ["check"] or _has_settings():
        return None
    flags: set[str] = set()
    pythons: list[str] = []
    left = list(arguments[1:])
    while left:
        word = left.pop(0)
        if word in _FLAGS:
            flags.add(_FLAGS[word])
        elif word in _PYTHON and left and left[0][:1] not in ("", "-"):
            pythons.append(left.pop(0))
        else:
            return None
    folder = None if len(pythons) > 1 else _project()
    if folder is None:
        return None
    seen = ObserveRequest(
        python=pythons[0] if pythons else None,
        project=folder,
        canaries="no_canaries" not in flags,
    )
    return PlainCheck(
        request=CheckRequest(observe=seen), quiet="quiet" in flags, verbose="verbose" in flags
    )


def run(plain: PlainCheck) -> int:
    """Run a plain check, and return the exit code."""
    warn_of_shadow()
    return examine(plain.request, Format.TEXT, quiet=plain.quiet, verbose=plain.verbose)


def _has_settings() -> bool:
    return any(name.startswith("DOCTOR_") and name != _NO_SETTING for name in os.environ)


def _project() -> Path | None:
    """Return the current folder; None where its project has settings, or it cannot be read."""
    try:
        folder = absolute_path(Path())
        return folder if folder.is_dir() and nearest(folder) is None else None
    except (RefusedError, UsageError, OSError):
        return None
