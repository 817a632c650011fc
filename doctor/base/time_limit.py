"""Bound the time of doctor's own work, as that of checks and probes is bounded.

On POSIX the kernel's interval timer raises a signal (setitimer(2)), which also interrupts `re`. No
thread is started.
"""

from __future__ import annotations

import _thread
import contextlib
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from types import FrameType
from typing import NoReturn

from doctor.base.errors import DoctorError

TIME_LIMIT = 60.0
"""Seconds for a judgement, or for the writing of a report.

A log of a mebibyte takes less than one.
"""
_REPEAT_SECONDS = 0.5


class TimeLimitExceeded(DoctorError):
    """Something that doctor does by itself took longer than it may."""


class _TimeUp(BaseException):
    """The time is over; no handler of errors on the way takes it for one of its own."""


@contextlib.contextmanager
def time_limit(seconds: float, what: str) -> Iterator[None]:
    """Raise TimeLimitExceeded where the body takes longer; `what` begins the sentence that says so.

    Python interrupts its main thread only: in another one, where a program may call doctor, the
    body is left alone. A browser has neither clock nor thread: there the page ends its worker.
    """
    if threading.current_thread() is not threading.main_thread() or sys.platform == "emscripten":
        yield
        return
    alarm = _alarm if hasattr(signal, "setitimer") else _interrupt
    try:
        with alarm(seconds):
            yield
    except _TimeUp:
        raise TimeLimitExceeded(f"{what} within {seconds:.0f} s") from None


@contextlib.contextmanager
def _alarm(seconds: float) -> Iterator[None]:
    """Let the kernel's clock ring, which also reaches an expression of `re` that goes on and on."""
    before = signal.signal(signal.SIGALRM, _raise_time_up)
    # It rings again, for what is raised while an object is being deleted goes nowhere.
    left = signal.setitimer(signal.ITIMER_REAL, seconds, _REPEAT_SECONDS)
    try:
        yield
    finally:
        try:
            signal.setitimer(signal.ITIMER_REAL, *left)
        finally:
            signal.signal(signal.SIGALRM, before)


@contextlib.contextmanager
def _interrupt(seconds: float) -> Iterator[None]:
    """Let a thread interrupt this one: Windows has no interval timer that raises a signal."""
    before, over = signal.getsignal(signal.SIGINT), threading.Event()

    def interrupted(number: int, frame: FrameType | None) -> None:
        if over.is_set():
            _raise_time_up(number, frame)
        if callable(before):
            before(number, frame)

    timer = threading.Timer(seconds, _interrupting(over))
    timer.daemon = True
    signal.signal(signal.SIGINT, interrupted)
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        signal.signal(signal.SIGINT, before)


def _interrupting(over: threading.Event) -> Callable[[], None]:
    def strike() -> None:
        over.set()
        _thread.interrupt_main()

    return strike


def _raise_time_up(_number: int, _frame: FrameType | None) -> NoReturn:
    raise _TimeUp
