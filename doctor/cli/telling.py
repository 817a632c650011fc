"""What commands share: logs are read, a report is told."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from doctor import examine
from doctor.cli import options, screen
from doctor.host import Host
from doctor.model.observation import Log
from doctor.model.report import Report
from doctor.share import shareable, who, without_any_secrets


def read_logs(paths: Sequence[Path]) -> tuple[Log, ...]:
    """Read logs in their order; `-` is standard input."""
    return tuple(examine.read_log(path, sys.stdin.buffer.read() if str(path) == "-" else None) for path in paths)


def tell(report: Report, kind: options.Format, *, quiet: bool, verbose: bool) -> int:
    """Put a report on standard output, without secrets, and without names where it is made to be shared; return its exit code."""
    names = who(Host().env)
    fit = shareable(report, names) if kind is not options.Format.TEXT else without_any_secrets(report)
    screen.put(screen.render(fit, kind, verbosity=-1 if quiet else 1 if verbose else 0))
    return report.exit_code
