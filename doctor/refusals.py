"""What this machine does not grant, told apart from what is wrong with a patient and with doctor."""

from __future__ import annotations

import errno
from collections.abc import Callable
from typing import NamedTuple

_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT} if hasattr(errno, "EDQUOT") else {errno.ENOSPC})
_FILES = frozenset({errno.EMFILE, errno.ENFILE})
_NO_LIMIT = 1 << 50


class Refusal(NamedTuple):
    """What is refused (`room`, `files`, `memory`, `processes` or `rights`), and a sentence about it."""

    what: str
    words: str


def refusal(error: BaseException) -> Refusal | None:
    """Return what the machine refused where an error says so; None for an error of another kind.

    `RuntimeError` is what CPython raises for a thread that cannot be started, and `BlockingIOError` (EAGAIN) for a process.
    """
    if isinstance(error, MemoryError):
        return Refusal("memory", f"there is no memory left{bound('RLIMIT_AS', 'ulimit -v', _megabytes)}")
    if isinstance(error, RuntimeError):
        return _processes() if "can't start new thread" in str(error) else None
    if not isinstance(error, OSError):
        return None
    if error.errno in _FILES:
        return Refusal("files", f"too many files are open{bound('RLIMIT_NOFILE', 'ulimit -n')}")
    if error.errno == errno.ENOMEM:
        return refusal(MemoryError())
    if error.errno == errno.EAGAIN:
        return _processes()
    where = f": {error.filename}" if error.filename not in (None, "") else ""
    return Refusal("room" if error.errno in _ROOM else "rights", f"{error.strerror or error}{where}")


def _processes() -> Refusal:
    return Refusal("processes", f"no further process or thread may be started{bound('RLIMIT_NPROC', 'ulimit -u')}")


def limit(name: str) -> int | None:
    """Return a limit of this process by its name in `resource`; None where there is none, or no such limits at all."""
    try:
        import resource

        allowed = resource.getrlimit(getattr(resource, name))[0]
    except (ImportError, AttributeError, OSError, ValueError):
        return None
    return None if allowed == resource.RLIM_INFINITY or allowed > _NO_LIMIT else allowed


def bound(name: str, command: str, shown: Callable[[int], str] = str) -> str:
    """Say in brackets how a shell shows a limit, and what it is; empty where there is none."""
    allowed = limit(name)
    return "" if allowed is None else f" ({command}: {shown(allowed)})"


def _megabytes(number: int) -> str:
    return f"{number // 1_000_000} MB"
