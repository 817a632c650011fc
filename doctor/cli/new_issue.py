"""`doctor new-issue`: start a known issue from a log."""

from __future__ import annotations

from datetime import datetime, timezone
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from doctor.base.errors import UsageError
from doctor.base.text import neutralize_commands
from doctor.catalog import loading as catalogs
from doctor.cli import console as screen
from doctor.events.owner import owning_event
from doctor.events.reading import events_of
from doctor.host import Host
from doctor.logs.skeleton import skeleton
from doctor.pipeline.assess import assess
from doctor.pipeline.logs import observation_from_logs, read_logs
from doctor.redact.people import Mask
from doctor.redact.report import who


def new_issue(
    log: Annotated[
        Path,
        typer.Argument(
            metavar="LOG", help="The log of the failure; - is standard input.", show_default=False
        ),
    ],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="The file to write: matrices/issues/<component>/<slug>.yaml, or -.",
        ),
    ] = None,
) -> int:
    """Start a known issue from the log of a failure that doctor does not know.

    Then `doctor lint` lists what is missing. Secrets, and names of people and machines, are masked,
    because a known issue is published.
    """
    catalog = catalogs.load()
    (read,) = read_logs((log,), catalog)
    mask = Mask(who(Host().env))
    masked = msgspec.structs.replace(read, lines=tuple(map(mask, read.lines)))
    line = owning_event(events_of(masked))
    if line is None:
        raise UsageError(f"{log}: no line in it looks like an error; pass the part that does")
    known = assess(observation_from_logs((read,)), catalog, command="diagnose").findings
    if known:
        screen.say(
            f"doctor: {known[0].id} matches this log already; extend that issue instead "
            f"(doctor explain {known[0].id})"
        )
    text = neutralize_commands(skeleton(masked.lines, line, datetime.now(timezone.utc).date()))
    try:
        if screen.create(output or Path("-"), text):
            screen.say(f"wrote {output}; doctor lint lists what is missing")
    except FileExistsError:
        raise UsageError(f"{output} exists already") from None
    return 0
