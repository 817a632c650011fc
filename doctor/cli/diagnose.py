"""The command that reads a log of something that failed elsewhere."""

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
    format_: options.FormatOption = Format.TEXT,
    report: options.Reports = None,
    fail_on: options.FailOn = Severity.ERROR,
    baseline: options.Baseline = None,
    matrices: options.Matrices = None,
    quiet: options.Quiet = False,
    verbose: options.Verbose = False,
) -> int:
    """Say why something failed, from what it printed: a build log, a traceback, the output of CI, an issue's text.

    This machine is not looked at. Exit code 4: nothing in it is recognised.
    """
    format_, beside = reports.settled(context, format_, report or ())
    request = DiagnoseRequest(
        logs=tuple(logs),
        environment=env,
        policy=configuration.policy(context, fail_on, baseline),
        matrices=tuple(matrices or ()),
    )
    judged = pipeline.diagnose(request)
    return tell(judged, format_, quiet=quiet, verbose=verbose, beside=beside)
