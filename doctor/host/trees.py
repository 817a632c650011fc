"""Process trees as /proc shows them: who descends from whom, who carries a mark, and how to end them all. Stands alone."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Collection
from pathlib import Path
from typing import NamedTuple

POSIX = os.name == "posix"
MARK = "CANARY_RUN"
"""Set for every command, so that what it leaves behind can be told from everything else, whatever its session and its parent."""


class Stat(NamedTuple):
    """What /proc/PID/stat says of a process (proc_pid_stat(5)), as far as it is asked here."""

    state: str
    parent: int
    session: int


def stat(pid: int) -> Stat | None:
    """Return what /proc says of a process; None where there is none."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        return Stat(fields[0], int(fields[1]), int(fields[3]))
    except (OSError, ValueError, IndexError):
        return None


def children_by_parent() -> dict[int, list[int]]:
    """Return the processes of this machine by their parents, without those that have ended."""
    children: dict[int, list[int]] = {}
    for name in _processes():
        if (seen := stat(int(name))) is not None and seen.state not in "ZX":
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
    """Return the mark that a process inherited; empty where it has none, or where somebody took its environment away."""
    with contextlib.suppress(OSError):
        for item in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0"):
            if item.startswith(b"CANARY_RUN="):
                return item.partition(b"=")[2].decode("utf-8", "replace")
    return ""


def marked(mark: str) -> list[int]:
    """Return the processes that carry a mark, or one of the run that it stands for."""
    return [int(name) for name in _processes() if (theirs := mark_of(int(name))) == mark or theirs.startswith(mark + ".")]


def _processes() -> list[str]:
    try:
        return [name for name in os.listdir("/proc") if name.isdecimal()]  # noqa: PTH208 (a Path for each costs more than the look)
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


def kill_tree(leader: int, mark: str) -> None:
    """Kill the process group that `leader` leads, every descendant that left it, and every orphan that carries `mark`.

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
    """Kill the processes that inherited a mark; a child loses it only where somebody takes its environment away."""
    kill([pid for pid in marked(mark) if pid not in _lineage()])


def may_be_child(pid: int, parent: int) -> bool:
    """Say whether a process is a child of another, as the kernel has it, or has been gone since it was spoken of."""
    return pid > 1 and ((seen := stat(pid)) is None or seen.parent == parent)


def _lineage() -> set[int]:
    """Return this process and what it descends from."""
    found, pid = {0, 1}, os.getpid()
    while pid not in found:
        found.add(pid)
        pid = seen.parent if (seen := stat(pid)) else 0
    return found


def tree_memory(pid: int) -> int:
    """Return the resident bytes of a process and all its descendants; 0 where /proc does not tell."""
    page = os.sysconf("SC_PAGE_SIZE") if POSIX else 4096
    total = 0
    for member in (pid, *descendants(pid)):
        with contextlib.suppress(OSError, ValueError, IndexError):
            total += int(Path(f"/proc/{member}/statm").read_text().split()[1]) * page
    return total
