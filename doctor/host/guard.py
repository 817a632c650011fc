"""The guard of one command: starts it, adopts what it leaves behind, and ends all of it.

A fork of the supervisor.

Over its control socket it reads the order, eight bytes of length and JSON ({"argv", "env", "cwd",
"merge", "channel"}), then lines of JSON: {"end": null} is for everything, {"end": pid, "mark",
"spare"} for one descendant and what it has left; while marks are to be spared, what carries none
is. It answers in lines: {"made": pid, "guard": its own} or {"refused": why}, then {"ended": exit
code, negative for a signal}. It runs nothing of others, and what it starts holds neither this
socket nor its end.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import time
from collections.abc import Collection
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from doctor.host.process_tree import (
        children_by_parent,
        descendants,
        kill,
        mark_of,
        process_stat,
    )
else:
    from process_tree import children_by_parent, descendants, kill, mark_of, process_stat

_PASSES = 20
"""How often to look again: what is being killed may just have started something."""
_END_SECONDS = 5.0
"""How long what was killed may take to end; what hangs in the kernel is left to it."""
_PAUSE = 0.005
_SUBREAPER = 36
"""PR_SET_CHILD_SUBREAPER of linux/prctl.h: this process, not init, becomes the parent of orphans.

https://man7.org/linux/man-pages/man2/PR_SET_CHILD_SUBREAPER.2const.html
"""


def adopt() -> None:
    """Become the parent of whatever loses its own below this process.

    Where the kernel knows nothing of that, marks have to do.
    """
    import ctypes

    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_SUBREAPER, 1, 0, 0, 0)


def end_descendants(spare: Collection[int] = ()) -> dict[int, int]:
    """Kill whatever descends from this process, but for some of its children.

    Return the exit statuses of those that it reaped.

    It is the reaper of all of them: what loses its parent becomes its child, so there is no end
    before there is nothing left.
    """
    statuses: dict[int, int] = {}
    deadline, idle = time.monotonic() + _END_SECONDS, 0
    # A look takes a while: what changes parents meanwhile may be in it under neither. Two that
    # found nothing are believed.
    while reaped(statuses) and time.monotonic() < deadline and not (spare and idle > 1):
        children = children_by_parent()
        own = [pid for pid in children.get(os.getpid(), []) if pid not in spare]
        idle = (
            0
            if kill([pid for each in own for pid in (each, *descendants(each, children))])
            else idle + 1
        )
        time.sleep(_PAUSE)
    return statuses


def reaped(statuses: dict[int, int]) -> bool:
    """Reap what has ended; false where no child is left."""
    try:
        while (ended := os.waitpid(-1, os.WNOHANG))[0]:
            statuses[ended[0]] = ended[1]
    except ChildProcessError:
        return False
    return True


class Alarm:
    """Wakes a `select` when a child ends."""

    def __init__(self) -> None:
        self.wake, self._woken = os.pipe()
        os.set_blocking(self.wake, False)
        os.set_blocking(self._woken, False)
        signal.set_wakeup_fd(self._woken, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)

    def drain(self) -> None:
        """Empty the pipe, so that only the next end of a child is signalled."""
        with contextlib.suppress(BlockingIOError):
            while os.read(self.wake, 4096):
                pass

    def close(self) -> None:
        """Listen no more, in a child that has an alarm of its own."""
        signal.set_wakeup_fd(-1)
        os.close(self.wake)
        os.close(self._woken)


class _Guard:
    """One command, and whatever descends from it."""

    def __init__(self, control: socket.socket, descriptors: list[int]) -> None:
        self._control, self._descriptors = control, descriptors
        self._alarm, self._heard = Alarm(), b""
        self._command, self._status = 0, -1

    def run(self) -> None:
        """Start the command, stay to its end, and tell how it ended once nothing of it is left."""
        if self._start():
            try:
                while self._status < 0 and self._listen():
                    self._note(dict(self._buried()))
            finally:
                if self._status < 0:
                    # Not reaped, so that this number is still its own; it leads a session.
                    with contextlib.suppress(OSError):
                        os.killpg(self._command, signal.SIGKILL)
                self._note(end_descendants())
            code = -signal.SIGKILL if self._status < 0 else os.waitstatus_to_exitcode(self._status)
            self._tell(ended=code)

    def _start(self) -> bool:
        length = int.from_bytes(self._received(8), "big")
        order = json.loads(self._received(length))
        out, *rest = self._descriptors
        errors = subprocess.STDOUT if order["merge"] else rest.pop(0)
        env = {**order["env"], **({order["channel"]: str(rest[0])} if rest else {})}
        try:
            made = subprocess.Popen(
                order["argv"],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=errors,
                env=env,
                cwd=order["cwd"],
                start_new_session=True,
                pass_fds=rest,
            )
        except (OSError, ValueError) as error:
            self._tell(refused=str(error))
            return False
        self._command = made.pid
        made.returncode = 0  # it is reaped here, not by Popen, which would warn of it
        for descriptor in self._descriptors:
            os.close(descriptor)
        self._tell(made=made.pid, guard=os.getpid())
        return True

    def _received(self, length: int) -> bytes:
        data = bytearray()
        while len(data) < length:
            part = self._control.recv(length - len(data))
            if not part:
                os._exit(1)
            data += part
        return bytes(data)

    def _tell(self, **news: Any) -> None:
        with contextlib.suppress(OSError):
            self._control.sendall(json.dumps(news).encode() + b"\n")

    def _listen(self) -> bool:
        """Wait for an order or an end; false where everything is to end."""
        waiting: list[Any] = [self._control, self._alarm.wake]
        ready, _, _ = select.select(waiting, [], [])
        self._alarm.drain()
        if self._control not in ready:
            return True
        try:
            got = self._control.recv(65536)
        except OSError:
            got = b""
        *lines, self._heard = (self._heard + got).split(b"\n")
        for line in lines:
            order = json.loads(line)
            if order["end"] is None:
                return False
            self._end(order["end"], order["mark"], order["spare"])
        return bool(got)

    def _end(self, pid: int, mark: str, spare: list[str]) -> None:
        """Kill a descendant, its children and its orphans.

        An orphan carries its mark, is of its session, or can belong to nobody else.
        """
        for _ in range(_PASSES):
            children = children_by_parent()
            mine = descendants(os.getpid(), children)
            roots = [pid] if pid in mine and pid != self._command else []
            for orphan in children.get(os.getpid(), []):
                seen, theirs = process_stat(orphan), mark_of(orphan)
                if orphan != self._command and (
                    (seen and seen.session == pid) or theirs == mark or not spare
                ):
                    roots.append(orphan)
            if not kill([each for root in roots for each in (root, *descendants(root, children))]):
                return
            time.sleep(_PAUSE)

    def _buried(self) -> dict[int, int]:
        statuses: dict[int, int] = {}
        reaped(statuses)
        return statuses

    def _note(self, statuses: dict[int, int]) -> None:
        self._status = statuses.get(self._command, self._status)


def guard(descriptors: list[int]) -> NoReturn:
    """Be the guard of one command."""
    code = 1
    try:
        os.setsid()
        adopt()
        _Guard(socket.socket(fileno=descriptors[0]), descriptors[1:]).run()
        code = 0
    finally:
        os._exit(code)
