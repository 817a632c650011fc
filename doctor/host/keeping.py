"""Folders in which doctor keeps something between two runs.

What is read from them is trusted only if nobody else could have written it. So owner and mode of a
folder are checked.
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Mapping
from pathlib import Path

STATE_NAME = "canary-doctor"
"""The folder of doctor below those for caches and for state."""


def cache_folder(env: Mapping[str, str]) -> Path | None:
    """Return the folder of verdicts: DOCTOR_CACHE_DIR, below XDG_CACHE_HOME, or below ~/.cache.

    None where DOCTOR_CACHE_DIR is empty, which switches this off, where the place is not an
    absolute path, and where the home folder does not exist.
    """
    if (own := env.get("DOCTOR_CACHE_DIR")) is not None:
        return Path(own) if Path(own).is_absolute() else None
    return _below(env, "XDG_CACHE_HOME", ".cache")


def state_folder(env: Mapping[str, str]) -> Path | None:
    """Return the folder of reports: DOCTOR_CACHE_DIR, below XDG_STATE_HOME, or ~/.local/state.

    On Windows below LOCALAPPDATA. None as for `cache_folder`.
    """
    if (own := env.get("DOCTOR_CACHE_DIR")) is not None:
        return Path(own) if Path(own).is_absolute() else None
    if sys.platform == "win32" and Path(local := env.get("LOCALAPPDATA", "")).is_absolute():
        return Path(local) / STATE_NAME
    return _below(env, "XDG_STATE_HOME", ".local/state")


def _below(env: Mapping[str, str], variable: str, default: str) -> Path | None:
    named, home = Path(env.get(variable, "")), Path(env.get("HOME", ""))
    if named.is_absolute():
        return named / STATE_NAME
    # Debian gives its system users HOME=/nonexistent: such a home is not made.
    return home / default / STATE_NAME if home.is_absolute() and home.is_dir() else None


def make_private(folder: Path) -> bool:
    """Make a folder where it is missing, and say whether nobody else can write it.

    Raises OSError where it cannot be made.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return is_private(folder)


def is_private(folder: Path) -> bool:
    """Say whether this user owns a folder and nobody else can write it.

    Elsewhere somebody could plant a file. On Windows a folder of the profile belongs to its user.
    """
    try:
        state = folder.lstat()
    except OSError:
        return False
    if not stat.S_ISDIR(state.st_mode) or sys.platform == "win32":
        return stat.S_ISDIR(state.st_mode)
    return state.st_uid == os.geteuid() and not state.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def newest(folder: Path) -> list[Path]:
    """Return the JSON files of a folder, the newest first; none where it cannot be read."""
    try:
        found = [(path.lstat().st_mtime_ns, path) for path in folder.glob("*.json")]
    except OSError:
        return []
    return [path for _, path in sorted(found, reverse=True)]
