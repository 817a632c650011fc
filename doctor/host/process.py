"""Run one command in its own process group, bounded in time, in output and in what it may leave behind."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from pathlib import Path
from typing import IO

import msgspec

_POSIX = os.name == "posix"
_DRAIN_SECONDS = 0.5
_POLL_SECONDS = 0.02
_MARK = "CANARY_RUN"
"""Set for every command, so that what it leaves behind can be told from everything else, whatever its session and its parent."""


class Ended(Enum):
    """How a command came to its end."""

    ITSELF = "itself"
    TIMEOUT = "timeout"
    MEMORY = "memory"
    NOT_STARTED = "not started"


class Ran(msgspec.Struct, frozen=True, kw_only=True):
    """What a command gave; `code` is negative for a signal, and None where it never started."""

    ended: Ended
    code: int | None = None
    output: str = ""
    errors: str = ""
    seconds: float = 0.0
    why: str = ""

    @property
    def ok(self) -> bool:
        """Whether the command ended by itself with exit code 0."""
        return self.ended is Ended.ITSELF and self.code == 0


class _Drain:
    """Reads a pipe to its end, keeping its first and last bytes; never more than `limit`."""

    def __init__(self, pipe: IO[bytes], limit: int) -> None:
        self._pipe, self._half = pipe, max(limit // 2, 1)
        self._head, self._tail, self._dropped = bytearray(), bytearray(), 0
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        with contextlib.suppress(OSError, ValueError):
            while chunk := os.read(self._pipe.fileno(), 65536):
                self._keep(chunk)

    def _keep(self, chunk: bytes) -> None:
        room = self._half - len(self._head)
        self._head += chunk[: max(room, 0)]
        self._tail += chunk[max(room, 0) :]
        if (surplus := len(self._tail) - self._half) > 0:
            del self._tail[:surplus]
            self._dropped += surplus

    def ended(self) -> bool:
        """Say whether the pipe came to its end; waits a moment, not longer, since a grandchild may hold it open for ever."""
        self._thread.join(_DRAIN_SECONDS)
        return not self._thread.is_alive()

    def text(self) -> str:
        """Return what was read so far."""
        if self.ended():
            self._pipe.close()
        head, tail = bytes(self._head), bytes(self._tail)
        gap = f"\n[… {self._dropped} bytes left out …]\n".encode() if self._dropped else b""
        return (head + gap + tail).decode("utf-8", "replace")


def kill_tree(leader: subprocess.Popen[bytes], mark: str) -> None:
    """Kill the process group that `leader` leads, every descendant that left it, and every orphan that carries `mark`."""
    strays = _descendants(leader.pid) if _POSIX else []
    with contextlib.suppress(OSError):
        if _POSIX:
            os.killpg(leader.pid, signal.SIGKILL)
        else:
            leader.kill()
    for pid in (*strays, *_marked(mark)):
        with contextlib.suppress(OSError):
            os.kill(pid, signal.SIGKILL)


def _marked(mark: str) -> list[int]:
    """Return the processes that inherited a mark; a child loses it only where somebody takes its environment away."""
    needle, found = f"{_MARK}={mark}\0".encode(), []
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
    page = os.sysconf("SC_PAGE_SIZE") if _POSIX else 4096
    total = 0
    for member in (pid, *_descendants(pid)):
        with contextlib.suppress(OSError, ValueError, IndexError):
            total += int(Path(f"/proc/{member}/statm").read_text().split()[1]) * page
    return total


def run(
    argv: Sequence[str],
    *,
    timeout: float,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    limit: int = 1 << 20,
    memory: int | None = None,
    merge: bool = False,
    tick: Callable[[float], None] | None = None,
) -> Ran:
    """Run `argv` to its end, or kill its whole process tree after `timeout` seconds or above `memory` resident bytes.

    At most `limit` bytes of each stream are kept, its beginning and its end. Standard input is closed. `tick` is called with
    the seconds passed, some fifty times a second; such a command leaves nothing behind even where it ended well. Never raises
    for what the command does; an interrupt of doctor itself kills the tree and is raised again.
    """
    started, mark = time.monotonic(), uuid.uuid4().hex
    try:
        child = _started(argv, {**(os.environ if env is None else env), _MARK: mark}, cwd, merge=merge)
    except (OSError, ValueError) as error:
        return Ran(ended=Ended.NOT_STARTED, why=str(error))
    drains = [_Drain(pipe, limit) for pipe in (child.stdout, child.stderr) if pipe is not None]
    try:
        ended = _wait(child, started + timeout, memory, tick)
    except BaseException:
        kill_tree(child, mark)
        child.wait()
        raise
    seconds = time.monotonic() - started
    if ended is not Ended.ITSELF or tick is not None or not all(drain.ended() for drain in drains):
        kill_tree(child, mark)
    code = child.wait()
    output, errors = ([drain.text() for drain in drains] + [""])[:2]
    return Ran(ended=ended, code=code, output=output, errors=errors, seconds=seconds)


def _started(argv: Sequence[str], env: Mapping[str, str], cwd: Path | None, *, merge: bool) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        list(argv),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT if merge else subprocess.PIPE,
        env=dict(env),
        cwd=cwd,
        start_new_session=True,
    )


def _wait(child: subprocess.Popen[bytes], deadline: float, memory: int | None, tick: Callable[[float], None] | None) -> Ended:
    started, weighed = time.monotonic(), time.monotonic()
    while True:
        try:
            child.wait(_POLL_SECONDS if tick or memory else max(deadline - time.monotonic(), 0))
        except subprocess.TimeoutExpired:
            now = time.monotonic()
            if tick:
                tick(now - started)
            if now >= deadline:
                return Ended.TIMEOUT
            if memory and now - weighed > 0.2:
                weighed = now
                if tree_memory(child.pid) > memory:
                    return Ended.MEMORY
        else:
            return Ended.ITSELF
