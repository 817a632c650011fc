"""Environments made by hand, and the state of a folder down to the last byte."""

from __future__ import annotations

import hashlib
import os
import stat
from pathlib import Path

from doctor.environments.environment import Environment


def environment(root: Path) -> Environment:
    """Describe a folder as a virtual environment."""
    site = root / "lib/python3.11/site-packages"
    return Environment(
        root=root,
        python=root / "bin/python",
        folders=(site,),
        kind="venv",
        base=Path("/usr"),
        version="3.11.7",
    )


def state(root: Path) -> dict[str, tuple[object, ...]]:
    """Return mode, owner, time, target of a link and digest of everything, the folder included."""
    found = {"": _of(root)}
    for parent, folders, files in os.walk(root):
        for name in (*folders, *files):
            path = Path(parent, name)
            found[str(path.relative_to(root))] = _of(path)
    return found


def _of(path: Path) -> tuple[object, ...]:
    status = path.lstat()
    content: object = None
    if stat.S_ISLNK(status.st_mode):
        content = os.readlink(path)  # noqa: PTH115 - as it stands
    elif stat.S_ISREG(status.st_mode):
        with path.open("rb") as file:
            content = status.st_size, hashlib.sha256(file.read()).hexdigest()
    return status.st_mode, status.st_uid, status.st_mtime_ns, content
