"""The reports that are written beside the one on standard output."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from doctor.cli.names import near
from doctor.cli.options import Format
from doctor.cli.screen import WriteError, render, write
from doctor.errors import UsageError
from doctor.model.report import Report


class Wanted(NamedTuple):
    """A report that is to be written: its format, and the file."""

    kind: Format
    path: Path


def parsed(asked: Sequence[str]) -> tuple[Wanted, ...]:
    """Read `FORMAT=PATH` of each `--report`; raises UsageError for an unknown format, and for two reports in one file."""
    wanted = tuple(map(_parsed, asked))
    for number, one in enumerate(wanted):
        if one.path in [other.path for other in wanted[:number]]:
            raise UsageError(f"--report: two reports cannot both be {one.path}")
    return wanted


def _parsed(text: str) -> Wanted:
    name, _, path = text.partition("=")
    known = [kind.value for kind in Format]
    if name not in known:
        raise UsageError(f"--report {text}: {name or 'nothing'} is no format{near(name, known, '; choose from ' + ', '.join(known))}")
    if not path:
        raise UsageError(f"--report {text}: say where to write it, {name}=PATH")
    return Wanted(Format(name), Path(path))


def publish(report: Report, wanted: Sequence[Wanted]) -> list[str]:
    """Write every report; return, for those that could not be written, why."""
    failed = []
    for one in wanted:
        try:
            write(one.path, render(report, one.kind, file=True))
        except WriteError as error:
            failed.append(str(error))
    return failed
