"""The application: its commands, and the one border where errors become exit codes."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Optional

import typer

from doctor.bundled import bundled

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)


@app.callback()
def doctor() -> None:
    """Examine the GPU stack of another interpreter."""


@app.command()
def lint(folder: Annotated[Optional[Path], typer.Argument()] = None) -> None:
    """Check the catalog."""
    from doctor.lint import lint as find_faults
    from doctor.scripts import load_checks

    faults = find_faults(folder or bundled("matrices"), load_checks())
    for fault in faults:
        print(fault)
    raise typer.Exit(1 if faults else 0)


def main() -> None:
    """Run the command line."""
    sys.exit(app())
