"""Fork checks from a process of the target that has imported torch once.

The target's side, and the protocol, are in checks/fork_server.py.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Annotated

import msgspec

from doctor.base.errors import DoctorError
from doctor.host.process import Bounds, CompletedCommand, Termination, follow
from doctor.host.process_tree import MARK, may_be_child
from doctor.host.supervisor import SupervisedProcess, Supervisor, SupervisorGone

_ANSWER_SECONDS = 10.0
_NEWS_LIMIT = 4096
_MOST_JUNK = 1000
"""Messages that are no news, after which nobody listens any more."""
_LOST = -9
"""The exit code of a child whose fork server is gone; the child is killed."""
_Pid = Annotated[int, msgspec.Meta(gt=1, lt=1 << 31)]


class ForkServerError(DoctorError):
    """The fork server made no child."""


class _Message(msgspec.Struct, frozen=True, kw_only=True):
    """What the fork server says.

    It runs the target's code, so that anything may be said in its name.
    """

    made: _Pid | None = None
    ended: _Pid | None = None
    code: Annotated[int, msgspec.Meta(ge=-255, le=255)] = _LOST
    refused: str | None = None


class _ForkedChild:
    """A child of the fork server; it leads a session of its own."""

    def __init__(self, fork_server: ForkServer, pid: int, mark: str) -> None:
        self._fork_server, self.pid, self.mark = fork_server, pid, mark
        self._code, self._over = _LOST, threading.Event()

    @property
    def lives(self) -> bool:
        """Whether its end was not told yet."""
        return not self._over.is_set()

    def ended(self, code: int) -> None:
        """Take note of its end."""
        if self.lives:
            self._code = code
            self._over.set()

    def wait(self, seconds: float | None) -> int | None:
        """Wait for its end."""
        return self._code if self._over.wait(seconds) else None

    def kill(self) -> None:
        """End it, with what it has started or left."""
        self._fork_server.end(self)


class ForkServer:
    """Opened by the first script that is run in it; serves others once that script has can_fork.

    News come as messages of their own over a socket, which children close before they run anything.
    Until then, and in the fork server itself, the target's code could write to it. So no number is
    believed: one is taken for a child where the kernel says so, and to kill is left to the guard,
    which ends nothing that does not descend from it.
    """

    def __init__(self, mark: str, supervisor: Supervisor) -> None:
        self._mark, self._supervisor = mark, supervisor
        self._channel, self._theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._root: SupervisedProcess | None = None
        self._children: dict[int, _ForkedChild] = {}
        self._first: _ForkedChild | None = None
        self._first_mark = ""
        self._asked = ""
        self._answer: _ForkedChild | str = ""
        self._is_lost = False
        self._logs: list[IO[bytes]] = []
        self._answered, self._turn = threading.Event(), threading.Lock()
        self.answers: dict[str, bool] = {}
        """By kind of device: whether a fork came to its own end on one.

        False where only a process of its own did.
        """

    @property
    def has_forked(self) -> bool:
        """Whether the first script went on in a fork."""
        return self._first is not None

    @property
    def can_fork(self) -> bool:
        """Whether it forks."""
        return (
            self._first is not None
            and not self._is_lost
            and self._root is not None
            and self._root.wait(0) is None
        )

    @property
    def pid(self) -> int:
        """The process of the first script: the root until it forks, then the root's first child."""
        first = self._first
        return first.pid if first else self._root.pid if self._root else 0

    def wait(self, seconds: float | None) -> int | None:
        """Wait for the end of the first script."""
        first = self._first
        if first is not None:
            return first.wait(seconds)
        code = self._root.wait(seconds) if self._root else _LOST
        return None if self._first is not None else code

    def kill(self) -> None:
        """End the first script, with what it has started or left."""
        if self._first is not None:
            self._first.kill()
        elif self._root is not None:
            self._root.kill()

    def open(
        self, argv: Sequence[str], env: Mapping[str, str], cwd: Path, mark: str, bounds: Bounds
    ) -> CompletedCommand:
        """Run the first script, `argv` being the command that becomes the fork server.

        Returns what the script gave.

        Raises ForkServerError where there is no supervisor to start it.
        """
        told, self._first_mark = {**env, MARK: self._mark, "CANARY_FORK_SERVER": mark}, mark
        try:
            with self._theirs as theirs:
                self._root = self._supervisor.start(
                    argv, told, cwd, self._mark, merge=True, channel=("CANARY_CHANNEL", theirs)
                )
        except SupervisorGone:
            raise ForkServerError("nobody can start it") from None
        except (OSError, ValueError) as error:
            return CompletedCommand(ended=Termination.NOT_STARTED, why=str(error))
        threading.Thread(target=self._listen, daemon=True).start()
        return follow(self, self._root.pipes, bounds)

    def run(
        self, script: Path, env: Mapping[str, str], cwd: Path, mark: str, bounds: Bounds
    ) -> CompletedCommand:
        """Run another script in a child of its own; raises ForkServerError where none is made."""
        log = cwd / "log"
        try:
            os.mkfifo(log)
            pipe = os.fdopen(os.open(log, os.O_RDONLY | os.O_NONBLOCK), "rb", buffering=0)
        except OSError as error:
            raise ForkServerError(str(error)) from None
        try:
            child = self._ask(
                {
                    "script": str(script),
                    "folder": str(cwd),
                    "log": str(log),
                    "env": {**env, MARK: mark},
                },
                mark,
            )
        except BaseException:
            pipe.close()
            raise
        os.set_blocking(pipe.fileno(), True)
        self._logs.append(pipe)
        return follow(child, [pipe], bounds)

    def end(self, child: _ForkedChild) -> None:
        """End a child, with what it has started or left."""
        if self._root is not None:
            self._root.end(
                child.pid,
                child.mark,
                [
                    each.mark
                    for each in tuple(self._children.values())
                    if each.lives and each is not child
                ],
            )

    def close(self) -> None:
        """End it, with whatever is left of its children."""
        if self._root is not None:
            self._root.kill()
            self._root.wait(_ANSWER_SECONDS)
        with contextlib.suppress(OSError):
            self._channel.shutdown(socket.SHUT_RDWR)
        self._channel.close()
        self._theirs.close()
        # What never called exec held the log of its script open until now.
        for log in self._logs:
            log.close()

    def _ask(self, order: Mapping[str, object], mark: str) -> _ForkedChild:
        with self._turn:
            self._expect(mark)
            try:
                self._channel.send(json.dumps(order).encode())
                answered = self._answered.wait(_ANSWER_SECONDS)
            except OSError as error:
                raise ForkServerError(f"the fork server is gone: {error}") from None
            finally:
                self._asked = ""
            self._is_lost = self._is_lost or not answered
            if isinstance(self._answer, str):
                raise ForkServerError(self._answer)
            return self._answer

    def _expect(self, mark: str) -> None:
        """Be ready for the answer to an order."""
        self._answered.clear()
        self._answer, self._asked = "the fork server does not answer", mark

    def _listen(self) -> None:
        """Read news until there are none any more."""
        junk = 0
        with contextlib.suppress(OSError):
            while junk < _MOST_JUNK and (message := self._channel.recv(_NEWS_LIMIT)):
                try:
                    junk += not self._believed(msgspec.json.decode(message, type=_Message))
                except (msgspec.DecodeError, ValueError, RecursionError):
                    junk += 1
        self._is_lost = True
        for child in tuple(self._children.values()):
            child.ended(_LOST)
        self._answered.set()

    def _believed(self, news: _Message) -> bool:
        """Take news in; false for what cannot be so."""
        if news.ended is not None:
            child = self._children.get(news.ended)
            if child is not None:
                child.ended(news.code)
            return child is not None
        is_first = self._first is None
        if not is_first and not self._asked:
            return False
        if news.made is None:
            self._answer = news.refused or self._answer
        elif (known := self._children.get(news.made)) is not None and known.lives:
            return False
        elif self._root is not None and may_be_child(news.made, self._root.command):
            child = self._children[news.made] = _ForkedChild(
                self, news.made, self._first_mark if is_first else self._asked
            )
            if is_first:
                self._first = child
                return True
            self._answer = child
        else:
            return False
        self._answered.set()
        return True
