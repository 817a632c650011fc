"""Remove a folder tree, whatever a check has left in it.

The module imports nothing of doctor: the supervisor's child runs it as a script.
"""

from __future__ import annotations

import contextlib
import itertools
import os
from collections.abc import Iterator
from pathlib import Path

_LONG = 1000
"""Characters of a path; some systems take no more than 1024."""


def remove_tree(folder: Path) -> bool:
    """Remove a folder as far as that is possible, and say whether it is gone.

    However deep it is: a folder whose path is long is moved to the top before it is looked into, so
    that neither the stack nor the path grows without end (`shutil.rmtree` gives up at a thousand
    folders). Links are removed, never followed.
    """
    waiting, emptied = [folder], []
    names = (folder / f".{os.getpid()}-{number}" for number in itertools.count())
    while waiting:
        place = waiting.pop()
        emptied.append(place)
        with contextlib.suppress(OSError):
            place.chmod(0o700)
        for entry in _entries(place):
            with contextlib.suppress(OSError):
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(
                        _move_up(Path(entry.path), names)
                        if len(entry.path) > _LONG
                        else Path(entry.path)
                    )
                else:
                    _unlink(Path(entry.path))
    for place in reversed(emptied):
        with contextlib.suppress(OSError):
            place.rmdir()
    return not os.path.lexists(folder)


def _entries(place: Path) -> list[os.DirEntry[str]]:
    with contextlib.suppress(OSError), os.scandir(place) as entries:
        return list(entries)
    return []


def _move_up(path: Path, names: Iterator[Path]) -> Path:
    path.chmod(0o700)  # what may not be written may not be moved
    return path.rename(next(name for name in names if not os.path.lexists(name)))


def _unlink(path: Path) -> None:
    try:
        path.unlink()
    except PermissionError:  # Windows keeps what is read-only
        if os.name != "nt":
            raise  # elsewhere a mode does not decide, and other names of the file share it
        path.chmod(0o600)
        path.unlink()
