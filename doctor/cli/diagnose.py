"""`doctor diagnose`: judge the log of a failure on another machine."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from doctor.cli import configuration, options, reports
from doctor.cli.output import tell
from doctor.model.scales import Severity
from doctor.pipeline import diagnose as pipeline
from doctor.pipeline.requests import DiagnoseRequest
from doctor.report import Format


def diagnose(
    context: typer.Context,
    logs: Annotated[
        list[Path],
        typer.Argument(
            metavar="LOG...", help="Logs of the failure; - is standard input.", show_default=False
        ),
    ],
    env: Annotated[
        Path | None,
        typer.Option(
            "--env",
            metavar="FILE",
            help=(
                "The machine that it failed on: a snapshot, a JSON report or the output of "
                "collect_env."
            ),
        ),
    ] = None,
    _project: options.Project = Path(),
    format_: options.FormatOption = Format.TEXT,
    report: options.Reports = None,
    fail_on: options.FailOn = Severity.ERROR,
    baseline: options.Baseline = None,
    matrices: options.Matrices = None,
    quiet: options.Quiet = False,
    verbose: options.Verbose = False,
) -> int:
    """Explain a failure by its log alone: a build log, a traceback, a CI log.

    This machine is not examined. The exit code is 4 if nothing is recognised.
    """
    format_, beside = reports.requested_reports(context, format_, report or ())
    request = DiagnoseRequest(
        logs=tuple(logs),
        environment=env,
        policy=configuration.policy(context, fail_on, baseline),
        matrices=tuple(matrices or ()),
    )
    judged = pipeline.diagnose(request)
    return tell(judged, format_, quiet=quiet, verbose=verbose, beside=beside)
