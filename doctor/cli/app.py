"""The application: its commands, and the one border where errors become exit codes."""

from __future__ import annotations

import atexit
import io
import os
import signal
import sys
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, NoReturn

import typer

from doctor import __version__
from doctor.base import refusals
from doctor.base.errors import DoctorError, UsageError
from doctor.base.own_name import set_own_command
from doctor.cli.completion import answer_shells
from doctor.cli.console import fault, say
from doctor.cli.help import EXAMPLES, EXIT_CODES, FIND, KEEP, KNOW, SETTLE, Commands, Lesson, epilog
from doctor.cli.program_names import called, shadow
from doctor.cli.start import is_debugging

USAGE, FAULT, INTERRUPTED = 2, 3, 130

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
    if (other := shadow()) is not None:
        say(f"doctor: on this PATH `doctor` is another tool, {other}; call this one canary-doctor")


def main() -> NoReturn:
    """Run the command line; every error ends here, as one sentence and an exit code."""
    try:
        signal.signal(signal.SIGTERM, _interrupt)
        answer_shells()
        set_own_command(called())
        with refusals.as_refusal():
            code: Any = app(standalone_mode=False)
    except KeyboardInterrupt:
        say("doctor: interrupted")
        _leave(INTERRUPTED)
    except UsageError as error:
        _tell(error)
        _leave(USAGE)
    except DoctorError as error:
        _tell(error)
        _leave(FAULT)
    except typer.Abort:
        _leave(INTERRUPTED)
    except SystemExit:
        raise
    except BaseException as error:  # noqa: BLE001 - a panic of a Rust extension is no Exception
        _trace(error)
        if hasattr(error, "exit_code") and hasattr(error, "show"):
            from doctor.cli import configuration

            configuration.name_origin(error)
            _show(error)
            _leave(USAGE)
        say(f"doctor: {fault(error)}")
        _leave(FAULT)
    _leave(code if isinstance(code, int) else 0)


def _leave(code: int) -> NoReturn:
    """End at once, with everything written.

    Python would take apart, object by object, what goes with the process anyway: an eighth of the
    static check. And where threads are left it would end them, for which glibc opens a library, and
    aborts where no file may be opened.
    """
    atexit._run_exitfuncs()  # noqa: SLF001 - what libraries have asked for
    try:
        for stream in filter(None, (sys.stdout, sys.stderr)):
            stream.flush()
    except BrokenPipeError:
        pass  # whoever read has gone
    except (OSError, ValueError):
        code = code or FAULT
    os._exit(code)


def _tell(error: DoctorError) -> None:
    _trace(error)
    say(f"doctor: {error}")


def _trace(error: BaseException) -> None:
    """Show where an error comes from, to who asked for it.

    Through the door that shows no secret.
    """
    if is_debugging():
        import traceback

        say("".join(traceback.format_exception(error)).rstrip("\n"))


def _show(error: Any) -> None:
    """Say a mistake as click words it.

    It repeats what was typed, which may be a command for a runner of CI.
    """
    heard = io.StringIO()
    error.show(file=heard)
    say(heard.getvalue().rstrip("\n"))


def _interrupt(_number: int, _frame: object) -> NoReturn:
    raise KeyboardInterrupt
