"""Start the commands of a run in a process that adopts their orphans and ends them.

The other side is doctor/host/supervisor_child.py.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import IO

import msgspec

from doctor.host.process_tree import kill_marked

_CHILD = Path(__file__).with_name("supervisor_child.py")
_START_SECONDS = 20.0
"""How long the guard of a command may take to start it; a machine that swaps needs a while."""
_LOST = -9
"""The exit code of a command whose guard is gone; the command was killed."""
_NEWS_LIMIT = 1 << 16


class SupervisorGone(Exception):
    """Nobody answers: a command has to be started without it."""


class News(msgspec.Struct, frozen=True, kw_only=True):
    """A line of a guard."""

    guard: int | None = None
    made: int | None = None
    refused: str | None = None
    ended: int | None = None


class SupervisedProcess:
    """A command that a guard started.

    `pid` is the guard's: the command and its orphans descend from that.
    """

    def __init__(self, control: socket.socket, pipes: Sequence[IO[bytes]], mark: str) -> None:
        self.pid, self.command, self.pipes = 0, 0, pipes
        self._control, self._mark = control, mark
        self._code, self._over, self._made = _LOST, threading.Event(), threading.Event()
        self._why = ""

    def wait(self, seconds: float | None) -> int | None:
        """Wait for its end: nothing of it is left then."""
        return self._code if self._over.wait(seconds) else None

    def kill(self) -> None:
        """End it, with whatever descends from it."""
        if not self._order({"end": None}):
            kill_marked(self._mark)

    def end(self, pid: int, mark: str, spare: Collection[str]) -> None:
        """End one of its descendants with what that has left.

        A number that is none of theirs does nothing.
        """
        self._order({"end": pid, "mark": mark, "spare": list(spare)})

    def give(self, order: Mapping[str, object]) -> None:
        """Have it started; raises OSError where it is not, WardenGone where nobody answers."""
        threading.Thread(target=self._listen, daemon=True).start()
        data = json.dumps(order).encode()
        with contextlib.suppress(OSError):
            self._control.sendall(len(data).to_bytes(8, "big") + data)
        if not self._made.wait(_START_SECONDS) or not self.command:
            self.kill()
            for pipe in self.pipes:
                pipe.close()
            raise OSError(self._why) if self._why else SupervisorGone

    def _order(self, order: Mapping[str, object]) -> bool:
        with contextlib.suppress(OSError):
            self._control.sendall(json.dumps(order).encode() + b"\n")
            return True
        return self._over.is_set()

    def _listen(self) -> None:
        """Read what the guard says. What it starts does not hold this socket."""
        with (
            contextlib.suppress(OSError, ValueError, msgspec.DecodeError),
            self._control.makefile("rb") as lines,
        ):
            while line := lines.readline(_NEWS_LIMIT):
                news = msgspec.json.decode(line, type=News)
                self.pid, self.command = news.guard or self.pid, news.made or self.command
                self._why = news.refused or self._why
                self._code = self._code if news.ended is None else news.ended
                self._made.set()
        self._over.set()
        self._made.set()
        self._control.close()


class Supervisor:
    """Outlives doctor: where that is killed, it ends what was started and removes the folder.

    Only Linux lets it start commands.

    `mark` is what the marks of the run begin with.
    """

    def __init__(self, folder: Path, mark: str) -> None:
        self._turn = threading.Lock()
        self._orders: socket.socket | None = None
        self._child: subprocess.Popen[bytes] | None = None
        argv = [sys.executable, "-I", "-S", str(_CHILD), str(folder), mark]
        quiet = subprocess.DEVNULL
        try:
            if sys.platform == "linux":
                self._orders, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
                with theirs:
                    self._child = subprocess.Popen(
                        argv,
                        stdin=theirs.fileno(),
                        stdout=quiet,
                        stderr=quiet,
                        cwd="/",
                        start_new_session=True,
                    )
            else:
                self._child = subprocess.Popen(
                    argv,
                    stdin=subprocess.PIPE,
                    stdout=quiet,
                    stderr=quiet,
                    cwd="/",
                    start_new_session=True,
                )
        except (OSError, ValueError):
            return

    @property
    def starts(self) -> bool:
        """Whether commands can be started through it."""
        return self._orders is not None and self._child is not None and self._child.poll() is None

    def start(
        self,
        argv: Sequence[str],
        env: Mapping[str, str],
        cwd: Path | None,
        mark: str,
        *,
        merge: bool,
        channel: tuple[str, socket.socket] | None = None,
    ) -> SupervisedProcess:
        """Start a command in a session of its own.

        Raises OSError or ValueError where it does not start, WardenGone where nobody answers.

        `channel` is a socket that the command is to hold, and the variable that tells it which
        descriptor that is.
        """
        if self._orders is None:
            raise SupervisorGone
        order = {
            "argv": list(argv),
            "env": dict(env),
            "cwd": str(cwd or Path.cwd()),
            "merge": merge,
            "channel": channel and channel[0],
        }
        ours, theirs = socket.socketpair()
        pipes = [os.pipe() for _ in range(1 if merge else 2)]
        handed = [
            theirs.fileno(),
            *(write for _, write in pipes),
            *([channel[1].fileno()] if channel else []),
        ]
        try:
            with self._turn:
                socket.send_fds(self._orders, [b"+"], handed)
        except OSError:
            ours.close()
            for read, _ in pipes:
                os.close(read)
            raise SupervisorGone from None
        finally:
            theirs.close()
            for _, write in pipes:
                os.close(write)
        ward = SupervisedProcess(
            ours, [os.fdopen(read, "rb", buffering=0) for read, _ in pipes], mark
        )
        ward.give(order)
        return ward

    def started(
        self,
        argv: Sequence[str],
        env: Mapping[str, str],
        cwd: Path | None,
        mark: str,
        *,
        merge: bool,
    ) -> SupervisedProcess | None:
        """Start a command as `start` does; None where somebody else has to."""
        if not self.starts:
            return None
        with contextlib.suppress(SupervisorGone):
            return self.start(argv, env, cwd, mark, merge=merge)
        return None

    def close(self) -> None:
        """Let it go; everything has been put away."""
        if self._child is None:
            return
        with contextlib.suppress(OSError):
            if self._orders is not None:
                with self._orders:
                    self._orders.send(b".")
            elif self._child.stdin is not None:
                with self._child.stdin:
                    self._child.stdin.write(b".")
        self._child.wait()
