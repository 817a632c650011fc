"""Recognize resources that this machine refuses: memory, disk, files, processes, permissions.

Such a refusal is no fault of doctor, and none of the target.
"""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from doctor.base.errors import DoctorError

_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT} if hasattr(errno, "EDQUOT") else {errno.ENOSPC})
_FILES = frozenset({errno.EMFILE, errno.ENFILE})
_GONE = "the current folder is gone, or hidden from this user; go to another"
_NO_LIMIT = 1 << 50


class Refusal(NamedTuple):
    """The refused resource (`room`, `files`, `memory`, `processes`, `rights`), and a sentence."""

    what: str
    words: str


class RefusedError(DoctorError):
    """This machine does not grant what doctor cannot do without (exit code 3).

    No fault of doctor, and none of the target.
    """

    def __init__(self, words: str) -> None:
        super().__init__(f"this machine does not let doctor work: {words}")


@contextlib.contextmanager
def as_refusal() -> Iterator[None]:
    """Raise RefusedError in place of what says that the machine refused something.

    Errors of every other kind pass.
    """
    try:
        yield
    except (OSError, MemoryError, RuntimeError) as error:
        if (no := refusal_of(error)) is None:
            raise
        raise RefusedError(no.words) from error


def home_folder() -> Path | None:
    """Return the home folder of this user.

    None for a user without a name whose HOME is not set, where Path.home() raises.
    """
    found = os.path.expanduser("~")  # noqa: PTH111
    return None if found.startswith("~") else Path(found)


def current_folder() -> Path:
    """Return the current folder.

    Raises RefusedError where it has been deleted or may not be looked at.
    """
    try:
        return Path.cwd()
    except OSError as error:
        raise RefusedError(_GONE) from error


def absolute_path(path: Path) -> Path:
    """Return an absolute path, links followed.

    Raises RefusedError where it is relative to a folder that is gone.
    """
    return (path if path.is_absolute() else current_folder() / path).resolve()


def refusal_of(error: BaseException) -> Refusal | None:
    """Return what the machine refused where an error says so; None for an error of another kind.

    `RuntimeError` is what CPython raises for a thread that cannot be started, and `BlockingIOError`
    (EAGAIN) for a process.
    """
    if isinstance(error, MemoryError):
        return Refusal(
            "memory", f"there is no memory left{limit_words('RLIMIT_AS', 'ulimit -v', _kilobytes)}"
        )
    if isinstance(error, RuntimeError):
        return _processes() if "can't start new thread" in str(error) else None
    if not isinstance(error, OSError):
        return None
    if error.errno in _FILES:
        return Refusal(
            "files", f"too many files are open{limit_words('RLIMIT_NOFILE', 'ulimit -n')}"
        )
    if error.errno == errno.ENOMEM:
        return refusal_of(MemoryError())
    if error.errno == errno.EAGAIN:
        return _processes()
    if error.errno == errno.ENOENT and not error.filename:
        return Refusal("rights", _GONE)
    where = f": {error.filename}" if error.filename not in (None, "") else ""
    return Refusal(
        "room" if error.errno in _ROOM else "rights", f"{error.strerror or error}{where}"
    )


def _processes() -> Refusal:
    # A thread needs room for its stack: a bound on memory ends them as well.
    words, memory = (
        "no further process or thread may be started",
        limit_words("RLIMIT_AS", "ulimit -v", _kilobytes),
    )
    return (
        Refusal("memory", words + memory)
        if memory
        else Refusal("processes", words + limit_words("RLIMIT_NPROC", "ulimit -u"))
    )


def process_limit(name: str) -> int | None:
    """Return a limit of this process by its name in `resource`.

    None where there is none, or no such limits at all.
    """
    try:
        import resource

        allowed = resource.getrlimit(getattr(resource, name))[0]
    except (ImportError, AttributeError, OSError, ValueError):
        return None
    return None if allowed == resource.RLIM_INFINITY or allowed > _NO_LIMIT else allowed


def limit_words(name: str, command: str, shown: Callable[[int], str] = str) -> str:
    """Say in brackets how a shell shows a limit, and what it is; empty where there is none."""
    allowed = process_limit(name)
    return "" if allowed is None else f" ({command}: {shown(allowed)})"


def _kilobytes(number: int) -> str:
    return f"{number >> 10} KB"
