"""Run a command as if nobody stood between it and its terminal, and keep what it printed."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from doctor.host.kept import Kept

_LIMIT = 32 << 20
_NOT_FOUND, _NOT_RUNNABLE = 127, 126
"""What shells say of a command that is not there, or that cannot be started."""


class Passed(NamedTuple):
    """How a command ended, in the words of a shell (128 and the signal), and what it printed: beginning and end, where that was much."""

    code: int
    output: bytes
    why: str = ""


def pass_through(argv: Sequence[str]) -> Passed:
    """Run a command with this process's terminal, input and environment; what it prints is passed on as it comes."""
    with _orders_handed_on() as hand_to:
        return _passed(argv, hand_to)


def _passed(argv: Sequence[str], hand_to: Callable[[subprocess.Popen[bytes]], None]) -> Passed:
    kept, terminal = Kept(_LIMIT), _terminal()
    ours = [terminal[1], terminal[1]] if terminal else [subprocess.PIPE, subprocess.PIPE]
    try:
        child = subprocess.Popen(list(argv), stdout=ours[0], stderr=ours[1])
    except OSError as error:
        missing = isinstance(error, FileNotFoundError)
        return Passed(_NOT_FOUND if missing else _NOT_RUNNABLE, b"", f"{argv[0]}: {error.strerror or error}")
    hand_to(child)
    if terminal:
        os.close(terminal[1])
        pairs = [(terminal[0], 1)]
    else:
        pairs = [(stream.fileno(), fd) for stream, fd in ((child.stdout, 1), (child.stderr, 2)) if stream]
    threads = [threading.Thread(target=_copy, args=(source, target, kept), daemon=True) for source, target in pairs]
    for thread in threads:
        thread.start()
    code = _end_of(child)
    for thread in threads:
        # Something that the command left running may hold the stream open for ever.
        thread.join(2.0)
    return Passed(128 - code if code < 0 else code, kept.content())


def _terminal() -> tuple[int, int] | None:
    """Open a terminal for the command where both our streams are one, of the same size: else it would print without colour, and late."""
    if not hasattr(os, "openpty") or not (os.isatty(1) and os.isatty(2)):
        return None
    import fcntl
    import termios

    leader, follower = os.openpty()
    with contextlib.suppress(OSError, termios.error):
        # The real terminal turns line ends into what it wants; here they stay as the command wrote them.
        modes = termios.tcgetattr(follower)
        modes[1] &= ~termios.OPOST
        termios.tcsetattr(follower, termios.TCSANOW, modes)
        fcntl.ioctl(follower, termios.TIOCSWINSZ, fcntl.ioctl(1, termios.TIOCGWINSZ, b"\0" * 8))
    return leader, follower


def _copy(source: int, target: int, kept: Kept) -> None:
    with contextlib.suppress(OSError):
        while data := os.read(source, 1 << 16):
            kept.add(data)
            with contextlib.suppress(OSError):
                _write(target, data)


def _write(target: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(target, view) :]


def _end_of(child: subprocess.Popen[bytes]) -> int:
    """Wait for the end of a command; an interrupt is its own affair, for it gets it as well."""
    while True:
        try:
            return child.wait()
        except KeyboardInterrupt:
            continue


@contextlib.contextmanager
def _orders_handed_on() -> Iterator[Callable[[subprocess.Popen[bytes]], None]]:
    """Hand an order to end on to the command that is named in time."""
    children: list[subprocess.Popen[bytes]] = []
    if threading.current_thread() is not threading.main_thread() or sys.platform == "win32":
        yield children.append
        return

    def hand_on(number: int, _frame: object) -> None:
        if not children:
            raise KeyboardInterrupt
        children[0].send_signal(number)

    before = signal.signal(signal.SIGTERM, hand_on)
    try:
        yield children.append
    finally:
        signal.signal(signal.SIGTERM, before)
