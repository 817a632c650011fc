"""What commands share: logs are read, a report is told."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from doctor import examine
from doctor.cli import options, screen
from doctor.errors import UsageError
from doctor.host import Host
from doctor.model.catalog import Catalog
from doctor.model.observation import Log
from doctor.model.report import Report
from doctor.share import shareable, who, without_any_secrets


def read_logs(paths: Sequence[Path], known: Catalog) -> tuple[Log, ...]:
    """Read logs in their order; `-` is standard input. Raises UsageError for one that cannot be read."""
    return tuple(_log(path, known) for path in paths)


def _log(path: Path, known: Catalog) -> Log:
    if str(path) == "-":
        return examine.read_log("-", sys.stdin.buffer, known)
    try:
        with path.open("rb") as file:
            return examine.read_log(str(path), file, known)
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror or error}") from None


def tell(report: Report, kind: options.Format, *, quiet: bool, verbose: bool) -> int:
    """Put a report on standard output, without secrets, and without names where it is made to be shared; return its exit code."""
    names = who(Host().env)
    fit = shareable(report, names) if kind is not options.Format.TEXT else without_any_secrets(report)
    screen.put(screen.render(fit, kind, verbosity=-1 if quiet else 1 if verbose else 0))
    return report.exit_code
