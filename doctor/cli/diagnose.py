"""The command that reads a log of something that failed elsewhere."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from doctor.base.errors import UsageError
from doctor.catalog import loading as catalogs
from doctor.cli import options, reports
from doctor.cli.output import read_logs, tell
from doctor.cli.suppressions import gates
from doctor.model.scales import Severity
from doctor.pipeline import examine


def diagnose(
    context: typer.Context,
    logs: Annotated[
        list[Path],
        typer.Argument(
            metavar="LOG...", help="What was printed; - is standard input.", show_default=False
        ),
    ],
    env: Annotated[
        Path | None,
        typer.Option(
            "--env",
            metavar="FILE",
            help="The machine it failed on: a snapshot, a JSON report, or the text of collect_env.",
        ),
    ] = None,
    _project: options.Project = Path(),
    format_: options.FormatOption = options.Format.TEXT,
    report: options.Reports = None,
    fail_on: options.FailOn = Severity.ERROR,
    baseline: options.Baseline = None,
    matrices: options.Matrices = None,
    quiet: options.Quiet = False,
    verbose: options.Verbose = False,
    _debug: options.Debug = False,
) -> int:
    """Say why something failed, from what it printed: a build log, a traceback, the output of CI, an issue's text.

    This machine is not looked at. Exit code 4: nothing in it is recognised.
    """
    format_, beside = reports.settled(context, format_, report or ())
    if len({str(path) for path in logs}) < len(logs):
        raise UsageError("the same log is given twice")
    environment = examine.read_observation(env) if env else None
    known = catalogs.load(matrices or ())
    seen = examine.of_logs(read_logs(logs, known), environment)
    wanted = examine.Wanted(fail_on=fail_on, gates=gates(context, baseline))
    judged = examine.examine(seen, known, wanted, command="diagnose")
    return tell(judged, format_, quiet=quiet, verbose=verbose, beside=beside)
