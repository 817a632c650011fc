"""Run a command as if nobody stood between it and its terminal, and keep what it printed.

The command gets a pseudo-terminal (pty(7)) where doctor has a terminal, so that it colours and
flushes its output as it does alone. A copy of the output is kept for the diagnosis.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from typing import NamedTuple

from doctor.host.head_and_tail import HeadAndTail

_LIMIT = 32 << 20
_NOT_FOUND, _NOT_RUNNABLE = 127, 126
"""What shells say of a command that is not there, or that cannot be started."""
_ITS_OWN = (
    "KILL",
    "STOP",
    "CHLD",
    "PIPE",
    "SEGV",
    "BUS",
    "FPE",
    "ILL",
    "TRAP",
    "ABRT",
    "SYS",
    "TTIN",
    "TTOU",
)
"""Signals that a process has no say in, or that speak of what it did itself.

Every other one is meant for the command.
"""
_TO_END = ("HUP", "INT", "QUIT", "TERM")
_OF_TERMINALS = ("INT", "QUIT", "TSTP", "WINCH")
_JOIN_SECONDS = 2.0
"""Seconds to read on after the end. A process in the background may hold the stream open."""


class PassThroughResult(NamedTuple):
    """The exit code of a command as a shell gives it (128 + signal), and its output.

    Of a long output the beginning and the end are kept.

    `was_signalled` says that somebody wished the end: by a signal, or by reading no further.
    """

    code: int
    output: bytes
    why: str = ""
    was_signalled: bool = False


def pass_through(argv: Sequence[str]) -> PassThroughResult:
    """Run a command with this process's terminal, input and environment.

    What it prints is passed on as it comes.

    Signals that this process gets are handed on, it stops where the command stops, and the sizes of
    both terminals are one.
    """
    try:
        return _without_signals(argv) if sys.platform == "win32" else _Command().run(argv)
    except ValueError as error:  # an empty name
        return PassThroughResult(_NOT_FOUND, b"", f"{argv[0]!r}: {error}")
    except OSError as error:
        missing = isinstance(error, FileNotFoundError)
        return PassThroughResult(
            _NOT_FOUND if missing else _NOT_RUNNABLE, b"", f"{argv[0]}: {error.strerror or error}"
        )


def _without_signals(argv: Sequence[str]) -> PassThroughResult:
    copies = _Copies()
    child = subprocess.Popen(list(argv), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    for stream, target in (child.stdout, 1), (child.stderr, 2):
        if stream:
            copies.start(stream.fileno(), target)
    while True:
        with contextlib.suppress(KeyboardInterrupt):
            # An interrupt is the command's affair, for it gets it as well.
            code = child.wait()
            break
    return PassThroughResult(code, copies.ended(), was_signalled=copies.cut)


class _Copies:
    """Threads that read what a command prints, pass it on and keep it."""

    def __init__(self) -> None:
        self._kept, self._threads, self.cut = HeadAndTail(_LIMIT), list[threading.Thread](), False

    def start(self, source: int, target: int) -> None:
        """Copy from one descriptor to another."""
        self._threads.append(
            threading.Thread(target=self._copy, args=(source, target), daemon=True)
        )
        self._threads[-1].start()

    def ended(self) -> bytes:
        """Return what was read."""
        deadline = time.monotonic() + _JOIN_SECONDS
        for thread in self._threads:
            thread.join(max(deadline - time.monotonic(), 0))
        return self._kept.content()

    def _copy(self, source: int, target: int) -> None:
        with contextlib.suppress(OSError):
            while data := os.read(source, 1 << 16):
                self._kept.add(data)
                try:
                    _write(target, data)
                except OSError:
                    # The reader has gone, or the disk is full: the command is to meet that as well
                    # when it writes.
                    self.cut = True
                    break
        with contextlib.suppress(OSError):
            os.close(source)


def _write(target: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(target, view) :]


class _Command:
    """A command, and the thread that hands it what this process is told."""

    def __init__(self) -> None:
        self._copies, self._pid, self._over, self._was_signalled = _Copies(), 0, False, False
        self._terminal = _terminal()
        unsaid = {getattr(signal, f"SIG{name}", None) for name in _ITS_OWN}
        ignored = {
            number
            for number in signal.valid_signals()
            if signal.getsignal(number) is signal.SIG_IGN
        }
        self._orders = signal.valid_signals() - unsaid - ignored

    def run(self, argv: Sequence[str]) -> PassThroughResult:
        """Run it to its end; raises OSError where it cannot be started."""
        # Blocked before it starts, so that nothing said meanwhile is lost; every thread here
        # inherits that, the command does not.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, self._orders)
        try:
            self._start(argv, before)
            listener = threading.Thread(target=self._listen, daemon=True)
            listener.start()
            code = self._wait()
            self._over = True
            signal.pthread_kill(listener.ident or 0, signal.SIGCONT)
            listener.join()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        output = self._copies.ended()
        return PassThroughResult(
            128 - code if code < 0 else code,
            output,
            was_signalled=self._was_signalled or self._copies.cut,
        )

    def _start(self, argv: Sequence[str], mask: set[signal.Signals] | set[int]) -> None:
        # A stream that is closed here is closed for the command as well. Its number may be that of
        # a pipe of ours by now.
        streams = [
            number for number, stream in ((1, sys.stdout), (2, sys.stderr)) if stream is not None
        ]
        pipes = {} if self._terminal else {number: os.pipe() for number in streams}
        ends = (
            dict.fromkeys(streams, self._terminal[1])
            if self._terminal
            else {number: pipes[number][1] for number in streams}
        )
        try:
            self._pid = os.posix_spawnp(
                argv[0],
                list(argv),
                os.environ,
                file_actions=[(os.POSIX_SPAWN_DUP2, end, number) for number, end in ends.items()],
                setsigmask=mask,
                setsigdef=[signal.SIGPIPE, signal.SIGXFSZ],  # which Python ignores
            )
        except BaseException:
            for read, _ in pipes.values():
                os.close(read)
            raise
        finally:
            for end in set(ends.values()):
                os.close(end)
        for number, (read, _) in pipes.items():
            self._copies.start(read, number)
        if self._terminal:
            self._copies.start(self._terminal[0], 1)

    def _wait(self) -> int:
        while True:
            _, status = os.waitpid(self._pid, os.WUNTRACED)
            if not os.WIFSTOPPED(status):
                return os.waitstatus_to_exitcode(status)
            if os.WSTOPSIG(status) != signal.SIGSTOP:
                # Its shell knows this process, not the command: it sees a job that stopped, and
                # lets it go on again.
                os.kill(os.getpid(), signal.SIGSTOP)
                self._send(signal.SIGCONT)

    def _listen(self) -> None:
        while True:
            number, has_it = self._next_signal()
            if self._over:
                return
            if number in [getattr(signal, f"SIG{name}") for name in _TO_END]:
                self._was_signalled = True
            if number == signal.SIGWINCH and self._terminal:
                _same_size(self._terminal[0])
                has_it = False  # it may have looked before the size was set
            if not has_it:
                self._send(number)

    def _next_signal(self) -> tuple[int, bool]:
        """Wait for a signal, and say whether the command received it as well.

        A terminal sends its signals to the whole foreground process group.
        """
        if hasattr(signal, "sigwaitinfo"):
            told = signal.sigwaitinfo(self._orders)
            return (
                told.si_signo,
                told.si_code > 0,
            )  # what a process sends has SI_USER, 0, or less (sigaction(2))
        # macOS does not tell who sends.
        number = signal.sigwait(self._orders)
        return number, number in [
            getattr(signal, f"SIG{name}") for name in _OF_TERMINALS
        ] and os.isatty(0)

    def _send(self, number: int) -> None:
        if not self._over:
            with contextlib.suppress(OSError):
                os.kill(self._pid, number)


def _terminal() -> tuple[int, int] | None:
    """Open a pseudo-terminal where both our streams are one terminal.

    Else the command would print without colour, and late. The size is the same.
    """
    if sys.stdout is None or sys.stderr is None or not (os.isatty(1) and os.isatty(2)):
        return None
    import termios

    leader, follower = os.openpty()
    with contextlib.suppress(OSError, termios.error):
        # The real terminal turns line ends into what it wants; here they stay as the command wrote
        # them.
        modes = termios.tcgetattr(follower)
        modes[1] &= ~termios.OPOST
        termios.tcsetattr(follower, termios.TCSANOW, modes)
    _same_size(leader)
    return leader, follower


def _same_size(leader: int) -> None:
    import fcntl
    import termios

    with contextlib.suppress(OSError):
        fcntl.ioctl(leader, termios.TIOCSWINSZ, fcntl.ioctl(1, termios.TIOCGWINSZ, b"\0" * 8))
