"""`doctor diff`: what changed between two runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import msgspec
import typer

from doctor.api import compare_files
from doctor.base.errors import UsageError
from doctor.cli import configuration, console, options
from doctor.host import Host
from doctor.model.comparison import Comparison
from doctor.model.scales import Severity
from doctor.redact.report import shareable, who, without_any_secrets

_FORMATS = ("text", "json")


def diff(
    context: typer.Context,
    before: Annotated[
        Path,
        typer.Argument(
            metavar="BEFORE",
            help="The earlier state: a JSON report, a snapshot or the output of collect_env.",
        ),
    ],
    after: Annotated[
        Path, typer.Argument(metavar="AFTER", help="The later state, in any of these forms.")
    ],
    _project: options.Project = Path(),
    format_: Annotated[
        str,
        typer.Option("--format", "-f", metavar="[text|json]", help="Format on standard output."),
    ] = "text",
    fail_on: options.FailOn = Severity.ERROR,
    matrices: options.Matrices = None,
    quiet: options.Quiet = False,
    verbose: options.Verbose = False,
) -> int:
    """Compare two runs: changed facts, most important first, and new and fixed findings.

    A JSON report contains findings; a snapshot or text is judged first. The exit code is 1 if there
    is a new finding at or above --fail-on.
    """
    if format_ not in _FORMATS:
        raise UsageError(f"--format {format_}: choose from {', '.join(_FORMATS)}")
    ignores = configuration.of(context).ignores
    found = compare_files(before, after, fail_on, ignores, matrices or ())
    if format_ == "json":
        shared = shareable(found, who(Host().env))
        console.write_out(msgspec.json.format(msgspec.json.encode(shared), indent=2).decode())
    else:
        console.write_out(_text(without_any_secrets(found), -1 if quiet else 1 if verbose else 0))
    return found.exit_code


def _text(found: Comparison, verbosity: int) -> str:
    from doctor.report.terminal import comparison as terminal_comparison

    look = console.style()
    return terminal_comparison.render(
        found, verbosity=verbosity, width=look.width, colour=look.colour, unicode=look.unicode
    )
