"""What commands share: logs are read, a report is told."""

from __future__ import annotations

import contextlib
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
    """Read logs in their order; `-` is standard input. Says so where one is longer than what is read of it."""
    return tuple(map(_log, paths))


def _log(path: Path) -> Log:
    text = sys.stdin.buffer.read() if str(path) == "-" else None
    with contextlib.suppress(OSError):
        if (path.stat().st_size if text is None else len(text)) > examine.LOG_LIMIT:
            screen.say(f"doctor: of {path} only the first {examine.LOG_LIMIT >> 20} MiB are read; cut out the part that failed")
    return examine.read_log(path, text)


def tell(report: Report, kind: options.Format, *, quiet: bool, verbose: bool) -> int:
    """Put a report on standard output, without secrets, and without names where it is made to be shared; return its exit code."""
    names = who(Host().env)
    fit = shareable(report, names) if kind is not options.Format.TEXT else without_any_secrets(report)
    screen.put(screen.render(fit, kind, verbosity=-1 if quiet else 1 if verbose else 0))
    return report.exit_code
