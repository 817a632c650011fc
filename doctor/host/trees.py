"""Process trees as /proc shows them: who descends from whom, who carries a mark, and how to end them all."""

from __future__ import annotations

import contextlib
import os
import signal
from pathlib import Path

POSIX = os.name == "posix"
MARK = "CANARY_RUN"
"""Set for every command, so that what it leaves behind can be told from everything else, whatever its session and its parent."""


def kill_tree(leader: int, mark: str) -> None:
    """Kill the process group that `leader` leads, every descendant that left it, and every orphan that carries `mark`."""
    strays = _descendants(leader) if POSIX else []
    with contextlib.suppress(OSError):
        if POSIX:
            os.killpg(leader, signal.SIGKILL)
        else:
            os.kill(leader, signal.SIGTERM)
    for pid in (*strays, *_marked(mark)):
        with contextlib.suppress(OSError):
            os.kill(pid, signal.SIGKILL)


def _marked(mark: str) -> list[int]:
    """Return the processes that inherited a mark; a child loses it only where somebody takes its environment away."""
    needle, found = f"{MARK}={mark}\0".encode(), []
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError, ValueError):
            if needle in (entry / "environ").read_bytes():
                found.append(int(entry.name))
    return found


def _children_by_parent() -> dict[int, list[int]]:
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError, ValueError, IndexError):
            parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            children.setdefault(parent, []).append(int(entry.name))
    return children


def _descendants(pid: int) -> list[int]:
    children = _children_by_parent()
    found, todo = [], [pid]
    while todo:
        kids = children.get(todo.pop(), [])
        found += kids
        todo += kids
    return found


def tree_memory(pid: int) -> int:
    """Return the resident bytes of a process and all its descendants; 0 where /proc does not tell."""
    page = os.sysconf("SC_PAGE_SIZE") if POSIX else 4096
    total = 0
    for member in (pid, *_descendants(pid)):
        with contextlib.suppress(OSError, ValueError, IndexError):
            total += int(Path(f"/proc/{member}/statm").read_text().split()[1]) * page
    return total
