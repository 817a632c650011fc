"""Bring files into a clone: reflinks, hard links, symbolic links or copies.

A file is never opened for writing before it is new: what is shared with the original is only
linked, removed or replaced.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import stat
import sys
from collections.abc import Callable
from pathlib import Path

from doctor.environments.layout import SMALL, CloneError, Item
from doctor.environments.tree import Entry
from doctor.host.reading import RECORD

_FICLONE = 0x40049409
"""FICLONE of linux/fs.h: https://man7.org/linux/man-pages/man2/ioctl_ficlone.2.html."""
_READ = (
    os.O_RDONLY
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_BINARY", 0)
)
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
_BLOCK = 8 << 20
_BINARY = 512 << 20
"""Bytes of a binary of conda; libpython has some 20 million."""
_NO_LINK = {errno.EXDEV, errno.EPERM, errno.EMLINK, errno.EACCES, errno.ENOTSUP, errno.ENOSYS}


class Transfer:
    """Bring single files to new paths, and count the bytes that are written."""

    def __init__(self, *, reflinks: bool, hard_links: bool, most_bytes: int) -> None:
        self._reflinks, self._hard_links, self._most = reflinks, hard_links, most_bytes
        self.written = 0
        self.shared = {"reflinks": 0, "hard links": 0, "symbolic links": 0, "copies": 0}
        self.notes: list[str] = []

    def share(self, item: Item, path: str) -> None:
        """Let a new path have the content of a file in the cheapest safe way."""
        if self._reflinks and reflink(item.source, path, item.entry):
            self.shared["reflinks"] += 1
        elif self._hard_links and hard_link(item.source, path):
            self.shared["hard links"] += 1
        elif item.entry.size > SMALL // 16 and _is_closed(item):
            # Nobody writes through a link to what this user may not write.
            Path(path).symlink_to(item.source)
            self.shared["symbolic links"] += 1
        else:
            self.copy(item, path)
            self.shared["copies"] += 1

    def copy(
        self, item: Item, path: str, change: Callable[[bytes], bytes] | None = None
    ) -> tuple[bytes, bytes] | None:
        """Copy a file; return its content before and after, if `change` altered it.

        Only text of at most `RECORD` bytes is changed, and binaries with a placeholder. Raises
        CloneError where the disk would be full.
        """
        try:
            source = os.open(item.source, _READ)
        except OSError as error:
            self._stand_in(item, path, error)
            return None
        with contextlib.ExitStack() as stack:
            stack.callback(os.close, source)
            if not stat.S_ISREG(os.fstat(source).st_mode):
                raise CloneError(f"{item.source} was exchanged while it was copied")
            self._spend(item.entry.size)
            most = _BINARY if item.placeholder else RECORD
            data = os.read(source, most + 1) if change and item.entry.size <= most else None
            if data is None or len(data) > most or (b"\0" in data and not item.placeholder):
                os.lseek(source, 0, os.SEEK_SET)
                _write(path, item.entry, source)
                return None
            changed = change(data) if change else data
            _write(path, item.entry, changed, is_changed=changed != data)
            return (data, changed) if changed != data else None

    def _spend(self, size: int) -> None:
        self.written += size
        if self.written > self._most:
            raise CloneError("the disk has too little free space for a copy")

    def _stand_in(self, item: Item, path: str, error: OSError) -> None:
        """Put something else in place of a file that this user may not read."""
        if self._hard_links and hard_link(item.source, path):
            return
        with contextlib.suppress(OSError):
            os.close(os.open(path, _NEW, 0o600))
            os.truncate(path, item.entry.size)
            _give(path, item.entry)
        self.notes.append(f"{item.source} cannot be read ({error.strerror}); the clone has zeros")


def can_reflink(source: str, folder: Path, entry: Entry) -> bool:
    """Say whether a file can be cloned into a folder."""
    path = str(folder / "trial")
    try:
        return reflink(source, path, entry)
    finally:
        Path(path).unlink(missing_ok=True)


def can_hard_link(source: str, folder: Path) -> bool:
    """Say whether a file can have another name in a folder."""
    path = str(folder / "trial")
    try:
        return hard_link(source, path)
    except OSError:
        return False
    finally:
        Path(path).unlink(missing_ok=True)


def reflink(source: str, path: str, entry: Entry) -> bool:
    """Make a file that shares its blocks with another until one of them is written."""
    if sys.platform == "darwin":
        return _clonefile(source, path)
    if sys.platform != "linux":
        return False
    import fcntl

    try:
        reading = os.open(source, _READ)
    except OSError:
        return False
    try:
        writing = os.open(path, _NEW, 0o600)
        try:
            fcntl.ioctl(writing, _FICLONE, reading)
        except OSError:
            os.unlink(path)  # noqa: PTH108 - tens of thousands of times
            return False
        finally:
            os.close(writing)
    finally:
        os.close(reading)
    _give(path, entry)
    return True


def _clonefile(source: str, path: str) -> bool:
    """Call clonefile(2) of macOS, which keeps mode and times."""
    import ctypes

    with contextlib.suppress(OSError, AttributeError):
        follow_no_link = 1
        clone = ctypes.CDLL(None, use_errno=True).clonefile
        return bool(clone(os.fsencode(source), os.fsencode(path), follow_no_link) == 0)
    return False


def hard_link(source: str, path: str) -> bool:
    """Give a file another name; False where this system or this user cannot."""
    if sys.platform == "win32":
        return False  # the attribute read-only belongs to all names of a file there
    try:
        os.link(source, path, follow_symlinks=False)
    except OSError as error:
        if error.errno in _NO_LINK:
            return False
        raise
    return True


def _is_closed(item: Item) -> bool:
    """Say whether this user cannot make a file writable."""
    if not hasattr(os, "statvfs"):
        return False
    with contextlib.suppress(OSError):
        if os.statvfs(item.source).f_flag & os.ST_RDONLY:
            return True
        is_ours = os.geteuid() in (0, item.entry.owner)
        return not is_ours and os.access(item.source, os.R_OK) and not _is_writable(item)
    return False


def _is_writable(item: Item) -> bool:
    return os.access(item.source, os.W_OK)


def _write(path: str, entry: Entry, content: int | bytes, *, is_changed: bool = False) -> None:
    """Write a new file from bytes or an open file; it gets mode and time of the original.

    A file with another content gets the present time, or bytecode of the original would pass for
    its own.
    """
    descriptor = os.open(path, _NEW, 0o600)
    with open(descriptor, "wb") as file:  # noqa: PTH123 - a descriptor
        if isinstance(content, bytes):
            file.write(content)
        else:
            with open(content, "rb", closefd=False) as source:
                shutil.copyfileobj(source, file, _BLOCK)
    _give(path, entry, keep_time=not is_changed)


def _give(path: str, entry: Entry, *, keep_time: bool = True) -> None:
    if keep_time:
        os.utime(path, ns=(entry.changed, entry.changed))
    os.chmod(path, entry.mode & 0o777)  # noqa: PTH101 - tens of thousands of times
