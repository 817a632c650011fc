"""`doctor show`: the last reports once more."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from doctor.base.errors import DoctorError, UsageError
from doctor.cli import console, options, reports
from doctor.cli.output import tell
from doctor.host import Host
from doctor.pipeline import history
from doctor.report import Format
from doctor.report.view.summary import summary
from doctor.report.view.words import count


def show(
    context: typer.Context,
    number: Annotated[
        int, typer.Argument(metavar="[N]", min=1, help="1 is the last report, 2 the one before.")
    ] = 1,
    list_: Annotated[bool, typer.Option("--list", help="List the reports that are there.")] = False,
    format_: options.FormatOption = Format.TEXT,
    report: options.Reports = None,
    quiet: options.Quiet = False,
    verbose: options.Verbose = False,
) -> int:
    """Show the last report again, in any format, without a new run. The exit code is 0."""
    env = Host().env
    found = history.entries(env)
    if not found:
        raise UsageError(
            "no report is there yet: doctor check makes one (none is kept if DOCTOR_CACHE_DIR is "
            "empty)"
        )
    if list_:
        console.write_out("\n".join(_row(place, path, env) for place, path in enumerate(found, 1)))
        return 0
    if number > len(found):
        raise UsageError(f"{number}: {count(len(found), 'report')} are there (doctor show --list)")
    format_, beside = reports.requested_reports(context, format_, report or ())
    judged = history.read(found[number - 1], env).report
    tell(judged, format_, quiet=quiet, verbose=verbose, beside=beside)
    return 0


def _row(place: int, path: Path, env: Mapping[str, str]) -> str:
    try:
        entry = history.read(path, env)
    except DoctorError as error:
        return f"{place:>3}  {error}"
    judged = entry.report
    total = summary(judged)
    about = ", ".join(target.path for target in judged.observation.targets)
    about = about or ", ".join(log.source for log in judged.observation.logs) or "this machine"
    numbers = ", ".join(
        count(number, word)
        for number, word in (
            (total.error, "error"),
            (total.warning, "warning"),
            (total.note, "note"),
        )
    )
    when = entry.made.replace("T", " ")[:16]
    return f"{place:>3}  {when} UTC  {judged.command} of {about}: {numbers}"
