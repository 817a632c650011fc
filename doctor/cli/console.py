"""Where text goes: the report to standard output, everything else to standard error."""

from __future__ import annotations

import contextlib
import os
import sys
from pathlib import Path

import msgspec

from doctor.base.errors import WriteError
from doctor.base.text import neutralize_commands, sanitize
from doctor.model.report import Report
from doctor.redact import without_secrets
from doctor.report import Format, renderer

_FILE_WIDTH = 100


class Style(msgspec.Struct, frozen=True, kw_only=True):
    """What the terminal behind a stream can show."""

    colour: bool
    unicode: bool
    width: int
    interactive: bool


def style(stream: object = None) -> Style:
    """Return the style for a stream; NO_COLOR, FORCE_COLOR, TERM and COLUMNS are respected."""
    stream = stream or sys.stdout
    tty = bool(getattr(stream, "isatty", lambda: False)())
    encoding = (getattr(stream, "encoding", None) or "ascii").lower().replace("-", "")
    forced = os.environ.get("FORCE_COLOR", "") not in ("", "0") or os.environ.get(
        "CLICOLOR_FORCE", ""
    ) not in ("", "0")
    dumb = os.environ.get("TERM") == "dumb"
    colour = not os.environ.get("NO_COLOR") and (forced or (tty and not dumb))
    columns = _columns() if tty or os.environ.get("COLUMNS") else _FILE_WIDTH
    return Style(
        colour=colour,
        unicode=encoding.startswith("utf"),
        width=max(40, min(columns, 120)),
        interactive=tty and not dumb,
    )


def _columns() -> int:
    """Return the terminal's width as `shutil.get_terminal_size` does, without its imports."""
    try:
        columns = int(os.environ.get("COLUMNS", ""))
    except ValueError:
        columns = 0
    if columns <= 0:
        try:
            columns = os.get_terminal_size(sys.__stdout__.fileno()).columns if sys.__stdout__ else 0
        except (OSError, ValueError, AttributeError):
            columns = 0
    return columns or _FILE_WIDTH


def write_out(text: str) -> None:
    """Write the report to standard output; raise WriteError where that fails.

    A reader that has gone is no failure. Nor is a closed output (`>&-`): the caller wants the exit
    code alone.
    """
    if sys.stdout is None:
        say("doctor: nothing is printed: standard output is closed")
        return
    try:
        sys.stdout.write(text if text.endswith("\n") else text + "\n")
        sys.stdout.flush()
    except BrokenPipeError:
        _close_quietly()
    except UnicodeEncodeError:
        sys.stdout.buffer.write(text.encode(sys.stdout.encoding or "ascii", "backslashreplace"))
        sys.stdout.flush()
    except OSError as error:
        _close_quietly()
        raise WriteError(f"the report cannot be written to standard output: {error}") from None


def _put_named(text: str) -> None:
    """Write to the standard output that the command line names as its file."""
    if sys.stdout is None:
        raise WriteError("the report cannot be written: standard output is closed")
    write_out(text)


def _close_quietly() -> None:
    with contextlib.suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def write(path: Path, text: str, *, private: bool = False) -> bool:
    """Write a file (doctor.host.writing), or `-`, which is standard output everywhere.

    Say whether it was a file. Raises WriteError.
    """
    if str(path) == "-":
        _put_named(text)
        return False
    from doctor.host import writing

    writing.write(path, text, private=private)
    return True


def create(path: Path, text: str) -> bool:
    """Write a file that is not there yet, or `-`; say whether it was a file.

    Raises FileExistsError where it is there, else WriteError.
    """
    if str(path) == "-":
        _put_named(text)
        return False
    from doctor.host import writing

    writing.create(path, text)
    return True


def render(
    report: Report,
    kind: Format,
    *,
    verbosity: int = 0,
    stream: object = None,
    file: bool = False,
    shown: object = None,
) -> str:
    """Render a report for a stream (default: standard output), or for a file, without colours.

    `shown` is what the terminal shows already (doctor.report.terminal.document.Screen).
    """
    renders = renderer(kind).render
    if kind is not Format.TEXT:
        return str(renders(report))
    look = (
        Style(colour=False, unicode=True, width=_FILE_WIDTH, interactive=False)
        if file
        else style(stream)
    )
    return str(
        renders(
            report,
            verbosity=verbosity,
            width=look.width,
            colour=look.colour,
            unicode=look.unicode,
            **({"shown": shown} if shown is not None else {}),
        )
    )


def fault(error: BaseException) -> str:
    """Say of an error that nobody expected whose it is."""
    what = f"{type(error).__name__}: {error}"
    return f"this is a fault of doctor itself: {what} (--debug shows the trace)"


def say(text: str) -> None:
    """Tell the person at the terminal something that is not the report."""
    if sys.stderr is None:
        return  # print would take standard output instead
    try:
        shown = neutralize_commands(without_secrets(sanitize(text)))
    except (OSError, ImportError) as error:  # the rules for secrets are files
        why = os.strerror(error.errno) if isinstance(error, OSError) and error.errno else "no rules"
        shown = f"doctor: this machine does not let doctor say why it ends: {why}"
    with contextlib.suppress(OSError, UnicodeEncodeError):
        print(shown, file=sys.stderr, flush=True)
