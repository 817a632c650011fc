"""What one check gave on one device."""

from __future__ import annotations

from enum import Enum
from typing import Any

import msgspec


class Verdict(Enum):
    """How a check ended.

    Only `broken` speaks about doctor's own script rather than about the patient.
    """

    PASSED = "passed"
    FAILED = "failed"
    CRASHED = "crashed"
    TIMED_OUT = "timed_out"
    SKIPPED = "skipped"
    BROKEN = "broken"


RED = frozenset({Verdict.FAILED, Verdict.CRASHED, Verdict.TIMED_OUT})
"""Verdicts that count as failed when a canary is held against a known issue."""


REFUSED = {
    "room": "no room to run in",
    "files": "too few open files to run with",
    "memory": "too little memory to run in",
    "processes": "too few processes to run with",
    "rights": "no right to run",
    "time": "too little processor time to run in",
}
"""How a reason begins where the machine lacked a resource for the check.

Such an outcome says nothing about the target.
"""


def refused(what: str, words: str) -> str:
    """Return the reason of a check that the machine kept from running.

    `what` is a key of `REFUSED`.
    """
    return f"{REFUSED[what]}: {words}"


def refused_what(reason: str) -> str:
    """Return the key of `REFUSED` that a reason speaks of; empty for any other reason."""
    return next((what for what, begin in REFUSED.items() if reason.startswith(f"{begin}: ")), "")


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """One named part of a check."""

    verdict: Verdict
    reason: str = ""


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """The result of one check on one device.

    `log` is bounded, `signal` is a name such as `SIGSEGV`.

    `cached_from` is the UTC time at which it ran, where its environment has not changed since and
    it was not run again.
    """

    id: str
    target: str
    verdict: Verdict
    device: str | None = None
    reason: str = ""
    exit_code: int | None = None
    signal: str | None = None
    seconds: float = 0.0
    cached_from: str = ""
    log: str = ""
    data: dict[str, Any] = msgspec.field(default_factory=dict)
    cases: dict[str, Case] = msgspec.field(default_factory=dict)
