"""Find the Cargo workspace of a checkout, and the files that git tracks.

Git's index is read, and git is not started.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

from doctor.base.lazy_pattern import Pattern
from doctor.base.refusals import current_folder, home_folder
from doctor.host import read_regular
from doctor.host.reading import SOURCE

_WORKSPACE = Pattern(r"^[ \t]*\[workspace[.\]]", re.MULTILINE)
_LIMIT = 64 << 20
_HEADER, _ENTRY, _EXTENDED = 12, 62, 0x4000
"""Bytes of the header and of an entry's fixed part, and the flag of a longer entry.

https://git-scm.com/docs/index-format
"""


def find_workspace(project: Path) -> Path | None:
    """Return the folder of the Cargo workspace around `project`.

    It lies neither above the git repository nor is it the home folder.
    """
    crate = None
    for folder in upwards(project if project.is_absolute() else current_folder() / project):
        manifest = folder / "Cargo.toml"
        if (folder / "Cargo.lock").is_file():
            return folder
        if manifest.is_file():
            crate = crate or folder
            if _WORKSPACE.search(
                (read_regular(manifest, SOURCE) or b"").decode("utf-8", "replace")
            ):
                return folder
    return crate


def upwards(folder: Path) -> Iterator[Path]:
    """Yield a folder and those above it, up to the repository's root or below the home folder."""
    own = home_folder()
    yield folder
    for parent in folder.parents:
        if own in (parent, folder) or (folder / ".git").exists():
            return
        folder = parent
        yield folder


def is_tracked(path: Path) -> bool:
    """Say whether the repository that a path lies in tracks it, or anything below it.

    False where there is no repository.
    """
    found = next((folder for folder in path.parents if os.path.exists(f"{folder}/.git")), None)  # noqa: PTH110 - one that cannot be asked is none
    if found is None:
        return False
    data = read_regular(_git(found) / "index", _LIMIT) or b""
    name = path.relative_to(found).as_posix().encode("utf-8", "surrogateescape")
    if data[:4] != b"DIRC":
        return False
    if int.from_bytes(data[4:8], "big") >= 4:
        return any(each == name or each.startswith(name + b"/") for each in _compressed(data))
    return any(_names(data, name + end) for end in (b"/", b"\0"))


def _git(folder: Path) -> Path:
    """Return the folder of git; a worktree and a submodule have a file that names theirs."""
    text = read_regular(folder / ".git", 1 << 16)
    named = (text or b"").decode("utf-8", "surrogateescape").partition("gitdir:")[2].strip()
    return folder / named if named else folder / ".git"


def _names(data: bytes, needle: bytes) -> bool:
    """Say whether an entry begins with a name.

    Its length stands before it, or two bytes earlier in an extended entry.
    """
    at = data.find(needle, _HEADER)
    while at >= 0:
        length = min(data.find(b"\0", at) - at, 0xFFF)
        if any(
            int.from_bytes(data[flags : flags + 2], "big") & 0xFFF == length
            for flags in (at - 2, at - 4)
        ):
            return True
        at = data.find(needle, at + 1)
    return False


def _compressed(data: bytes) -> Iterator[bytes]:
    """Yield the names of version 4, each of which is its difference from the one before."""
    at, name = _HEADER, b""
    for _ in range(int.from_bytes(data[8:12], "big")):
        if at + _ENTRY > len(data):
            return
        at += _ENTRY + (
            2 if int.from_bytes(data[at + _ENTRY - 2 : at + _ENTRY], "big") & _EXTENDED else 0
        )
        less = data[at] & 127 if at < len(data) else 0
        while at < len(data) and data[at] & 128:
            at += 1
            less = ((less + 1) << 7) | (data[at] & 127 if at < len(data) else 0)
        end = data.find(b"\0", at + 1)
        if end < 0:
            return
        name = name[: max(len(name) - less, 0)] + data[at + 1 : end]
        yield name
        at = end + 1
