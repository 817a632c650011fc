"""What a folder holds, exactly enough to see whether anything in it was touched."""

from __future__ import annotations

import hashlib
import os
import stat
from pathlib import Path

_SMALL = 64 << 10
"""Up to this size the contents count; above it, size, time and inode stand for them."""


def fingerprint(folder: Path) -> dict[str, tuple[object, ...]]:
    """Return mode, size, time, inode, link target and contents of all files in a folder."""
    found: dict[str, tuple[object, ...]] = {".": _entry(folder)}
    for parent, folders, files in os.walk(folder):
        for name in (*folders, *files):
            path = Path(parent, name)
            found[str(path.relative_to(folder))] = _entry(path)
    return found


def changes(
    before: dict[str, tuple[object, ...]], after: dict[str, tuple[object, ...]]
) -> list[str]:
    """Return the paths that came, went or changed."""
    return sorted(
        path for path in before.keys() | after.keys() if before.get(path) != after.get(path)
    )


def _entry(path: Path) -> tuple[object, ...]:
    status = path.lstat()
    contents: object = None
    if stat.S_ISLNK(status.st_mode):
        contents = str(path.readlink())
    elif stat.S_ISREG(status.st_mode) and status.st_size <= _SMALL:
        contents = hashlib.sha1(path.read_bytes(), usedforsecurity=False).digest()
    return status.st_mode, status.st_size, status.st_mtime_ns, status.st_ino, contents
