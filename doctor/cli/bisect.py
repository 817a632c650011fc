"""`doctor bisect`: the moves of packages that turn a good environment bad."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer

from doctor.cli import console, options
from doctor.cli.stages import stages
from doctor.model.plans import Change
from doctor.redact import without_secrets

if TYPE_CHECKING:
    from doctor.repair.bisect import Bisection

_WHAT = "What to compare"


class BisectFormat(Enum):
    """Formats of a bisection."""

    TEXT = "text"
    JSON = "json"


Good = Annotated[
    str,
    typer.Option(
        "--good",
        metavar="A",
        help="An environment, a list of requirements, a lock or a snapshot that works.",
        rich_help_panel=_WHAT,
    ),
]
Bad = Annotated[
    str,
    typer.Option("--bad", metavar="B", help="One that does not work.", rich_help_panel=_WHAT),
]
Python = Annotated[
    str | None,
    typer.Option(
        "--python", "-p", help="Interpreter for the environments of lists.", rich_help_panel=_WHAT
    ),
]
Timeout = Annotated[
    float,
    typer.Option(
        "--timeout",
        min=1.0,
        help="Seconds for COMMAND; one that does not end is bad.",
        rich_help_panel=_WHAT,
    ),
]
Index = Annotated[
    list[str] | None,
    typer.Option(
        "--install-option",
        metavar="OPTION",
        help="Option for the installer, such as --index-url=URL; may be repeated.",
        rich_help_panel=_WHAT,
    ),
]
Output = Annotated[
    BisectFormat,
    typer.Option("--format", "-f", help="Format on standard output.", rich_help_panel="Output"),
]

_FAILED = {
    "same": "Nothing to bisect",
    "not_green": "The good environment fails",
    "not_red": "All moves together do not fail, so no package is the cause",
    "unresolved": "All moves together cannot be tested",
}


def bisect(
    context: typer.Context,
    good: Good,
    bad: Bad,
    python: Python = None,
    timeout: Timeout = 600.0,
    install_option: Index = None,
    format_: Output = BisectFormat.TEXT,
    quiet: options.Quiet = False,
) -> int:
    """Find the smallest set of package moves that turns a good environment into a bad one.

    COMMAND judges: exit status 0 is good, 125 cannot be tested, any other is bad. Without a
    command, the checks of doctor judge. Both environments stay as they are.
    """
    from doctor.repair.bisect import BisectRequest
    from doctor.repair.bisect import bisect as search

    request = BisectRequest(
        good=good,
        bad=bad,
        command=tuple(context.args),
        python=python,
        timeout=timeout,
        options=tuple(install_option or ()),
    )
    with stages(quiet=quiet) as progress:
        found = search(request, progress)
    if format_ is BisectFormat.JSON:
        text = msgspec.json.format(msgspec.json.encode(found), indent=2).decode()
    else:
        text = "\n".join(_lines(found))
    console.write_out(without_secrets(text))
    return 0 if found.verdict == "found" else 1


def _lines(found: Bisection) -> Iterator[str]:
    if found.verdict != "found":
        yield f"{_FAILED[found.verdict]}: {found.why}"
    else:
        yield "These moves turn it bad:" if len(found.moves) > 1 else "This move turns it bad:"
        yield from (f"  {_move(one)}" for one in found.moves)
        if found.along:
            yield "Their requirements bring along:"
            yield from (f"  {_move(one)}" for one in found.along)
        if found.last_good and found.first_bad:
            name = found.moves[0].name
            yield f"The last good release is {name} {found.last_good}, the first bad one"
            yield f"{name} {found.first_bad}."
        if found.untested:
            yield f"Between them, these cannot be tested: {', '.join(found.untested[:20])}."
        bad = [one for one in found.trials if one.answer == "bad"]
        yield f"It fails with {bad[-1].why}." if bad else ""
    count = len(found.trials)
    skipped = sum(one.answer == "unresolved" for one in found.trials)
    told = f", {skipped} of them unresolved" if skipped else ""
    yield f"{found.differences} packages differ; {count} trials{told}, {found.seconds:.0f} s."


def _move(change: Change) -> str:
    return f"{change.name} {change.before or 'absent'} -> {change.after or 'absent'}"
