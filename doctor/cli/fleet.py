"""`doctor fleet`: check each node of a cluster, and compare what the nodes report."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

import typer

from doctor.base.errors import UsageError
from doctor.cli.help import Commands, Lesson

_PANEL = "Commands"
_OPTIONS_OF_CHECK = {"allow_extra_args": True, "ignore_unknown_options": False}


class _Fleet(Commands):
    """The commands about a fleet; without the name of one, it is `check`."""

    lessons: ClassVar[Mapping[str, Lesson]] = {
        "node": Lesson(
            "doctor.cli.fleet:node",
            _PANEL,
            {"hidden": True, "epilog": "", "context_settings": _OPTIONS_OF_CHECK},
        ),
    }

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Name the default command where the arguments name none."""
        if args and args[0] not in self.lessons and args[0] not in ctx.help_option_names:
            args = ["check", *args]
        return super().parse_args(ctx, args)


fleet = _Fleet(
    name="fleet",
    help="Check each node of a cluster, and say which node differs and in what.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def node(
    context: typer.Context,
    run: Annotated[str, typer.Option("--run", metavar="ID", help="The name of the run.")],
    timeout: Annotated[
        float, typer.Option("--timeout", metavar="SECONDS", help="The most a check may take.")
    ] = 600.0,
) -> int:
    """Check this node, and print the report as lines for the coordinator."""
    from doctor.fleet.node import node_name, report_packets

    if not set(run) <= set("0123456789abcdef") or len(run) != 16:
        raise UsageError(f"--run {run}: 16 hexadecimal digits are wanted")
    return report_packets(node_name(os.environ), run, context.args, timeout, _put_line)


def _put_line(line: str) -> None:
    """Write a line at once and in one piece, so that nothing of another task comes between."""
    sys.stdout.flush()
    data = f"{line}\n".encode()
    while data:
        data = data[os.write(sys.stdout.fileno(), data) :]
