"""The one border of the command line, where errors become sentences and exit codes."""

from __future__ import annotations

import atexit
import io
import os
import signal
import sys
from typing import Any, NoReturn

from doctor.base import refusals
from doctor.base.errors import DoctorError, UsageError
from doctor.base.own_name import set_own_command
from doctor.cli.console import fault, say
from doctor.cli.program_names import called
from doctor.cli.start import is_debugging

USAGE, FAULT, INTERRUPTED = 2, 3, 130
_QUESTIONS = ("_DOCTOR_COMPLETE", "_CANARY_DOCTOR_COMPLETE")
"""Variables with which a shell asks for completions."""


def main() -> NoReturn:
    """Run the command line; every error ends here, as one sentence and an exit code."""
    try:
        signal.signal(signal.SIGTERM, _interrupt)
        set_own_command(called())
        with refusals.as_refusal():
            code: Any = _run()
    except KeyboardInterrupt:
        say("doctor: interrupted")
        _leave(INTERRUPTED)
    except UsageError as error:
        _tell(error)
        _leave(USAGE)
    except DoctorError as error:
        _tell(error)
        _leave(FAULT)
    except SystemExit:
        raise
    except BaseException as error:  # noqa: BLE001 - a panic of a Rust extension is no Exception
        if type(error).__name__ == "Abort":  # typer's, which a plain check does not import
            _leave(INTERRUPTED)
        _trace(error)
        if hasattr(error, "exit_code") and hasattr(error, "show"):
            from doctor.cli import configuration

            configuration.name_origin(error)
            _show(error)
            _leave(USAGE)
        say(f"doctor: {fault(error)}")
        _leave(FAULT)
    _leave(code if isinstance(code, int) else 0)


def _run() -> Any:
    """Run a plain `doctor check` directly, and all else through typer."""
    if sys.argv[1:2] == ["check"] and not any(name in os.environ for name in _QUESTIONS):
        from doctor.cli import plain_check

        if (plain := plain_check.parsed(sys.argv[1:])) is not None:
            return plain_check.run(plain)
    from doctor.cli.app import app
    from doctor.cli.completion import answer_shells

    answer_shells()
    return app(standalone_mode=False)


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
