"""List everything below a folder without following a link."""

from __future__ import annotations

import os
import stat
from enum import Enum
from pathlib import Path

import msgspec

from doctor.base.errors import DoctorError

_MOST_ENTRIES = 3_000_000
"""More than any environment holds; a bound against file systems that invent names."""

_LACKS_INODE = os.name == "nt"


class TreeError(DoctorError):
    """A folder cannot be listed as a whole."""


class Kind(Enum):
    """What a name in a folder leads to."""

    FILE = "file"
    FOLDER = "folder"
    LINK = "link"
    PIPE = "pipe"
    OTHER = "other"


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """One name below a folder; `path` is relative to that, with `/` between its parts.

    `size` is in bytes, `changed` the time of the last change of the content in nanoseconds since
    1970. `inode` holds device and number: two entries with the same pair share their content.
    `target` is the text of a symbolic link.
    """

    path: str
    kind: Kind
    mode: int
    size: int
    changed: int
    owner: int
    group: int
    inode: tuple[int, int]
    target: str = ""

    @property
    def name(self) -> str:
        """Return the last part of the path."""
        return self.path.rpartition("/")[2]

    @property
    def parent(self) -> str:
        """Return the path of the folder; empty for an entry at the top."""
        return self.path.rpartition("/")[0]


class Tree(msgspec.Struct, frozen=True, kw_only=True):
    """Everything below a folder, each folder before what it holds.

    `top` is the folder itself, with an empty path. `unlisted` are folders that could not be read.
    """

    root: Path
    top: Entry
    entries: tuple[Entry, ...]
    unlisted: tuple[str, ...] = ()

    @property
    def size(self) -> int:
        """Return the bytes of all files; a file with two names counts once."""
        files = {entry.inode: entry.size for entry in self.entries if entry.kind is Kind.FILE}
        return sum(files.values())


def scan(root: Path, without: frozenset[str] = frozenset()) -> Tree:
    """List a folder; `without` are relative paths to leave out, with all that they hold.

    Raises TreeError where the folder itself cannot be read, or holds millions of entries.
    """
    entries: list[Entry] = []
    unlisted: list[str] = []
    waiting = [""]
    try:
        top = _entry("", root.lstat(), "")
    except OSError as error:
        raise TreeError(f"{root}: {error.strerror or error}") from None
    while waiting:
        folder = waiting.pop()
        try:
            found = _listed(root, folder, without)
        except OSError as error:
            if not folder:
                raise TreeError(f"{root}: {error.strerror or error}") from None
            unlisted.append(folder)
            continue
        entries += found
        waiting += [entry.path for entry in reversed(found) if entry.kind is Kind.FOLDER]
        if len(entries) > _MOST_ENTRIES:
            raise TreeError(f"{root} holds more than {_MOST_ENTRIES:,} files and folders")
    return Tree(root=root, top=top, entries=tuple(entries), unlisted=tuple(unlisted))


def _listed(root: Path, folder: str, without: frozenset[str]) -> list[Entry]:
    found = []
    with os.scandir(f"{root}/{folder}" if folder else root) as names:
        for each in names:
            path = f"{folder}/{each.name}" if folder else each.name
            if path in without:
                continue
            try:
                # On Windows the status of a directory entry lacks the inode.
                status = os.lstat(each.path) if _LACKS_INODE else each.stat(follow_symlinks=False)
                is_link = stat.S_ISLNK(status.st_mode)
                target = os.readlink(each.path) if is_link else ""  # noqa: PTH115 - as it stands
            except FileNotFoundError:  # it was removed while the folder was listed
                continue
            found.append(_entry(path, status, target))
    return sorted(found, key=lambda entry: entry.path)


def _entry(path: str, status: os.stat_result, target: str) -> Entry:
    return Entry(
        path=path,
        kind=_kind(status.st_mode),
        mode=stat.S_IMODE(status.st_mode),
        size=status.st_size,
        changed=status.st_mtime_ns,
        owner=status.st_uid,
        group=status.st_gid,
        inode=(status.st_dev, status.st_ino),
        target=target,
    )


def _kind(mode: int) -> Kind:
    if stat.S_ISREG(mode):
        return Kind.FILE
    if stat.S_ISDIR(mode):
        return Kind.FOLDER
    if stat.S_ISLNK(mode):
        return Kind.LINK
    return Kind.PIPE if stat.S_ISFIFO(mode) else Kind.OTHER
