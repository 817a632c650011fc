"""What commands share: logs are read, a report is told."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from doctor.base.errors import UsageError, WriteError
from doctor.base.time_limit import PATIENCE, bounded
from doctor.cli import console as screen
from doctor.cli import options, reports
from doctor.host import Host
from doctor.model.catalog import Catalog
from doctor.model.observation import Log
from doctor.model.report import Report
from doctor.pipeline import examine
from doctor.redact.report import shareable, who, without_any_secrets


def read_logs(paths: Sequence[Path], known: Catalog) -> tuple[Log, ...]:
    """Read logs in their order; `-` is standard input.

    Raises UsageError for one that cannot be read.
    """
    return tuple(
        _standard_input(known) if str(path) == "-" else examine.open_log(path, known)
        for path in paths
    )


def _standard_input(known: Catalog) -> Log:
    if sys.stdin is None:
        raise UsageError("-: standard input is closed")
    try:
        return examine.read_log("-", sys.stdin.buffer, known)
    except OSError as error:
        raise UsageError(f"-: {error.strerror or error}") from None


def tell(
    report: Report,
    kind: options.Format,
    *,
    quiet: bool,
    verbose: bool,
    beside: Sequence[reports.Wanted] = (),
) -> int:
    """Put a report on standard output and into the files that were asked for; return its exit code.

    Secrets are blanked everywhere; names are masked where a report is made to be shared, which is
    everything but text on standard output. Raises WriteError where one of them cannot be written,
    once the others are.
    """
    with bounded(PATIENCE, "the report could not be written"):
        shared = (
            shareable(report, who(Host().env))
            if beside or kind is not options.Format.TEXT
            else report
        )
        fit = shared if kind is not options.Format.TEXT else without_any_secrets(report)
        text = screen.render(fit, kind, verbosity=-1 if quiet else 1 if verbose else 0)
    failed = []
    try:
        screen.put(text)
    except WriteError as error:
        failed.append(str(error))
    failed += reports.publish(shared, beside)
    if failed:
        raise WriteError("; ".join(failed))
    return report.exit_code
