"""Say of a log in which nothing is known what failed, where, and what would tell more."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from doctor.base.own_name import own
from doctor.model.facts import value_of
from doctor.model.report import Report

_KINDS: Mapping[str, str] = {
    "exception": "an exception",
    "interpreter-error": "an error of the interpreter itself",
    "traceback-cut": "a traceback without its last line",
    "raise-statement": "the line that raises an exception",
    "module-missing": "a module that is not there",
    "undefined-symbol": "a symbol that no loaded library has",
    "library-not-found": "a library that is not there",
    "load-failed": "a library that cannot be loaded",
    "dll-not-loaded": "a DLL that cannot be loaded",
    "compile-error": "an error of compilation",
    "link-error": "an error of linking",
    "configure-error": "an error of configuration",
    "compiler-killed": "a compiler that was killed",
    "no-rule": "a file that nothing makes",
    "panic": "a panic",
    "resolution-failed": "requirements that do not fit together",
    "install-error": "an error of installation",
    "download-failed": "a download that failed",
    "runtime-error": "an error at run time",
    "driver-error": "an error of the driver",
    "library-error": "a status of the library",
    "collective-error": "an error of communication between GPUs",
    "backend-error": "a backend that cannot start",
    "killed": "a process that was killed",
    "terminated": "a process that stopped itself",
    "exit-status": "a process that ended with an error",
    "command-not-found": "a command that is not there",
    "file-not-usable": "a file that cannot be used",
    "daemon-error": "an error of the daemon",
    "pod-failed": "a pod that does not run",
    "job-failed": "a job that failed",
}
"""What kinds of events are, for people."""


def not_recognised(report: Report) -> str:
    """Say that no known issue fits a log, what failed in it, and what would tell more."""
    return " ".join(_sentences(report))


def _sentences(report: Report) -> Iterator[str]:
    found = value_of(report.observation.facts, "log.owner")
    owner: Mapping[str, Any] = found if isinstance(found, dict) else {}
    if not owner and report.command == "run":
        yield "The command printed nothing that reads like the report of a failure."
        yield f"If it writes a log file, hand that in: {own('diagnose FILE')}."
    elif not owner:
        yield "Nothing to judge: doctor recognises nothing in this log."
        yield (
            "No line in it reads like the report of a failure; if something failed, hand in the "
            "output of the command from its beginning to its end."
        )
    else:
        yield "Not recognised: no known issue fits this log."
        yield from _what_failed(owner)
    if report.look_alikes:
        known = "; ".join(f"{one.id} ({one.title.rstrip('.')})" for one in report.look_alikes)
        yield (
            f"Similar words, not necessarily the same cause (doctor explain shows each): {known}."
        )


def _what_failed(owner: Mapping[str, Any]) -> Iterator[str]:
    if owner.get("level") == "warning":
        yield f"No error stands in it; the gravest line is a warning, {_line(owner)}."
    elif owner.get("level") == "wrapper":
        yield f"{_capital(_line(owner))}, reports only that something else failed."
    else:
        kind = _KINDS.get(str(owner.get("kind", "")), "an error")
        yield f"The failure is {kind}, {_line(owner)}."
    if ending := owner.get("ending"):
        yield f"A process ended with {ending}."
    if ask := owner.get("ask"):
        yield str(ask)


def _line(owner: Mapping[str, Any]) -> str:
    by = owner.get("by", "")
    printed = f" (printed by {by})" if by and by != "a program" else ""
    return (
        f"line {owner.get('line')}{printed}: {str(owner.get('text', '')).strip(' :').rstrip('.')}"
    )


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
