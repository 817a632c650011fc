"""Supervise a run: one guard per command, and a clean-up if doctor is killed.

    python supervisor_child.py FOLDER MARK

On Linux standard input is a socket. A message of `+` carries the descriptors of one command: its
control socket, its output, its errors where they are apart, and a channel where it has one. Each
command gets a guard (`guard`): a child of this process that the kernel makes the parent of what
loses its own below it (PR_SET_CHILD_SUBREAPER of prctl(2)), so that neither a second fork nor an
emptied environment hides a process from it. It ends all of that before it ends itself.

`.` means that doctor has put everything away; the end of standard input without it, that doctor is
gone. Elsewhere that is all that it listens to.

doctor's own interpreter starts this file bare: what it leans on lies beside it.
"""

from __future__ import annotations

import os
import select
import socket
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from doctor.host import guard
    from doctor.host.process_tree import kill, marked_processes
    from doctor.host.removal import remove_tree
else:
    sys.path.insert(0, str(Path(__file__).parent))
    from process_tree import kill, marked_processes
    from removal import remove_tree

    if sys.platform == "linux":
        import guard

_PASSES = 20
"""How often to look again: what is being killed may just have started something."""
_END_SECONDS = 5.0


def _serve(orders: socket.socket) -> bool:
    """Make a guard for each command that is ordered.

    True where doctor said that it has put everything away.
    """
    guard.adopt()
    alarm, guards = guard.Alarm(), set[int]()
    waiting: list[Any] = [orders, alarm.wake]
    while True:
        ready, _, _ = select.select(waiting, [], [])
        alarm.drain()
        statuses: dict[int, int] = {}
        guard.reaped(statuses)
        guards -= set(statuses)
        if any(statuses.values()):
            # A guard that was killed could not put away what was its own, and that is this
            # process's now.
            guard.end_descendants(spare=guards)
        if orders not in ready:
            continue
        message, descriptors, _, _ = socket.recv_fds(orders, 16, 8)
        if not message or message == b".":
            return message == b"."
        if pid := os.fork():
            guards.add(pid)
        else:
            alarm.close()
            orders.close()
            guard.guard(descriptors)
        for descriptor in descriptors:
            os.close(descriptor)


def main(folder: str, mark: str) -> None:
    """Serve until doctor's end, and put away what it could not."""
    if sys.platform == "linux":
        try:
            done = _serve(socket.socket(fileno=0))
        finally:
            # Guards notice doctor's end as well, and put away their own; what they could not is
            # adopted by now.
            _await_guards()
            guard.end_descendants()
    else:
        done = bool(sys.stdin.buffer.read(1))
    if done:
        return
    for _ in range(_PASSES):
        alive = marked_processes(mark)
        kill(alive)
        if remove_tree(Path(folder)) and not alive:
            return
        time.sleep(0.05)


def _await_guards() -> None:
    deadline = time.monotonic() + _END_SECONDS
    while guard.reaped({}) and time.monotonic() < deadline:
        time.sleep(0.005)


if __name__ == "__main__":
    main(*sys.argv[1:])
