"""The application: its commands, and the one border where errors become exit codes."""

from __future__ import annotations

import gc
import io
import signal
import sys
from typing import Annotated, Any, NoReturn

import typer

from doctor import __version__
from doctor.cli import check, configuration, knowledge
from doctor.cli.completion import answer_shells, completion
from doctor.cli.config import config
from doctor.cli.diagnose import diagnose
from doctor.cli.diff import diff
from doctor.cli.init import init
from doctor.cli.names import shadow
from doctor.cli.new_issue import new_issue
from doctor.cli.run import run
from doctor.cli.screen import say
from doctor.cli.teaching import EXAMPLES, EXIT_CODES, FIND, KEEP, KNOW, SETTLE, teach, told
from doctor.errors import DoctorError, UsageError

USAGE, FAULT, INTERRUPTED = 2, 3, 130

app = typer.Typer(
    name="doctor",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=told((*EXAMPLES["check"][:2], EXAMPLES["diagnose"][0], EXAMPLES["explain"][0]), EXIT_CODES),
)
_PASSING = {"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": ["-h", "--help"]}
teach(app, check.check, FIND)
teach(app, diagnose, FIND)
teach(app, run, FIND, options_metavar="-- COMMAND [ARGS]...", context_settings=_PASSING)
teach(app, check.demo, FIND)
teach(app, check.snapshot, KEEP)
teach(app, diff, KEEP)
teach(app, knowledge.explain, KNOW)
teach(app, knowledge.list_, KNOW, "list")
teach(app, new_issue, SETTLE, "new-issue")
teach(app, knowledge.lint, SETTLE)
teach(app, knowledge.schema, SETTLE)
teach(app, config, SETTLE, options_metavar="[OPTIONS] [-- OPTIONS OF CHECK]...", context_settings={"allow_extra_args": True})
teach(app, completion, SETTLE)
teach(app, init, SETTLE)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"canary-doctor {__version__}")
        raise typer.Exit


@app.callback()
def doctor(
    _version_wanted: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Examine the GPU stack of another interpreter or Cargo workspace, and say what heals it."""
    if (other := shadow()) is not None:
        say(f"doctor: on this PATH `doctor` is another tool, {other}; call this one canary-doctor")


def main() -> NoReturn:
    """Run the command line; every error ends here, as one sentence and an exit code."""
    gc.disable()  # a run is short and makes few cycles: collecting them costs more than it frees
    signal.signal(signal.SIGTERM, _interrupt)
    answer_shells()
    try:
        code: Any = app(standalone_mode=False)
    except KeyboardInterrupt:
        say("doctor: interrupted")
        sys.exit(INTERRUPTED)
    except UsageError as error:
        _tell(error)
        sys.exit(USAGE)
    except DoctorError as error:
        _tell(error)
        sys.exit(FAULT)
    except typer.Abort:
        sys.exit(INTERRUPTED)
    except Exception as error:
        if "--debug" in sys.argv:
            raise
        if hasattr(error, "exit_code") and hasattr(error, "show"):
            configuration.name_origin(error)
            _show(error)
            sys.exit(USAGE)
        say(f"doctor: this is a fault of doctor itself: {type(error).__name__}: {error} (--debug shows the trace)")
        sys.exit(FAULT)
    sys.exit(code if isinstance(code, int) else 0)


def _tell(error: DoctorError) -> None:
    if "--debug" in sys.argv:
        raise error
    say(f"doctor: {error}")


def _show(error: Any) -> None:
    """Say a mistake as click words it; it repeats what was typed, which may be a command for a runner of CI."""
    heard = io.StringIO()
    error.show(file=heard)
    say(heard.getvalue().rstrip("\n"))


def _interrupt(_number: int, _frame: object) -> NoReturn:
    raise KeyboardInterrupt
