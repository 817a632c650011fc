"""Say how a process ended, by the status or the signal that its parent reports.

wait(2) and signal(7); a shell adds 128 to the number of a signal (POSIX, 2.8.2); on Windows the
status is an NTSTATUS (MS-ERREF, 2.3.1), which some programs print as a signed number.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from doctor.model.events import Event

_KILLED = (
    "SIGKILL ended it: mostly the kernel, or a supervisor, because memory ran out (see dmesg or "
    "the events of the scheduler)"
)
_SIGNALS: Mapping[int, str] = {
    1: "SIGHUP ended it: its terminal or session was closed",
    2: "SIGINT ended it: somebody pressed Ctrl-C, or a launcher passed that on",
    3: "SIGQUIT ended it",
    4: (
        "SIGILL ended it: the program holds an instruction that this processor, or virtual "
        "machine, does not have"
    ),
    6: "SIGABRT ended it: the program stopped itself, and the lines above say why",
    7: "SIGBUS ended it: mostly shared memory (/dev/shm) or a file on disk that ran out of space",
    8: "SIGFPE ended it: an integer was divided by zero",
    9: _KILLED,
    11: "SIGSEGV ended it: it used memory that is not its own, mostly inside a compiled extension",
    13: "SIGPIPE ended it: whoever read its output was gone",
    15: "SIGTERM ended it: another process, a scheduler or a launcher asked it to stop",
    24: "SIGXCPU ended it: its limit of processor time was reached",
    31: "SIGSYS ended it: a filter of system calls (seccomp) refused one",
}
_STATUSES: Mapping[int, str] = {
    124: "timeout(1) stopped it: it took longer than it was allowed to",
    126: "the command was found and cannot be executed",
    127: "the command was not found",
}
_NT: Mapping[int, str] = {
    0xC0000005: "STATUS_ACCESS_VIOLATION: it used memory that is not its own",
    0xC000001D: "STATUS_ILLEGAL_INSTRUCTION: this processor does not have one of its instructions",
    0xC0000017: "STATUS_NO_MEMORY: memory ran out",
    0xC00000FD: "STATUS_STACK_OVERFLOW: its stack ran out",
    0xC0000135: "STATUS_DLL_NOT_FOUND: a DLL that it needs was not found",
    0xC0000139: "STATUS_ENTRYPOINT_NOT_FOUND: a DLL of another release was found",
    0xC000013A: "STATUS_CONTROL_C_EXIT: somebody pressed Ctrl-C",
    0xC0000142: "STATUS_DLL_INIT_FAILED: a DLL that it needs could not be initialised",
    0xC0000374: "STATUS_HEAP_CORRUPTION: its memory was overwritten",
    0xC0000409: "STATUS_STACK_BUFFER_OVERRUN: it stopped itself (abort, or an overwritten stack)",
    0xC000007B: "STATUS_INVALID_IMAGE_FORMAT: a DLL of 32 bits meets a program of 64",
}
_WORDS: Mapping[str, int] = {
    "killed": 9,
    "sigkill": 9,
    "segmentation fault": 11,
    "sigsegv": 11,
    "illegal instruction": 4,
    "illegal hardware instruction": 4,
    "sigill": 4,
    "bus error": 7,
    "sigbus": 7,
    "aborted": 6,
    "abort": 6,
    "sigabrt": 6,
    "floating point exception": 8,
    "sigfpe": 8,
    "terminated": 15,
    "sigterm": 15,
}
_NAMES = ("signal", "status", "exitcode", "code", "result")
_KINDS = frozenset(
    {
        "exit-code",
        "exit-status",
        "killed",
        "process-failed",
        "shutdown-signal",
        "unit-failed",
        "worker-died",
    }
)


def ending(events: Sequence[Event]) -> str:
    """Return how a process ended, with its status, by the first event that tells; else empty."""
    for event in events:
        if event.kind in _KINDS:
            for name in _NAMES:
                value = event.objects.get(name, "")
                if value and (meaning := _meaning(value, is_signal=name == "signal")):
                    return f"{value}: {meaning}"
    return ""


def _meaning(value: str, *, is_signal: bool) -> str:
    text = value.lower().strip()
    if text in _WORDS:
        return _SIGNALS[_WORDS[text]]
    try:
        number = int(text, 16 if text.startswith("0x") else 10)
    except ValueError:
        return ""
    if is_signal or -65 < number < 0:
        return _SIGNALS.get(abs(number), "")
    return _NT.get(number & 0xFFFFFFFF) or _STATUSES.get(number) or _SIGNALS.get(number - 128, "")
