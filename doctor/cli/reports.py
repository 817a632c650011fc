"""The reports that are written beside the one on standard output."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from doctor.base.errors import UsageError, WriteError
from doctor.cli.console import render, write
from doctor.cli.program_names import suggest
from doctor.model.report import Report
from doctor.report import Format

if TYPE_CHECKING:
    import typer

STANDARD_OUTPUT = Path("-")


class RequestedReport(msgspec.Struct, frozen=True):
    """A report that is to be written: its format, and the file, or `-`.

    Without one, it goes where the runner of GitHub Actions looks.
    """

    kind: Format
    path: Path | None


def requested_reports(
    context: typer.Context, kind: Format, asked: Sequence[str]
) -> tuple[Format, tuple[RequestedReport, ...]]:
    """Return the format on standard output and the reports beside it.

    `--report json=-` means `--format json`.

    Raises UsageError where `--format` names another one as well.
    """
    wanted = parsed(asked)
    here = [one for one in wanted if one.path == STANDARD_OUTPUT]
    if (
        here
        and kind is not here[0].kind
        and getattr(context.get_parameter_source("format_"), "name", "") == "COMMANDLINE"
    ):
        raise UsageError(
            f"--report {here[0].kind.value}=-: standard output is already that of "
            f"--format {kind.value}"
        )
    return here[0].kind if here else kind, tuple(one for one in wanted if one not in here)


def parsed(asked: Sequence[str]) -> tuple[RequestedReport, ...]:
    """Read `FORMAT=PATH` of each `--report`.

    Raises UsageError for an unknown format, and for two reports in one file.
    """
    wanted = tuple(map(_parsed, asked))
    for number, one in enumerate(wanted):
        if one.path in [other.path for other in wanted[:number]]:
            raise UsageError(f"--report: two reports cannot both be {one.path or 'annotations'}")
    return wanted


def _parsed(text: str) -> RequestedReport:
    name, _, path = text.partition("=")
    known = [kind.value for kind in Format]
    if name not in known:
        raise UsageError(
            f"--report {text}: {name or 'nothing'} is no format"
            f"{suggest(name, known, '; choose from ' + ', '.join(known))}"
        )
    if text == Format.GITHUB.value:
        return RequestedReport(Format.GITHUB, None)
    if not path:
        raise UsageError(f"--report {text}: say where to write it, {name}=PATH")
    return RequestedReport(Format(name), Path(path))


def publish(report: Report, wanted: Sequence[RequestedReport]) -> list[str]:
    """Write every report; return, for those that could not be written, why."""
    failed = []
    for one in wanted:
        try:
            if one.path is None:
                _annotate(report)
            else:
                write(one.path, render(report, one.kind, file=True))
        except WriteError as error:
            failed.append(str(error))
    return failed


def _annotate(report: Report) -> None:
    """Write annotations to standard error, which the runner reads as well, and the step summary."""
    with contextlib.suppress(OSError):
        sys.stderr.write(render(report, Format.GITHUB, file=True))
        sys.stderr.flush()
    if summary := os.environ.get("GITHUB_STEP_SUMMARY"):
        _append_summary(report, Path(summary))


def _append_summary(report: Report, path: Path) -> None:
    from doctor.host import writing
    from doctor.report.markdown import step_summary

    try:
        taken = path.stat().st_size if path.exists() else 0
    except OSError:
        taken = 0  # the writer says why
    writing.append(path, step_summary.render(report, room=step_summary.LIMIT - taken))
