"""Run a check, show what it does, and print its report: what `doctor check` does with a request."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from doctor.cli import progress
from doctor.cli.output import tell
from doctor.cli.reports import RequestedReport
from doctor.pipeline import check as pipeline
from doctor.pipeline.requests import CheckRequest, NameOption, flag
from doctor.report import Format, renderer


def examine(
    request: CheckRequest,
    kind: Format,
    *,
    beside: Sequence[RequestedReport] = (),
    quiet: bool = False,
    verbose: bool = False,
    name_option: NameOption = flag,
) -> int:
    """Examine an environment, print its report in a format, and return the exit code.

    `beside` are the reports that go into files. Raises DoctorError as `doctor.pipeline.check` does.
    """
    with progress.display(kind, quiet=quiet, verbose=verbose) as view:
        judged = pipeline.check(
            request,
            view.watcher,
            first=view.first,
            name_option=name_option,
            meanwhile=partial(renderer, kind),
        )
    return tell(
        judged,
        kind,
        quiet=quiet,
        verbose=verbose,
        beside=beside,
        shown=view.already,
        keep=request.snapshot is None,
    )
