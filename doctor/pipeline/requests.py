"""Requests: everything that a caller asks for, be it the command line or a program."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime, timezone
from pathlib import Path
from typing import TypeAlias

import msgspec

from doctor.base.errors import UsageError
from doctor.judge.suppressions import Ignore, Suppressions
from doctor.model.scales import Severity, Tier
from doctor.observe.selection import MOST_SECONDS
from doctor.pipeline.logs import LogSource

NameOption: TypeAlias = "Callable[[str], str]"
"""Names an option in a complaint as its user wrote it: a flag, a variable, an argument."""


def flag(option: str) -> str:
    """Return the flag of an option: `--fail-on` for fail-on."""
    return f"--{option}"


def today() -> date:
    """Return the day on which ignores are valid or expired, in UTC."""
    return datetime.now(timezone.utc).date()


class PolicyRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What fails a run: the least severity, a baseline (a JSON report) and ignores."""

    fail_on: Severity = Severity.ERROR
    baseline: Path | None = None
    ignores: tuple[Ignore, ...] = ()

    def suppressions(self) -> Suppressions:
        """Read the baseline; raises UsageError or InputError where that cannot be done."""
        baseline = None
        if self.baseline is not None:
            from doctor.judge.baseline import read_baseline

            baseline = read_baseline(self.baseline)
        return Suppressions(ignores=self.ignores, baseline=baseline, today=today())


class ObserveRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What to look at, and how far to go: seconds bound each check, and the whole run."""

    python: str | None = None
    project: Path = Path()
    features: tuple[str, ...] = ()
    canaries: bool = True
    tier: Tier = Tier.QUICK
    fresh: bool = False
    changed: bool = False
    flash_attn: Path | None = None
    network: bool = False
    timeout: float | None = None
    budget: float | None = None

    def __post_init__(self) -> None:
        """Raise UsageError for a bound that is no bound; a NaN is none either."""
        for name, seconds in (("timeout", self.timeout), ("budget", self.budget)):
            if seconds is not None and not 0 < seconds <= MOST_SECONDS:
                raise UsageError(
                    f"{name}={seconds}: a number of seconds above 0 and up to {MOST_SECONDS:g}"
                )
        if self.fresh and self.changed:
            raise UsageError("fresh runs every check, changed only some: choose one")


class CheckRequest(msgspec.Struct, frozen=True, kw_only=True):
    """One `doctor check`: an observation, live or out of a snapshot, and how to judge it."""

    observe: ObserveRequest = ObserveRequest()
    snapshot: Path | None = None
    assume: tuple[str, ...] = ()
    logs: tuple[LogSource, ...] = ()
    only: tuple[str, ...] = ()
    skip: tuple[str, ...] = ()
    expect: tuple[str, ...] = ()
    policy: PolicyRequest = PolicyRequest()
    matrices: tuple[Path, ...] = ()


class DiagnoseRequest(msgspec.Struct, frozen=True, kw_only=True):
    """One `doctor diagnose`: logs, and the environment where they were written."""

    logs: tuple[LogSource, ...]
    environment: Path | None = None
    policy: PolicyRequest = PolicyRequest()
    matrices: tuple[Path, ...] = ()


class RunRequest(msgspec.Struct, frozen=True, kw_only=True):
    """One `doctor run` whose command failed: its arguments, its exit status and its output.

    The status is that of a shell: 128 and the number of the signal that ended the command.
    """

    argv: tuple[str, ...]
    status: int
    output: bytes
    skip: tuple[str, ...] = ()
    policy: PolicyRequest = PolicyRequest()
    matrices: tuple[Path, ...] = ()
