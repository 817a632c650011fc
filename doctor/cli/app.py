"""The application: its commands, as typer knows them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar

import typer

from doctor import __version__
from doctor.cli.help import (
    EXAMPLES,
    EXIT_CODES,
    FIND,
    KEEP,
    KNOW,
    SETTLE,
    Commands,
    LazyCommand,
    epilog,
)
from doctor.cli.program_names import warn_of_shadow

_PASSING = {
    "allow_extra_args": True,
    "ignore_unknown_options": True,
    "help_option_names": ["-h", "--help"],
}


class _Group(Commands):
    lazy_commands: ClassVar[Mapping[str, LazyCommand]] = {
        "check": LazyCommand("doctor.cli.check:check", FIND),
        "fix": LazyCommand(
            "doctor.cli.fix:fix",
            FIND,
            {
                "options_metavar": "[OPTIONS] [-- COMMAND [ARGS]...]",
                "context_settings": {"allow_extra_args": True},
            },
        ),
        "bisect": LazyCommand(
            "doctor.cli.bisect:bisect",
            FIND,
            {
                "options_metavar": "--good A --bad B [OPTIONS] [-- COMMAND [ARGS]...]",
                "context_settings": {"allow_extra_args": True},
            },
        ),
        "diagnose": LazyCommand("doctor.cli.diagnose:diagnose", FIND),
        "run": LazyCommand(
            "doctor.cli.run:run",
            FIND,
            {"options_metavar": "-- COMMAND [ARGS]...", "context_settings": _PASSING},
        ),
        "plan": LazyCommand("doctor.cli.plan:plan", FIND),
        "demo": LazyCommand("doctor.cli.check:demo", FIND),
        "snapshot": LazyCommand("doctor.cli.check:snapshot", KEEP),
        "show": LazyCommand("doctor.cli.show:show", KEEP),
        "diff": LazyCommand("doctor.cli.diff:diff", KEEP),
        "fleet": LazyCommand("doctor.cli.fleet:fleet", KEEP),
        "explain": LazyCommand("doctor.cli.catalog:explain", KNOW),
        "list": LazyCommand("doctor.cli.catalog:list_", KNOW),
        "search": LazyCommand("doctor.cli.catalog:search", KNOW),
        "new-issue": LazyCommand("doctor.cli.new_issue:new_issue", SETTLE),
        "lint": LazyCommand("doctor.cli.catalog:lint", SETTLE),
        "fmt": LazyCommand("doctor.cli.catalog:fmt", SETTLE),
        "schema": LazyCommand("doctor.cli.catalog:schema", SETTLE),
        "config": LazyCommand(
            "doctor.cli.config:config",
            SETTLE,
            {
                "options_metavar": "[OPTIONS] [-- OPTIONS OF CHECK]...",
                "context_settings": {"allow_extra_args": True},
            },
        ),
        "completion": LazyCommand("doctor.cli.completion:completion", SETTLE),
        "init": LazyCommand("doctor.cli.init:init", SETTLE),
        "mcp": LazyCommand("doctor.cli.mcp:mcp", SETTLE),
    }


app = typer.Typer(
    name="doctor",
    cls=_Group,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=epilog(
        (*EXAMPLES["check"][:2], EXAMPLES["diagnose"][0], EXAMPLES["explain"][0]), EXIT_CODES
    ),
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"canary-doctor {__version__}")
        raise typer.Exit


@app.callback()
def doctor(
    _version_wanted: Annotated[
        bool,
        typer.Option(
            "--version", "-V", callback=_version, is_eager=True, help="Show the version and exit."
        ),
    ] = False,
) -> None:
    """Find out why an ML environment does not work, and print the commands that fix it."""
    warn_of_shadow()
