"""Run one command in its own process group, within bounds of time, output and memory."""

from __future__ import annotations

import contextlib
import os
import select
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from pathlib import Path
from typing import IO, TYPE_CHECKING, Protocol

import msgspec

from doctor.base.refusals import refusal_of
from doctor.host.head_and_tail import HeadAndTail
from doctor.host.process_tree import MARK, end_of_job, kill_tree, tree_memory

if TYPE_CHECKING:
    from doctor.host.supervisor import Supervisor

_DRAIN_SECONDS = 0.5
_POLL_SECONDS = 0.02
_MEMORY_POLL_SECONDS = 0.2
_LONGEST_POLL = (1 << 31) - 1
_REAP_SECONDS = 10.0
"""How long the end of what was killed may take.

Something that hangs in the kernel is left to it.
"""


class Termination(Enum):
    """How a command came to its end."""

    ITSELF = "itself"
    TIMEOUT = "timeout"
    MEMORY = "memory"
    NOT_STARTED = "not started"


class CompletedCommand(msgspec.Struct, frozen=True, kw_only=True):
    """What a command gave; `code` is negative for a signal, and None where it never started.

    `refused`: what the machine does not grant.
    """

    ended: Termination
    code: int | None = None
    output: str = ""
    errors: str = ""
    seconds: float = 0.0
    why: str = ""
    refused: str = ""

    @property
    def ok(self) -> bool:
        """Whether the command ended by itself with exit code 0."""
        return self.ended is Termination.ITSELF and self.code == 0


class RunningProcess(Protocol):
    """The process that a command starts with; it leads a process group of its own."""

    @property
    def pid(self) -> int:
        """Its number."""

    def wait(self, seconds: float | None) -> int | None:
        """Wait for its end, and return its exit code (negative for a signal).

        None where that takes longer.
        """

    def kill(self) -> None:
        """End it with everything that it has started, or left behind where it has ended."""


class Bounds(msgspec.Struct, frozen=True, kw_only=True):
    """What a command may take: seconds, bytes kept of each stream, resident bytes.

    `tick` is called with the seconds passed.

    `silence` is how many of the seconds may pass without a word on any stream.
    """

    timeout: float
    silence: float | None = None
    limit: int = 1 << 20
    memory: int | None = None
    tick: Callable[[float], None] | None = None


class ChildProcess:
    """A child of this process."""

    def __init__(self, child: subprocess.Popen[bytes], mark: str) -> None:
        self._child, self._mark, self.pid = child, mark, child.pid
        self._end_job = end_of_job(child)

    def wait(self, seconds: float | None) -> int | None:
        """Wait for its end."""
        if (
            seconds is not None
            and self._child.returncode is None
            and _wait_on_descriptor(self.pid, seconds)
        ):
            seconds = 0
        try:
            return self._child.wait(seconds)
        except subprocess.TimeoutExpired:
            return None

    def kill(self) -> None:
        """End it with its group, what descends from it and what carries its mark.

        On Windows with its job.
        """
        self._end_job()
        kill_tree(self.pid, self._mark)


def _wait_on_descriptor(pid: int, seconds: float) -> bool:
    """Wait for the end of a child, or for the time to pass, and return at once then.

    False where the system cannot tell the end.

    `Popen.wait` looks again after ever longer naps, of up to 50 ms; a descriptor of the process is
    told (pidfd_open(2), Linux 5.3).
    """
    # https://man7.org/linux/man-pages/man2/pidfd_open.2.html; a container's filter may refuse it.
    try:
        descriptor = os.pidfd_open(pid) if sys.platform == "linux" else -1
    except OSError:
        return False
    if descriptor < 0:
        return False
    try:
        told = select.poll()
        told.register(descriptor, select.POLLIN)
        told.poll(min(seconds * 1000, _LONGEST_POLL))
    finally:
        os.close(descriptor)
    return True


class _PipeReader:
    """Reads a pipe to its end, keeping its first and last bytes; never more than `limit`."""

    def __init__(self, pipe: IO[bytes], limit: int) -> None:
        self._pipe, self._kept, self.heard = pipe, HeadAndTail(limit), 0.0
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        with contextlib.suppress(OSError, ValueError):
            while chunk := os.read(self._pipe.fileno(), 65536):
                self._kept.add(chunk)
                self.heard = time.monotonic()

    def ended(self) -> bool:
        """Say whether the pipe came to its end.

        Waits a moment, not longer, since a grandchild may hold it open for ever.
        """
        self._thread.join(_DRAIN_SECONDS)
        return not self._thread.is_alive()

    def text(self) -> str:
        """Return what was read so far."""
        if self.ended():
            self._pipe.close()
        return self._kept.content().decode("utf-8", "replace")


def run(
    argv: Sequence[str],
    *,
    timeout: float,
    silence: float | None = None,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    limit: int = 1 << 20,
    memory: int | None = None,
    merge: bool = False,
    tick: Callable[[float], None] | None = None,
    mark: str | None = None,
    supervisor: Supervisor | None = None,
) -> CompletedCommand:
    """Run `argv` to its end within bounds (see `follow`); standard input is closed.

    Never raises for what the command does.

    Where there is a `supervisor` that starts commands, nothing that the command leaves behind
    escapes it.
    """
    bounds = Bounds(timeout=timeout, silence=silence, limit=limit, memory=memory, tick=tick)
    mark = mark or uuid.uuid4().hex
    env = {**(os.environ if env is None else env), MARK: mark}
    try:
        if (
            supervisor is not None
            and (ward := supervisor.started(argv, env, cwd, mark, merge=merge)) is not None
        ):
            return follow(ward, ward.pipes, bounds)
        child = start_process(argv, env, cwd, merge=merge)
    except (OSError, ValueError) as error:
        no = refusal_of(error)
        return CompletedCommand(
            ended=Termination.NOT_STARTED,
            why=str(error),
            refused=no.words if no and no.what != "rights" else "",
        )
    return follow(
        ChildProcess(child, mark),
        [pipe for pipe in (child.stdout, child.stderr) if pipe is not None],
        bounds,
    )


def follow(leader: RunningProcess, pipes: Sequence[IO[bytes]], bounds: Bounds) -> CompletedCommand:
    """Follow a command to its end; kill its process tree when it exceeds its bounds.

    The beginning and the end of each stream are kept. A command with a `tick`, which is called some
    fifty times a second, leaves nothing behind even where it ended well. Whatever `tick` raises, or
    an interrupt of doctor itself, kills the tree and is raised again.
    """
    started = time.monotonic()
    drains: list[_PipeReader] = []
    try:
        drains += [_PipeReader(pipe, bounds.limit) for pipe in pipes]
        ended = _wait(leader, drains, started, bounds)
    except BaseException:
        leader.kill()
        leader.wait(_REAP_SECONDS)
        for drain in drains:
            drain.text()
        raise
    seconds = time.monotonic() - started
    if (
        ended is not Termination.ITSELF
        or bounds.tick is not None
        or not all(drain.ended() for drain in drains)
    ):
        leader.kill()
    code = leader.wait(_REAP_SECONDS)
    output, errors = ([drain.text() for drain in drains] + [""])[:2]
    return CompletedCommand(ended=ended, code=code, output=output, errors=errors, seconds=seconds)


def start_process(
    argv: Sequence[str], env: Mapping[str, str], cwd: Path | None, *, merge: bool
) -> subprocess.Popen[bytes]:
    """Start a command in a session of its own.

    Raises OSError or ValueError where it does not start.
    """
    return subprocess.Popen(
        list(argv),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT if merge else subprocess.PIPE,
        env=dict(env),
        cwd=cwd,
        start_new_session=True,
    )


def _deadline(drains: Sequence[_PipeReader], started: float, bounds: Bounds) -> float:
    """Return the deadline of a command; output puts it off where silence is bounded."""
    end = started + bounds.timeout
    if bounds.silence is None:
        return end
    return min(end, max([started, *(drain.heard for drain in drains)]) + bounds.silence)


def _wait(
    leader: RunningProcess, drains: Sequence[_PipeReader], started: float, bounds: Bounds
) -> Termination:
    weighed = started
    while True:
        now, deadline = time.monotonic(), _deadline(drains, started, bounds)
        if (
            leader.wait(_POLL_SECONDS if bounds.tick or bounds.memory else max(deadline - now, 0))
            is not None
        ):
            return Termination.ITSELF
        now = time.monotonic()
        if bounds.tick:
            bounds.tick(now - started)
        if now >= _deadline(drains, started, bounds):
            return Termination.TIMEOUT
        if bounds.memory and now - weighed > _MEMORY_POLL_SECONDS:
            weighed = now
            if tree_memory(leader.pid) > bounds.memory:
                return Termination.MEMORY
