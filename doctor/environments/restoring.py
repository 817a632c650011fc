"""Make a folder what a manifest says, by the smallest number of changes.

Each step may be the last one: a second run finds what is left to do.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import os
import shutil
import stat
from collections.abc import Mapping
from pathlib import Path

from doctor.environments.manifest import Manifest, StoredEntry
from doctor.environments.transfer import hard_link, reflink
from doctor.environments.tree import Entry, Kind, Tree, scan
from doctor.host.removal import remove_tree

_BLOCK = 1 << 20
_TEMPORARY = ".doctor-restore-"


def restore_tree(manifest: Manifest, without: frozenset[str]) -> int:
    """Restore everything below the prefix; return how many entries changed.

    `without` are relative paths that stay as they are. Raises OSError.
    """
    restoring = _Restoring(manifest, without)
    restoring.run()
    return restoring.changed


def differences(manifest: Manifest, without: frozenset[str]) -> list[str]:
    """Return the paths whose kind, mode, time, size or link target differs from a manifest.

    Contents and owners are not compared.
    """
    tree = scan(Path(manifest.root), without)
    wanted = {stored.entry.path: stored.entry for stored in manifest.entries}
    here = {entry.path: entry for entry in tree.entries}
    wanted[""], here[""] = manifest.top, tree.top
    return [
        path
        for path in sorted(wanted.keys() | here.keys())
        if _facts(wanted.get(path)) != _facts(here.get(path))
    ]


def _facts(entry: Entry | None) -> tuple[object, ...] | None:
    if entry is None:
        return None
    is_link, is_folder = entry.kind is Kind.LINK, entry.kind is Kind.FOLDER
    return (
        entry.kind,
        None if is_link else entry.mode,
        entry.changed,
        None if is_folder else entry.size,
        entry.target,
    )


class _Restoring:
    def __init__(self, manifest: Manifest, without: frozenset[str]) -> None:
        self._manifest, self._without = manifest, without
        self._root = manifest.root
        self._numbers = itertools.count()
        self._reflinks = True
        self.changed = 0

    def run(self) -> None:
        Path(self._root).mkdir(mode=0o700, parents=True, exist_ok=True)
        here = {entry.path: entry for entry in self._opened().entries}
        wanted = {stored.entry.path: stored for stored in self._manifest.entries}
        for entry in reversed(list(here.values())):
            stored = wanted.get(entry.path)
            if stored is None or stored.entry.kind is not entry.kind:
                self._remove(self._path(entry), entry)
        for stored in self._manifest.entries:
            self._put_back(stored, here)
        for stored in reversed(self._manifest.entries):
            self._describe(self._path(stored.entry), stored.entry)
        self._describe(self._root, self._manifest.top)

    def _path(self, entry: Entry) -> str:
        return f"{self._root}/{entry.path}"

    def _opened(self) -> Tree:
        """List the folder as it is now, with permission to change each folder."""
        while True:
            os.chmod(self._root, 0o700)  # noqa: PTH101
            tree = scan(Path(self._root), self._without)
            closed = [
                entry.path
                for entry in tree.entries
                if entry.kind is Kind.FOLDER and entry.mode & 0o700 != 0o700
            ]
            for path in closed:
                os.chmod(f"{self._root}/{path}", 0o700)  # noqa: PTH101
            if not closed:
                return tree

    def _remove(self, path: str, entry: Entry) -> None:
        self.changed += 1
        if entry.kind is Kind.FOLDER:
            if not remove_tree(Path(path)):
                raise OSError(f"{path} cannot be removed")
        else:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)  # noqa: PTH108 - thousands of times

    def _put_back(self, stored: StoredEntry, here: Mapping[str, Entry]) -> None:
        entry, path = stored.entry, self._path(stored.entry)
        now = here.get(entry.path)
        now = now if now and now.kind is entry.kind else None
        match entry.kind:
            case Kind.FOLDER if now is None:
                os.mkdir(path, 0o700)  # noqa: PTH102 - thousands of times
            case Kind.LINK if now is None or now.target != entry.target:
                temporary = self._temporary(path)
                os.symlink(entry.target, temporary)  # noqa: PTH211 - a Path changes some targets
                os.replace(temporary, path)  # noqa: PTH105
            case Kind.PIPE if now is None:
                os.mkfifo(path, 0o600)
            case Kind.FILE if now is None or not self._is_same(path, now, stored):
                self._replace(path, stored)
            case _:
                return
        self.changed += 1

    def _is_same(self, path: str, now: Entry, stored: StoredEntry) -> bool:
        """Say whether a file has the content of the snapshot, which was checked before."""
        if now.size != stored.entry.size:
            return False
        kept = os.lstat(self._manifest.path_of(stored))
        if now.inode == (kept.st_dev, kept.st_ino):
            return True
        digest = hashlib.sha256()
        try:
            with open(path, "rb", buffering=0) as file:  # noqa: PTH123 - thousands of times
                while block := file.read(_BLOCK):
                    digest.update(block)
        except OSError:
            return False
        return digest.hexdigest() == stored.digest

    def _replace(self, path: str, stored: StoredEntry) -> None:
        """Put a file in place at once, shared with the snapshot as it was before."""
        source, temporary = self._manifest.path_of(stored), self._temporary(path)
        kept = os.lstat(source)
        was_shared = (kept.st_dev, kept.st_ino) == stored.entry.inode
        self._reflinks = self._reflinks and reflink(source, temporary, stored.entry)
        if not self._reflinks and not (was_shared and hard_link(source, temporary)):
            shutil.copyfile(source, temporary)
        os.replace(temporary, path)  # noqa: PTH105 - thousands of times

    def _temporary(self, path: str) -> str:
        folder = os.path.dirname(path)  # noqa: PTH120 - thousands of times
        return f"{folder}/{_TEMPORARY}{os.getpid()}-{next(self._numbers)}"

    def _describe(self, path: str, entry: Entry) -> None:
        """Give an entry its owner, mode and time, where they differ."""
        status = os.lstat(path)
        follows = os.utime in os.supports_follow_symlinks
        if hasattr(os, "chown") and (status.st_uid, status.st_gid) != (entry.owner, entry.group):
            with contextlib.suppress(PermissionError):
                os.chown(path, entry.owner, entry.group, follow_symlinks=False)
                status = os.lstat(path)  # a change of the owner clears set-user-ID
        if entry.kind is not Kind.LINK and stat.S_IMODE(status.st_mode) != entry.mode:
            os.chmod(path, entry.mode)  # noqa: PTH101 - thousands of times
        if status.st_mtime_ns != entry.changed and (entry.kind is not Kind.LINK or follows):
            os.utime(path, ns=(entry.changed, entry.changed), follow_symlinks=not follows)
