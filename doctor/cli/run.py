"""`doctor run`: run a command, and explain it if it fails."""

from __future__ import annotations

import contextlib
import os
import sys
from pathlib import Path

import typer

from doctor.base.errors import DoctorError, UsageError
from doctor.base.refusals import RefusedError, refusal_of
from doctor.cli import console
from doctor.host.passthrough import PassThroughResult, pass_through
from doctor.model.scales import Severity
from doctor.pipeline.diagnose import explain_failure
from doctor.pipeline.requests import RunRequest
from doctor.redact.report import without_any_secrets
from doctor.report import Format

_MEMORY = 96 << 20
"""Bytes for the catalog and a log of ordinary size; libraries in Rust abort for want of them."""


def run(context: typer.Context) -> int:
    """Run a command unchanged, and explain on standard error why it failed.

    For example: doctor run -- pip install flash-attn. Its output and its exit code are passed on as
    they are. Of [tool.doctor] skip, matrices and ignore count.
    """
    if not context.args:
        raise UsageError("name a command to run: doctor run -- pip install flash-attn")
    passed = pass_through(context.args)
    if passed.why:
        console.say(f"doctor: {passed.why}")
    elif passed.code and not passed.was_signalled and sys.stderr is not None:
        try:
            _tell(context, passed)
        except Exception as error:  # noqa: BLE001 - whatever hinders doctor, the command has ended as it has
            no = refusal_of(error)
            told = RefusedError(no.words) if no else error
            console.say(f"doctor: {told if isinstance(told, DoctorError) else console.fault(told)}")
    return passed.code


def _tell(context: typer.Context, passed: PassThroughResult) -> None:
    from doctor.cli import configuration
    from doctor.cli.start import hold_memory
    from doctor.pipeline import history

    hold_memory(_MEMORY)
    configuration.project(context, Path())
    values = configuration.of(context).values
    report = explain_failure(
        RunRequest(
            argv=tuple(context.args),
            status=passed.code,
            output=passed.output,
            skip=tuple(values.get("skip", ())),
            policy=configuration.policy(context, Severity.ERROR, None),
            matrices=tuple(map(Path, values.get("matrices", ()))),
        )
    )
    clean = without_any_secrets(report)
    text = console.render(clean, Format.TEXT, stream=sys.stderr)
    with contextlib.suppress(OSError, UnicodeEncodeError):
        print("\n" + text.rstrip("\n"), file=sys.stderr, flush=True)
    history.save(clean, os.environ)
