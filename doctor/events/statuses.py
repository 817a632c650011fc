"""Say how a process ended, by the status or the signal that its parent reports.

What signals and statuses mean stands in `matrices/codes`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from doctor.model.events import Event

if TYPE_CHECKING:
    from doctor.timelines.codes import Code

SIGNALS: Mapping[str, str] = {
    "killed": "SIGKILL",
    "segmentation fault": "SIGSEGV",
    "segfault": "SIGSEGV",
    "illegal instruction": "SIGILL",
    "illegal hardware instruction": "SIGILL",
    "bus error": "SIGBUS",
    "aborted": "SIGABRT",
    "abort": "SIGABRT",
    "terminated": "SIGTERM",
    "floating point exception": "SIGFPE",
    "trace/breakpoint trap": "SIGTRAP",
    "bad system call": "SIGSYS",
}
"""What shells call the signals that end a process (strsignal(3), bash, zsh)."""
REPEATED = frozenset({0, 1, 2, 128, 255})
"""Statuses that only repeat that the program failed, or did not."""
_NAMES = ("said", "signal", "status", "exitcode", "code", "result")
_KINDS = frozenset(
    {
        "exit-code",
        "exit-status",
        "killed",
        "killed-by-signal",
        "process-failed",
        "shutdown-signal",
        "unit-failed",
        "windows-status",
        "worker-died",
    }
)


def ending(events: Sequence[Event]) -> str:
    """Return how a process ended, with its status, by the first event that tells; else empty."""
    for event in events:
        if event.kind in _KINDS:
            for name in _NAMES:
                value = event.objects.get(name, "")
                found = _code(value, is_signal=name == "signal") if value else None
                if found is not None and found.means:
                    called = value if value == found.name else f"{value} ({found.name})"
                    return f"{called}: {found.means.removesuffix('.')}"
    return ""


def _code(value: str, *, is_signal: bool) -> Code | None:
    """Return the signal or the status of a value; None for one that tells nothing."""
    from doctor.timelines.codes import code  # its tables are read for such logs alone

    text = value.strip().lower()
    name = SIGNALS.get(text, text.upper())
    if is_signal or name.startswith("SIG"):
        return code("signal", name)
    found = code("exit", text) if text.lstrip("-").isdigit() or text.startswith("0x") else None
    return found if found is None or found.number not in REPEATED else None
