"""A hidden folder for one copy of an environment, removed at the end whatever happens.

Its supervisor (doctor/host/supervisor.py) removes it if doctor is killed. If that is killed too,
or the machine stops, the next run finds a folder whose lock nobody has, and removes it.
"""

from __future__ import annotations

import contextlib
import os
import stat
import time
from collections.abc import Iterator
from pathlib import Path

from doctor.host.locks import locked
from doctor.host.removal import remove_tree
from doctor.host.scratch import Scratch

PREFIX = ".doctor-clone-"
_LOCK = "lock"
_YOUNG_SECONDS = 60.0
"""A folder may be this old before its lock exists."""


@contextlib.contextmanager
def workspace(place: Path) -> Iterator[Scratch]:
    """Make a hidden folder in a place; raises `doctor.host.scratch.ScratchError`.

    What earlier runs left in that place is removed first.
    """
    remove_abandoned(place)
    with Scratch(place, PREFIX) as scratch, locked(scratch.folder / _LOCK):
        # git shall not offer it to be committed.
        (scratch.folder / ".gitignore").write_text("*\n", encoding="utf-8")
        yield scratch


def remove_abandoned(place: Path) -> tuple[Path, ...]:
    """Remove the folders of runs that were killed with their supervisor, and return them."""
    return tuple(
        folder for folder in _folders(place) if _is_abandoned(folder) and _is_removed(folder)
    )


def _folders(place: Path) -> list[Path]:
    with contextlib.suppress(OSError), os.scandir(place) as entries:
        return [Path(entry.path) for entry in entries if entry.name.startswith(PREFIX)]
    return []


def _is_abandoned(folder: Path) -> bool:
    with contextlib.suppress(OSError):
        status = folder.lstat()
        is_ours = not hasattr(os, "geteuid") or status.st_uid == os.geteuid()
        if not stat.S_ISDIR(status.st_mode) or not is_ours:
            return False
        if (folder / _LOCK).is_file():
            return True
        return time.time() - status.st_mtime > _YOUNG_SECONDS
    return False


def _is_removed(folder: Path) -> bool:
    """Remove a folder unless the run that made it has its lock."""
    with contextlib.suppress(OSError):
        with locked(folder / _LOCK) as is_free:
            pass  # Windows removes no file that is open
        return is_free and remove_tree(folder)
    return False
