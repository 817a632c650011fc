"""Find and kill process trees, by parent and by a mark in the environment.

/proc answers on Linux (proc_pid_stat(5), proc_pid_environ(5)): psutil would need 20 ms to import
for the same files. psutil answers on macOS and Windows. The module imports nothing of doctor, and
psutil only where there is no /proc: the supervisor's child runs it in a bare interpreter.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import signal
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any, NamedTuple

POSIX = os.name == "posix"
_PROC = Path("/proc")
MARK = "CANARY_RUN"
"""Set in the environment of every command. Orphans are found by it, whatever their parent."""


class ProcessStat(NamedTuple):
    """What /proc/PID/stat says of a process (proc_pid_stat(5)), as far as it is asked here."""

    state: str
    parent: int
    session: int


def process_stat(pid: int) -> ProcessStat | None:
    """Return what /proc says of a process; None where there is none."""
    if not _PROC.is_dir():
        return _portable_stat(pid)
    try:
        fields = (
            Path(f"{_PROC}/{pid}/stat")
            .read_text(encoding="utf-8", errors="replace")
            .rpartition(")")[2]  # the name of the program, in brackets, may hold any byte
            .split()
        )
        return ProcessStat(fields[0], int(fields[1]), int(fields[3]))
    except (OSError, ValueError, IndexError):
        return None


def _library() -> Any:
    """Return psutil; None where it is not installed."""
    try:
        return importlib.import_module("psutil")
    except ImportError:
        return None


def _portable_stat(pid: int) -> ProcessStat | None:
    psutil = _library()
    if psutil is None:
        return None
    try:
        one = psutil.Process(pid)
        return ProcessStat(
            "Z" if one.status() == psutil.STATUS_ZOMBIE else "S", one.ppid() or 0, os.getsid(pid)
        )
    except (psutil.Error, OSError):
        return None


def children_by_parent() -> dict[int, list[int]]:
    """Return the processes of this machine by their parents, without those that have ended."""
    children: dict[int, list[int]] = {}
    for name in _processes():
        if (seen := process_stat(int(name))) is not None and seen.state not in "ZX":
            children.setdefault(seen.parent, []).append(int(name))
    return children


def descendants(pid: int, children: dict[int, list[int]] | None = None) -> list[int]:
    """Return what descends from a process and still runs."""
    children = children_by_parent() if children is None else children
    found, todo = [], [pid]
    while todo:
        kids = children.get(todo.pop(), [])
        found += kids
        todo += kids
    return found


def mark_of(pid: int) -> str:
    """Return the mark that a process inherited.

    Empty where it has none, or where somebody took its environment away.
    """
    if not _PROC.is_dir():
        return _portable_mark(pid)
    with contextlib.suppress(OSError):
        for item in Path(f"{_PROC}/{pid}/environ").read_bytes().split(b"\0"):
            if item.startswith(b"CANARY_RUN="):
                return item.partition(b"=")[2].decode("utf-8", "replace")
    return ""


def marked_processes(mark: str) -> list[int]:
    """Return the processes that carry a mark, or one of the run that it stands for."""
    return [
        int(name)
        for name in _processes()
        if (theirs := mark_of(int(name))) == mark or theirs.startswith(mark + ".")
    ]


def _portable_mark(pid: int) -> str:
    psutil = _library()
    if psutil is not None:
        with contextlib.suppress(psutil.Error, OSError):
            return str(psutil.Process(pid).environ().get(MARK, ""))
    return ""


def _processes() -> list[str]:
    if not _PROC.is_dir():
        psutil = _library()
        return [] if psutil is None else [str(pid) for pid in psutil.pids()]
    try:
        return [name for name in os.listdir(_PROC) if name.isdecimal()]  # noqa: PTH208 (a Path for each costs more than the look)
    except OSError:
        return []


def kill(pids: Collection[int]) -> bool:
    """Kill processes; false where there was none that could be."""
    done = False
    for pid in pids:
        with contextlib.suppress(OSError):
            os.kill(pid, signal.SIGKILL)
            done = True
    return done


def end_of_job(process: object) -> Callable[[], object]:
    """Put a process that was just started into a job, on Windows.

    Return what ends that with all that is in it.
    """
    if POSIX:
        return bool
    from doctor.host.jobs import Job

    return Job(process).end


def kill_tree(leader: int, mark: str) -> None:
    """Kill the process group of `leader`, its descendants, and each orphan that carries `mark`.

    What nobody could mean is refused: init, this process, and what this process descends from.
    """
    if leader > 1 and leader not in _lineage():
        strays = descendants(leader) if POSIX else []
        with contextlib.suppress(OSError):
            if POSIX:
                os.killpg(leader, signal.SIGKILL)
            else:
                os.kill(leader, signal.SIGTERM)
        kill(strays)
    kill_marked(mark)


def kill_marked(mark: str) -> None:
    """Kill the processes that inherited a mark.

    A child loses it only where somebody takes its environment away.
    """
    kill([pid for pid in marked_processes(mark) if pid not in _lineage()])


def may_be_child(pid: int, parent: int) -> bool:
    """Say whether the kernel calls a process a child of another, or does not know it any more."""
    return pid > 1 and ((seen := process_stat(pid)) is None or seen.parent == parent)


def _lineage() -> set[int]:
    """Return this process and what it descends from."""
    found, pid = {0, 1}, os.getpid()
    while pid not in found:
        found.add(pid)
        pid = seen.parent if (seen := process_stat(pid)) else 0
    return found


def tree_memory(pid: int) -> int:
    """Return the resident bytes of a process and all its descendants.

    0 where /proc does not tell.
    """
    page = os.sysconf("SC_PAGE_SIZE") if POSIX else 4096
    total = 0
    for member in (pid, *descendants(pid)):
        with contextlib.suppress(OSError, ValueError, IndexError):
            total += int(Path(f"/proc/{member}/statm").read_text().split()[1]) * page
    return total
