"""Read a baseline: the findings of an earlier report."""

from __future__ import annotations

from pathlib import Path

import msgspec

from doctor.base.errors import InputError, UsageError
from doctor.host.reading import DOCUMENT, UnreadableFile, read_given
from doctor.judge.suppressions import BaselineFinding
from doctor.logs import snapshots as saved
from doctor.model.findings import Suppression
from doctor.model.scales import Severity

_NEVER = ("expect/", "ignore/")
"""Findings that no baseline excuses."""


class _Finding(msgspec.Struct, frozen=True):
    id: str
    target: str
    severity: Severity
    title: str = ""
    suppressed: Suppression | None = None


class _Report(msgspec.Struct, frozen=True):
    findings: tuple[_Finding, ...]


def read_baseline(path: Path) -> tuple[BaselineFinding, ...]:
    """Read the findings of an earlier JSON report as a baseline.

    A finding that an ignore covered does not join it: the ignore decides, until its last day.

    Raises UsageError where there is no such file, InputError for one that is no JSON report.
    """
    advice = f"(doctor check --report json={path} writes one)"
    try:
        told = saved.decoded(
            read_given(path, DOCUMENT), _Report, f"--baseline {path}", what="JSON report"
        )
    except UnreadableFile as error:
        raise InputError(f"--baseline {error}") from None
    except InputError as error:
        raise InputError(f"{error} {advice}") from None
    except OSError as error:
        raise UsageError(f"--baseline {path}: {error.strerror or error} {advice}") from None
    if told is None:
        raise InputError(f"--baseline {path}: no JSON report of doctor {advice}")
    counted = [
        found
        for found in told.findings
        if found.suppressed is None or found.suppressed.by != "ignore"
    ]
    return tuple(
        BaselineFinding(
            id=found.id, target=found.target, severity=found.severity, title=found.title
        )
        for found in counted
        if not found.id.startswith(_NEVER)
    )
