"""`doctor mcp`: check, diagnose, plan and explain for coding agents."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from doctor.base.errors import UsageError
from doctor.cli import options

_MOST_SECONDS = 600.0


def mcp(
    python: Annotated[
        list[str] | None,
        typer.Option(
            "--python",
            "-p",
            metavar="PATH",
            help="An environment that agents may examine; repeatable. Default: as doctor check.",
        ),
    ] = None,
    project: options.Project = Path(),
    seconds: Annotated[
        float,
        typer.Option("--budget", metavar="SECONDS", min=1, help="How long one check may take."),
    ] = 120,
) -> int:
    """Serve coding agents over standard input and output (Model Context Protocol).

    The tools check, diagnose, plan and explain change nothing. Agents choose no program and no
    file.
    """
    try:
        from doctor.cli.mcp_tools import server
    except ImportError as error:
        raise UsageError(
            f"the package mcp (2 or newer) is missing beside doctor ({error}): install doctor with "
            "its extra, in a checkout: pipx install '.[mcp]'"
        ) from None
    server(tuple(python or ()), project, min(seconds, _MOST_SECONDS)).run("stdio")
    return 0
