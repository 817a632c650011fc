"""`doctor fleet`: check each node of a cluster, and compare what the nodes report."""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime, timezone
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import msgspec
import typer

from doctor.base.errors import UsageError
from doctor.cli import console, options
from doctor.cli.help import Commands, LazyCommand
from doctor.host import Host
from doctor.model.fleet import FleetReport
from doctor.model.scales import Severity
from doctor.redact.report import without_any_secrets
from doctor.report.fleet import FleetFormat, renderer

if TYPE_CHECKING:
    from doctor.fleet.engine import Engine, Job

_PANEL = "Commands"
_WIDTH = 80
_OPTIONS_OF_CHECK = {"allow_extra_args": True, "ignore_unknown_options": False}


class _Fleet(Commands):
    """The commands about a fleet; without the name of one, it is `check`."""

    lazy_commands: ClassVar[Mapping[str, LazyCommand]] = {
        "check": LazyCommand(
            "doctor.cli.fleet:check",
            _PANEL,
            {
                "epilog": "",
                "options_metavar": "[OPTIONS] [-- OPTIONS OF CHECK]...",
                "context_settings": _OPTIONS_OF_CHECK,
            },
        ),
        "merge": LazyCommand("doctor.cli.fleet:merge", _PANEL, {"epilog": ""}),
        "node": LazyCommand(
            "doctor.cli.fleet:node",
            _PANEL,
            {"hidden": True, "epilog": "", "context_settings": _OPTIONS_OF_CHECK},
        ),
    }

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Name the default command where the arguments name none."""
        if args and args[0] not in self.lazy_commands and args[0] not in ctx.help_option_names:
            args = ["check", *args]
        return super().parse_args(ctx, args)


fleet = _Fleet(
    name="fleet",
    help="Check each node of a cluster, and say which node differs and in what.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)


FormatOption = Annotated[
    FleetFormat,
    typer.Option("--format", "-f", help="Format on standard output.", rich_help_panel="Output"),
]


class EngineName(Enum):
    """Schedulers on which doctor runs."""

    SLURM = "slurm"
    RAY = "ray"
    K8S = "k8s"
    MPI = "mpi"


def check(
    context: typer.Context,
    on: Annotated[EngineName, typer.Option("--on", help="The scheduler of the cluster.")],
    nodes: Annotated[
        str,
        typer.Option(
            "--nodes", metavar="N|LIST", help="How many nodes, or which: 'gpu[01-16]'. Default: all"
        ),
    ] = "",
    timeout: Annotated[
        float, typer.Option("--timeout", min=1, metavar="SECONDS", help="The most a node may take.")
    ] = 600.0,
    wait: Annotated[
        float,
        typer.Option("--wait", min=1, metavar="SECONDS", help="The most the scheduler may take."),
    ] = 120.0,
    resume: Annotated[
        Path | None,
        typer.Option(
            "--resume",
            metavar="DIR",
            help="Keep each report in this folder as it arrives; nodes whose reports lie there are "
            "not checked again.",
        ),
    ] = None,
    node_python: Annotated[
        str,
        typer.Option(
            "--node-python",
            metavar="PATH",
            help="The Python on the nodes that runs doctor, of the same release as this one; "
            "--python behind -- is the one to examine.",
        ),
    ] = "",
    installed: Annotated[
        bool,
        typer.Option("--installed", help="Use the doctor that is installed beside --node-python."),
    ] = False,
    all_reduce: Annotated[
        bool,
        typer.Option(
            "--all-reduce",
            help="Also add numbers across all nodes with torch.distributed; search for the node "
            "or the link that breaks it.",
        ),
    ] = False,
    rendezvous: Annotated[
        str,
        typer.Option(
            "--rendezvous",
            metavar="HOST[:PORT]",
            help="With --all-reduce: where rank 0 listens, if its node's name does not lead there.",
        ),
    ] = "",
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run", help="With --on k8s: print the manifest and the rights; create nothing."
        ),
    ] = False,
    setting: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="NAME=VALUE", help="A setting of the scheduler: partition=gpu."
        ),
    ] = None,
    format_: FormatOption = FleetFormat.TEXT,
    fail_on: options.FailOn = Severity.ERROR,
    quiet: options.Quiet = False,
    verbose: options.Verbose = False,
) -> int:
    """Check each node, and compare what they report. What follows -- goes to `doctor check`.

    Nothing is installed on the nodes: doctor travels as one file, which is removed at the end.
    """
    from doctor.fleet import archive, run
    from doctor.fleet.merge import Merger
    from doctor.fleet.settings import open_engine

    begun = time.monotonic()
    engine = open_engine(on.value, Host(), nodes, setting or ())
    merger, interrupted = Merger(), False
    with tempfile.TemporaryDirectory(prefix="doctor-fleet-") as folder, _progress() as progress:
        plan = run.Plan(
            options=tuple(context.args),
            # A pod has the Python of its image; other nodes mostly have the folders of this one.
            python=node_python or ("python3" if on is EngineName.K8S else sys.executable),
            archive=None if installed else archive.build(Path(folder) / "doctor.pyz"),
            timeout=timeout,
            start_timeout=wait,
            spool=resume,
        )
        if dry_run:
            return _preview(engine, run.job_of(plan))
        try:
            for answer in run.collect(engine, plan, progress):
                merger.add(answer)
            if all_reduce:
                from doctor.fleet import network

                merger.network = network.search(
                    run.exchange(engine, plan, rendezvous), merger.answered
                )
        except KeyboardInterrupt:
            interrupted = True
    merged = merger.report(
        command="fleet",
        fail_on=fail_on,
        engine=engine.name,
        exclusion=engine.exclusion,
        interrupted=interrupted,
        taken=now(),
        seconds=time.monotonic() - begun,
    )
    return tell(merged, format_, quiet=quiet, verbose=verbose)


def _preview(engine: Engine, job: Job) -> int:
    """Print what a run would create."""
    from doctor.fleet.engine import Previewing

    if not isinstance(engine, Previewing):
        raise UsageError(f"--dry-run prints a manifest, and --on {engine.name} has none")
    console.write_out(engine.dry_run(job))
    return 0


@contextlib.contextmanager
def _progress() -> Iterator[Callable[[int, int, int], None]]:
    """Show how many nodes answered: a line that changes on a terminal, else one every tenth."""
    interactive = console.style(sys.stderr).interactive and not os.environ.get("CI")
    last = -1

    def show(done: int, total: int, failed: int) -> None:
        nonlocal last
        tenth = 10 * done // total
        text = f"{done} of {total} nodes done" + (f", {failed} without a report" if failed else "")
        if interactive:
            sys.stderr.write(f"\r\x1b[K{text}")
            sys.stderr.flush()
        elif tenth != last:
            console.say(text)
        last = tenth

    try:
        yield show
    finally:
        if interactive and last >= 0:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()


def merge(
    reports: Annotated[
        list[Path],
        typer.Argument(
            metavar="REPORT...",
            help="JSON reports of `doctor check`, one for each node and named after it; folders of "
            "them; the output of jobs that ran `doctor fleet node`.",
        ),
    ],
    format_: FormatOption = FleetFormat.TEXT,
    fail_on: options.FailOn = Severity.ERROR,
    quiet: options.Quiet = False,
    verbose: options.Verbose = False,
) -> int:
    """Compare reports of nodes: who differs, in what, and whether it matters."""
    from doctor.fleet.merge import Merger
    from doctor.fleet.reading import answers

    begun = time.monotonic()
    problems: list[str] = []
    merger = Merger()
    for answer in answers(reports, problems):
        merger.add(answer)
    if not merger.names:
        raise UsageError("; ".join(problems[:3]) or "there is no report in what was named")
    merged = merger.report(
        command="fleet merge",
        fail_on=fail_on,
        problems=problems,
        taken=now(),
        seconds=time.monotonic() - begun,
    )
    return tell(merged, format_, quiet=quiet, verbose=verbose)


def tell(report: FleetReport, kind: FleetFormat, *, quiet: bool, verbose: bool) -> int:
    """Put a report of a fleet on standard output, and return its exit code.

    Secrets are blanked; names of nodes stay, for they are what the report is about.
    """
    clean = without_any_secrets(report)
    render = renderer(kind).render
    if kind is FleetFormat.TEXT:
        look = console.style()
        text = render(
            clean,
            width=look.width if look.interactive else _WIDTH,
            colour=look.colour,
            unicode=look.unicode,
            verbosity=-1 if quiet else 1 if verbose else 0,
        )
    else:
        text = render(clean)
    console.write_out(text)
    return report.exit_code


def now() -> str:
    """Return the time in UTC, as reports name it."""
    return datetime.now(timezone.utc).isoformat(timespec="seconds")


def node(
    context: typer.Context,
    run: Annotated[str, typer.Option("--run", metavar="ID", help="The name of the run.")],
    timeout: Annotated[
        float, typer.Option("--timeout", metavar="SECONDS", help="The most a check may take.")
    ] = 600.0,
    group: Annotated[
        str,
        typer.Option("--group", metavar="JSON", help="Do not check; all-reduce with these nodes."),
    ] = "",
) -> int:
    """Check this node, and print the report as lines for the coordinator."""
    from doctor.fleet.node import AllReduce, exchange_packets, node_name, report_packets

    if not set(run) <= set("0123456789abcdef") or len(run) != 16:
        raise UsageError(f"--run {run}: 16 hexadecimal digits are wanted")
    if group:
        try:
            asked = msgspec.json.decode(group, type=AllReduce)
        except msgspec.MsgspecError as error:
            raise UsageError(f"--group: {error}") from None
        return exchange_packets(node_name(os.environ), run, asked, timeout, _put_line)
    return report_packets(node_name(os.environ), run, context.args, timeout, _put_line)


def _put_line(line: str) -> None:
    """Write a line at once and in one piece, so that nothing of another task comes between."""
    sys.stdout.flush()
    data = f"{line}\n".encode()
    while data:
        data = data[os.write(sys.stdout.fileno(), data) :]
