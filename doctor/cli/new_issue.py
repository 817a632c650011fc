"""The command that begins a known issue from a log."""

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
from doctor.host import Host
from doctor.logs.log import owner
from doctor.logs.skeleton import skeleton
from doctor.pipeline.assess import assess
from doctor.pipeline.logs import observation_from_logs, read_logs
from doctor.redact.people import Mask
from doctor.redact.report import who


def new_issue(
    log: Annotated[
        Path,
        typer.Argument(
            metavar="LOG", help="What the failure printed; - is standard input.", show_default=False
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
    """Begin a known issue from the log of a failure that doctor does not know.

    Doctor lint then says what is missing.

    Secrets are blanked, and what names people or machines is masked: a known issue is made to be
    published.
    """
    catalog = catalogs.load()
    (read,) = read_logs((log,), catalog)
    mask = Mask(who(Host().env))
    masked = msgspec.structs.replace(read, lines=tuple(map(mask, read.lines)))
    line = owner(masked)
    if line is None:
        raise UsageError(f"{log}: no line in it complains of anything; cut out the part that does")
    known = assess(observation_from_logs((read,)), catalog, command="diagnose").findings
    if known:
        screen.say(
            f"doctor: {known[0].id} knows this log already; better widen that one (doctor explain {known[0].id})"
        )
    text = neutralize_commands(skeleton(masked.lines, line, datetime.now(timezone.utc).date()))
    try:
        if screen.create(output or Path("-"), text):
            screen.say(f"wrote {output}; doctor lint says what is missing")
    except FileExistsError:
        raise UsageError(f"{output} is there already") from None
    return 0
