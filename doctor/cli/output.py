"""Print a report, and write those that go into files."""

from __future__ import annotations

from collections.abc import Sequence

from doctor.base.errors import WriteError
from doctor.base.time_limit import TIME_LIMIT, time_limit
from doctor.cli import console, reports
from doctor.host import Host
from doctor.model.report import Report
from doctor.redact.report import shareable, who, without_any_secrets
from doctor.report import Format


def tell(
    report: Report,
    kind: Format,
    *,
    quiet: bool,
    verbose: bool,
    beside: Sequence[reports.RequestedReport] = (),
    shown: object = None,
    keep: bool = False,
) -> int:
    """Put a report on standard output and into the files that were asked for; return its exit code.

    Secrets are blanked everywhere; names are masked where a report is made to be shared, which is
    everything but text on standard output. Raises WriteError where one of them cannot be written,
    once the others are. `shown` is what the terminal shows already; `keep` keeps the report for
    `doctor show`.
    """
    with time_limit(TIME_LIMIT, "the report could not be written"):
        shared = shareable(report, who(Host().env)) if beside or kind is not Format.TEXT else report
        fit = shared if kind is not Format.TEXT else without_any_secrets(report)
        text = console.render(
            fit, kind, verbosity=-1 if quiet else 1 if verbose else 0, shown=shown
        )
    failed = []
    try:
        console.write_out(text)
    except WriteError as error:
        failed.append(str(error))
    failed += reports.publish(shared, beside)
    if keep:
        from doctor.pipeline import history

        history.save(fit, Host().env)
    if failed:
        raise WriteError("; ".join(failed))
    return report.exit_code
