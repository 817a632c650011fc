"""Read files that are not doctor's own: regular files only, and each within a bound.

Whoever reads names a bound. A file beyond it is refused as a whole (`read_whole`), or its beginning
is all that is looked at (`read_regular`). What is no file is not opened at all: opening some
devices already does something, and a pipe may never be filled.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from doctor.base.errors import DoctorError

METADATA: Final = 1 << 20
"""Bytes of a METADATA or PKG-INFO, whose headers stand before the long description.

The largest on the package index hold some 400,000, description included.
"""
RECORD: Final = 8 << 20
"""Bytes of a RECORD: that of torch 2.13.0 holds 1.3 million, for 12,000 files."""
VERSION_FILE: Final = 64 << 10
"""Bytes of a module that assigns a version: torch/version.py, triton/__init__.py."""
SOURCE: Final = 2 << 20
"""Bytes of a file of source code, of a header or of a manifest that is looked into."""
LOCK: Final = 16 << 20
"""Bytes of a lock file."""
DOCUMENT: Final = 64 << 20
"""Bytes of what a person hands in whole: a snapshot, a report, the text of collect_env."""
_BLOCK = 64 << 10
_FLAGS = (
    os.O_RDONLY
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_NOCTTY", 0)
    | getattr(os, "O_BINARY", 0)
)


class UnreadableFile(DoctorError):
    """A file exists and was not read: not regular, too large, or not permitted."""


def read_beginning(path: str | Path, limit: int) -> bytes | None:
    """Return the first bytes of a file, at most `limit`; None where there is none.

    Raises UnreadableFile for what is no regular file, and for one that this user may not read.
    """
    try:
        with descriptor_of(path) as descriptor:
            return _read(descriptor, limit, os.fstat(descriptor).st_size)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError) as error:
        raise UnreadableFile(f"{path}: {getattr(error, 'strerror', None) or error}") from None


def read_whole(path: str | Path, limit: int) -> bytes | None:
    """Return the bytes of a file; None where there is none.

    Raises UnreadableFile as `read_beginning` does, and for a file of more than `limit` bytes.
    """
    data = read_beginning(path, limit + 1)
    if data is not None and len(data) > limit:
        raise UnreadableFile(
            f"{path} is larger than {_spoken(limit)}, which is more than doctor reads of such a "
            f"file"
        )
    return data


def read_whole_text(path: str | Path, limit: int) -> str | None:
    """Return the text of a file as `read_whole` does; what is no UTF-8 in it is replaced."""
    data = read_whole(path, limit)
    return None if data is None else data.decode("utf-8", "replace")


def read_regular(path: str | Path, limit: int) -> bytes | None:
    """Return the first bytes of a regular file, at most `limit`; None for anything else."""
    try:
        with descriptor_of(path) as descriptor:
            return _read(descriptor, limit, os.fstat(descriptor).st_size)
    except (OSError, ValueError, UnreadableFile):
        return None


def read_given(path: Path, limit: int) -> bytes:
    """Return what a person handed in: a file, or a pipe that somebody fills.

    Raises OSError where it cannot be read.

    Raises UnreadableFile for more than `limit` bytes, and for a device, which has no end.
    """
    with path.open("rb") as file:
        if stat.S_ISCHR(os.fstat(file.fileno()).st_mode) and not file.isatty():
            raise UnreadableFile(f"{path}: a device, which has no end")
        data = file.read(limit + 1)
    if len(data) > limit:
        raise UnreadableFile(f"{path}: it is larger than {_spoken(limit)}")
    return data


@contextmanager
def descriptor_of(path: str | Path) -> Iterator[int]:
    """Open a regular file.

    Raises UnreadableFile for what is none, OSError where it cannot be opened.
    """
    # Looked at by its name first, since opening a device may be an act (a watchdog), and then as
    # what was opened.
    if not stat.S_ISREG(os.stat(path).st_mode):  # noqa: PTH116 - a thousand times, and a Path costs more than the call
        raise UnreadableFile(f"{path} is no regular file")
    descriptor = os.open(path, _FLAGS)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise UnreadableFile(f"{path} is no regular file")
        yield descriptor
    finally:
        os.close(descriptor)


def _read(descriptor: int, limit: int, size: int) -> bytes:
    """Read at most `limit` bytes of a file that says to have `size`.

    Those of /proc and /sys say 0, or a page.
    """
    parts: list[bytes] = []
    left, wanted = limit, size + 1 if size else _BLOCK
    while left > 0 and (part := os.read(descriptor, min(left, wanted))):
        parts.append(part)
        left -= len(part)
        if len(part) == size < wanted:
            break  # all of it, without asking once more
    return parts[0] if len(parts) == 1 else b"".join(parts)


def _spoken(size: int) -> str:
    return (
        f"{size >> 20} MiB"
        if size >= 1 << 20
        else f"{size >> 10} KiB"
        if size >= 1 << 10
        else f"{size} bytes"
    )
