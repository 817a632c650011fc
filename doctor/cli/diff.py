"""The command that says what changed since it was green."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from doctor.base.errors import InputError, UsageError
from doctor.catalog import loading as catalogs
from doctor.cli import console as screen
from doctor.cli import options
from doctor.cli.suppressions import gates
from doctor.host import Host
from doctor.judge.comparison import compare
from doctor.judge.suppressions import Gates
from doctor.logs import snapshots as saved
from doctor.model.catalog import Catalog
from doctor.model.comparison import Comparison, Judged, Side
from doctor.model.document import ReportDocument
from doctor.model.scales import Severity
from doctor.pipeline import examine
from doctor.redact.report import shareable, who, without_any_secrets
from doctor.report.structured import json_document as json_reporter

_FORMATS = ("text", "json")


def diff(
    context: typer.Context,
    before: Annotated[
        Path,
        typer.Argument(
            metavar="BEFORE",
            help="What was: a JSON report, a snapshot, or the text of collect_env.",
        ),
    ],
    after: Annotated[Path, typer.Argument(metavar="AFTER", help="What is, in any of these forms.")],
    _project: options.Project = Path(),
    format_: Annotated[
        str,
        typer.Option("--format", "-f", metavar="[text|json]", help="Format on standard output."),
    ] = "text",
    fail_on: options.FailOn = Severity.ERROR,
    matrices: options.Matrices = None,
    quiet: options.Quiet = False,
    verbose: options.Verbose = False,
    _debug: options.Debug = False,
) -> int:
    """Say what changed between two runs: what moved, what matters most first, and which findings came and went.

    A JSON report has its findings; anything else is judged now. Exit code 1: a finding came, at or
    above --fail-on.
    """
    if format_ not in _FORMATS:
        raise UsageError(f"--format {format_}: choose from {', '.join(_FORMATS)}")
    known, passed = catalogs.load(matrices or ()), gates(context, None)
    found = compare(_side(before, known, passed), _side(after, known, passed), fail_on)
    if format_ == "json":
        shared = shareable(found, who(Host().env))
        screen.put(msgspec.json.format(msgspec.json.encode(shared), indent=2).decode())
    else:
        screen.put(_text(without_any_secrets(found), -1 if quiet else 1 if verbose else 0))
    return found.exit_code


def _text(found: Comparison, verbosity: int) -> str:
    from doctor.report.terminal import comparison as terminal_comparison

    look = screen.style()
    return terminal_comparison.render(
        found, verbosity=verbosity, width=look.width, colour=look.colour, unicode=look.unicode
    )


def _side(path: Path, known: Catalog, passed: Gates) -> Judged:
    content = examine.content_of(path)
    told = None
    if saved.is_report(content):
        with contextlib.suppress(
            InputError
        ):  # what is wrong with its facts is told below, and what it found can be found again
            told = saved.decoded(content, ReportDocument, str(path))
    if told is None:
        judged = examine.examine(
            examine.observation_in(content, path), known, examine.Wanted(gates=passed)
        )
        told = json_reporter.document(judged)
    side = Side(
        name=str(path),
        taken=told.taken,
        doctor_version=told.doctor.version,
        catalog=told.doctor.catalog.digest,
    )
    return Judged(side=side, facts=told.facts, findings=told.findings)
