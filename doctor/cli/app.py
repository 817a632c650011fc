"""The application: its commands, as typer knows them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar

import typer

from doctor import __version__
from doctor.cli.help import EXAMPLES, EXIT_CODES, FIND, KEEP, KNOW, SETTLE, Commands, Lesson, epilog
from doctor.cli.program_names import warn_of_shadow

_PASSING = {
    "allow_extra_args": True,
    "ignore_unknown_options": True,
    "help_option_names": ["-h", "--help"],
}


class _Group(Commands):
    lessons: ClassVar[Mapping[str, Lesson]] = {
        "check": Lesson("doctor.cli.check:check", FIND),
        "fix": Lesson(
            "doctor.cli.fix:fix",
            FIND,
            {
                "options_metavar": "[OPTIONS] [-- COMMAND [ARGS]...]",
                "context_settings": {"allow_extra_args": True},
            },
        ),
        "bisect": Lesson(
            "doctor.cli.bisect:bisect",
            FIND,
            {
                "options_metavar": "--good A --bad B [OPTIONS] [-- COMMAND [ARGS]...]",
                "context_settings": {"allow_extra_args": True},
            },
        ),
        "diagnose": Lesson("doctor.cli.diagnose:diagnose", FIND),
        "run": Lesson(
            "doctor.cli.run:run",
            FIND,
            {"options_metavar": "-- COMMAND [ARGS]...", "context_settings": _PASSING},
        ),
        "plan": Lesson("doctor.cli.plan:plan", FIND),
        "demo": Lesson("doctor.cli.check:demo", FIND),
        "snapshot": Lesson("doctor.cli.check:snapshot", KEEP),
        "show": Lesson("doctor.cli.show:show", KEEP),
        "diff": Lesson("doctor.cli.diff:diff", KEEP),
        "fleet": Lesson("doctor.cli.fleet:fleet", KEEP),
        "explain": Lesson("doctor.cli.catalog:explain", KNOW),
        "list": Lesson("doctor.cli.catalog:list_", KNOW),
        "search": Lesson("doctor.cli.catalog:search", KNOW),
        "new-issue": Lesson("doctor.cli.new_issue:new_issue", SETTLE),
        "lint": Lesson("doctor.cli.catalog:lint", SETTLE),
        "fmt": Lesson("doctor.cli.catalog:fmt", SETTLE),
        "schema": Lesson("doctor.cli.catalog:schema", SETTLE),
        "config": Lesson(
            "doctor.cli.config:config",
            SETTLE,
            {
                "options_metavar": "[OPTIONS] [-- OPTIONS OF CHECK]...",
                "context_settings": {"allow_extra_args": True},
            },
        ),
        "completion": Lesson("doctor.cli.completion:completion", SETTLE),
        "init": Lesson("doctor.cli.init:init", SETTLE),
        "mcp": Lesson("doctor.cli.mcp:mcp", SETTLE),
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
