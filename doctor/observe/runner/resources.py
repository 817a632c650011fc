"""Whether a check can run with what the machine grants, and whether it ended for want of that.

Then it says nothing about the patient.
"""

from __future__ import annotations

import errno
import os
import re
from pathlib import Path

import msgspec

from doctor.base.refusals import limit_words, process_limit
from doctor.model.outcomes import RED, Case, Outcome, Verdict, refused
from doctor.observe.runner.units import Plan

_ROOM, _NAMES = 16 << 20, 256
"""Bytes and files that a check writes beside what it compiles, with a margin."""
_ROOM_FOR_BYTECODE, _NAMES_FOR_BYTECODE = 64 << 20, 2048
"""The bytecode of torch 2.13.0 as it is imported: 26 MB in 1240 files.

Inductor's own parts double that.
"""
_FILES = 64
"""Descriptors of doctor, of its pipes to a fork server and of the fork server itself.

With 32 the second fork fails.
"""
_NEARLY_NOTHING, _NEARLY_NO_NAME = 4 << 20, 16
_FEW_FILES = 256


def _said(*numbers: str, more: str = "") -> re.Pattern[str]:
    codes = [number for name in numbers if (number := getattr(errno, name, None)) is not None]
    words = "|".join(
        part
        for code in codes
        for part in (re.escape(os.strerror(code)), rf"\[Errno {code}\]", rf"os error {code}\b")
    )
    return re.compile(f"{words}|{more}" if more else words)


_NO_ROOM = _said("ENOSPC", "EDQUOT", more=r"\[WinError 112\]")
_TOO_LARGE = _said("EFBIG")
_NO_FILES = _said("EMFILE", "ENFILE")
_NO_MEMORY = _said(
    "ENOMEM",
    more=(
        r"MemoryError|std::bad_alloc|failed to map segment|can't allocate memory"
        r"|cannot allocate memory"
    ),
)
_NO_PROCESS = re.compile(
    r"can't start new thread|pthread_create|[Tt]hread creation failed|fork: retry|\[Errno "
    rf"{errno.EAGAIN}\]"
    rf"|(?:fork|clone|thread|process)[^\n]{{0,80}}{re.escape(os.strerror(errno.EAGAIN))}"
)


def lacking(folder: Path, plan: Plan) -> str:
    """Return why no check can be started in a folder.

    It has too little room or too few names, or too few files may be open.
    """
    allowed = process_limit("RLIMIT_NOFILE")
    if allowed is not None and allowed < _FILES:
        return refused("files", f"{allowed} may be open at once (ulimit -n), {_FILES} are needed")
    compiled = plan.precompiled or (folder / "caches" / "bytecode").exists()
    room, names = (_ROOM, _NAMES) if compiled else (_ROOM_FOR_BYTECODE, _NAMES_FOR_BYTECODE)
    return _cramped(folder, room, names)


def _cramped(folder: Path, room: int, names: int) -> str:
    free, left = _free(folder)
    if free is not None and free < room:
        return refused(
            "room", f"{free >> 20} MB are free in {folder.parent}, {room >> 20} MB are needed"
        )
    if left is not None and left < names:
        return refused(
            "room", f"{left} more files fit into {folder.parent} (df -i), {names} are needed"
        )
    return ""


def _free(folder: Path) -> tuple[int | None, int | None]:
    """Return the free bytes and inodes of a folder's file system.

    None where that does not tell, or counts no inodes.
    """
    try:
        import shutil

        free = shutil.disk_usage(folder).free
        seen = os.statvfs(folder) if hasattr(os, "statvfs") else None
    except OSError:
        return None, None
    return free, seen.f_favail if seen and seen.f_files else None


def spared(outcome: Outcome, folder: Path) -> Outcome:
    """Skip what ended for want of something that the machine grants, and of nothing else.

    `folder` is where the check wrote.

    A check writes into that folder alone, and it is doctor who chose it. What a check itself says
    of its cases counts for more than what stands in its log.
    """
    if outcome.verdict not in RED and outcome.verdict is not Verdict.BROKEN:
        return outcome
    cases = _skipped(outcome, whole=False)
    told = [outcome.reason, *(case.reason for case in outcome.cases.values())]
    if any(map(_speaks_of, told)):
        others = any(case.verdict in RED for case in cases.values())
        what = _speaks_of(outcome.reason)
        why = "" if others or not what else refused(what, outcome.reason + _limit_behind(what))
    elif _out_of_time(outcome):
        why = refused(
            "time",
            (
                f"{outcome.reason}"
                f"{limit_words('RLIMIT_CPU', 'ulimit -t', lambda seconds: f'{seconds} s')}"
            ),
        )
    elif outcome.verdict is Verdict.FAILED:
        why = ""  # the check came to its end, and says something else
    elif what := _speaks_of(outcome.log):
        why = refused(what, _line(outcome.log))
    else:
        why = _cramped(folder, _NEARLY_NOTHING, _NEARLY_NO_NAME)
    if not why:
        return outcome
    return msgspec.structs.replace(
        outcome, verdict=Verdict.SKIPPED, reason=why, cases=_skipped(outcome, whole=True)
    )


def _out_of_time(outcome: Outcome) -> bool:
    """Say whether the kernel ended a process for the processor time that it took.

    SIGXCPU at the soft limit, SIGKILL at the hard one.
    """
    return outcome.signal == "SIGXCPU" or (
        outcome.signal == "SIGKILL" and process_limit("RLIMIT_CPU") is not None
    )


def _skipped(outcome: Outcome, *, whole: bool) -> dict[str, Case]:
    """Return the cases of a check, with those skipped that lacked a resource."""
    return {
        name: msgspec.structs.replace(case, verdict=Verdict.SKIPPED)
        if case.verdict in RED and (whole or _speaks_of(case.reason))
        else case
        for name, case in outcome.cases.items()
    }


def _speaks_of(text: str) -> str:
    """Return what a text says is lacking, a key of `REFUSED`.

    Empty where it says nothing of the kind.

    Where no limit stands behind it, too many open files and too little memory are the patient's own
    affair.
    """
    if _NO_ROOM.search(text) or (
        process_limit("RLIMIT_FSIZE") is not None and _TOO_LARGE.search(text)
    ):
        return "room"
    if _NO_FILES.search(text) and (process_limit("RLIMIT_NOFILE") or _FEW_FILES) < _FEW_FILES:
        return "files"
    if _NO_MEMORY.search(text) and (
        process_limit("RLIMIT_AS") is not None or process_limit("RLIMIT_DATA") is not None
    ):
        return "memory"
    return "processes" if _NO_PROCESS.search(text) else ""


def _line(log: str) -> str:
    """Return the last line of a log that names a missing resource, with its limit."""
    line = next((line for line in reversed(log.splitlines()) if _speaks_of(line)), "")
    return " ".join(line.split())[:300] + _limit_behind(_speaks_of(line))


def _limit_behind(what: str) -> str:
    return {
        "files": limit_words("RLIMIT_NOFILE", "ulimit -n"),
        "memory": limit_words("RLIMIT_AS", "ulimit -v", lambda allowed: f"{allowed >> 10} KB"),
        "processes": limit_words("RLIMIT_NPROC", "ulimit -u"),
    }.get(what, "")
