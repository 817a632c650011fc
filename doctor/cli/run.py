"""The command that stands behind another one, and speaks only when that fails."""

from __future__ import annotations

import contextlib
import io
import sys
from pathlib import Path

import msgspec
import typer

from doctor.base.errors import DoctorError, UsageError
from doctor.base.refusals import RefusedError, current, refusal
from doctor.catalog import loading as catalogs
from doctor.cli import console as screen
from doctor.cli.options import Format
from doctor.host import Host
from doctor.host.passthrough import pass_through
from doctor.model.observation import Log, Observation
from doctor.observe import observation as observe
from doctor.pipeline import examine
from doctor.redact.report import without_any_secrets


def run(context: typer.Context) -> int:
    """Run a command untouched, and say why on standard error when it fails.

    For example: doctor run -- pip install flash-attn. Its output and its exit code are passed on as
    they are.
    """
    if not context.args:
        raise UsageError("say which command to run: doctor run -- pip install flash-attn")
    passed = pass_through(context.args)
    if passed.why:
        screen.say(f"doctor: {passed.why}")
    elif passed.code and not passed.was_told and sys.stderr is not None:
        try:
            _tell(context.args[0], passed.output)
        except Exception as error:  # noqa: BLE001 - whatever hinders doctor, the command has ended as it has
            no = refusal(error)
            told = RefusedError(no.words) if no else error
            screen.say(f"doctor: {told if isinstance(told, DoctorError) else screen.fault(told)}")
    return passed.code


def _tell(command: str, output: bytes) -> None:
    known = catalogs.load()
    log = examine.read_log("the output", io.BytesIO(output), known)
    report = examine.examine(_seen(command, log), known, examine.Wanted(), command="run")
    text = screen.render(without_any_secrets(report), Format.TEXT, stream=sys.stderr)
    with contextlib.suppress(OSError, UnicodeEncodeError):
        print("\n" + text.rstrip("\n"), file=sys.stderr, flush=True)


def _seen(command: str, log: Log) -> Observation:
    """Look at the machine as far as that costs nothing, beside what the log itself tells."""
    host = Host()
    # Whatever failed, an environment that merely lies in this folder had no part in it.
    python = _environment_of(host, command)
    request = observe.Request(
        host=host,
        project=current(),
        python=python,
        in_project=False,
        bounds=observe.Bounds(canaries=False),
    )
    try:
        seen = observe.observe(request, lambda _what, _seconds: None)
    except DoctorError:
        return examine.of_logs((log,))
    return examine.of_logs((log,), msgspec.structs.replace(seen, left_out=()))


def _environment_of(host: Host, command: str) -> str | None:
    """Return the environment that a command belongs to: the pip of a virtual environment installs into that one."""
    found = host.which(command)
    prefix = Path(found).absolute().parent.parent if found else None
    return (
        str(prefix)
        if prefix and any((prefix / mark).exists() for mark in ("pyvenv.cfg", "conda-meta"))
        else None
    )
