"""`doctor check`, `doctor snapshot` and `doctor demo`."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from doctor.base.errors import UsageError
from doctor.cli import configuration, console, options, progress, reports
from doctor.cli.examination import examine
from doctor.cli.output import tell
from doctor.host import Host
from doctor.model.scales import Severity, Tier
from doctor.pipeline import check as pipeline
from doctor.pipeline.requests import CheckRequest, ObserveRequest
from doctor.redact.report import shareable, who
from doctor.report import Format


def check(
    context: typer.Context,
    target: options.Target = None,
    python: options.Python = None,
    project: options.Project = Path(),
    features: options.Features = None,
    from_: options.From = None,
    assume: options.Assume = None,
    log: options.Logs = None,
    only: options.Only = None,
    skip: options.Skip = None,
    tier: options.Tier = Tier.QUICK,
    no_canaries: options.NoCanaries = False,
    fresh: options.Fresh = False,
    changed: options.Changed = False,
    flash_attn: options.FlashAttn = None,
    network: options.Network = False,
    timeout: options.Timeout = None,
    budget: options.Budget = None,
    expect: options.Expect = None,
    format_: options.FormatOption = Format.TEXT,
    report: options.Reports = None,
    fail_on: options.FailOn = Severity.ERROR,
    baseline: options.Baseline = None,
    matrices: options.Matrices = None,
    quiet: options.Quiet = False,
    verbose: options.Verbose = False,
) -> int:
    """Examine an environment and a Cargo workspace, and print findings with their fixes.

    Nothing is changed: doctor installs nothing, and opens no network connection without --network.
    """
    format_, beside = reports.requested_reports(context, format_, report or ())
    request = CheckRequest(
        observe=ObserveRequest(
            python=_interpreter(context, target, python),
            project=project,
            features=tuple(features or ()),
            canaries=not no_canaries,
            tier=tier,
            fresh=fresh,
            changed=changed,
            flash_attn=flash_attn,
            network=network,
            timeout=timeout,
            budget=budget,
        ),
        snapshot=from_,
        assume=tuple(assume or ()),
        logs=tuple(log or ()),
        only=tuple(only or ()),
        skip=tuple(skip or ()),
        expect=tuple(expect or ()),
        policy=configuration.policy(context, fail_on, baseline),
        matrices=tuple(matrices or ()),
    )
    return examine(
        request,
        format_,
        beside=beside,
        quiet=quiet,
        verbose=verbose,
        name_option=partial(configuration.origin, context),
    )


def _interpreter(context: typer.Context, target: str | None, python: str | None) -> str | None:
    """Return the interpreter to examine; raises UsageError where two are named."""
    source = getattr(context.get_parameter_source("python"), "name", "")
    if target is not None and source == "COMMANDLINE":
        raise UsageError(f"{target} and --python {python}: name one interpreter")
    return python if target is None else target


def snapshot(
    output: Annotated[
        Path,
        typer.Option(
            "--output", "-o", metavar="FILE", help="The file to write; - is standard output."
        ),
    ],
    python: options.Python = None,
    project: options.Project = Path(),
    features: options.Features = None,
    no_canaries: options.NoCanaries = False,
    timeout: options.Timeout = None,
    budget: options.Budget = None,
) -> int:
    """Save what doctor sees, to judge it elsewhere with `doctor check --from FILE`.

    Secrets, and names of people and machines, are masked.
    """
    request = ObserveRequest(
        python=python,
        project=project,
        features=tuple(features or ()),
        canaries=not no_canaries,
        fresh=True,
        timeout=timeout,
        budget=budget,
    )
    with progress.display(None) as view:
        seen = pipeline.observe(request, view.watcher)
    shared = msgspec.json.encode(shareable(seen, who(Host().env)))
    text = msgspec.json.format(shared, indent=2).decode() + "\n"
    # What was seen of a machine is for whoever looked, until they hand it on; a report is made to
    # be read, by the umask's leave.
    if console.write(output, text, private=True):
        console.say(f"wrote {output}")
    return 130 if seen.interrupted else 0


def demo(
    format_: options.FormatOption = Format.TEXT,
    quiet: options.Quiet = False,
    verbose: options.Verbose = False,
) -> int:
    """Show an example: the report of a recorded, broken machine. The exit code is 0."""
    tell(pipeline.demo(), format_, quiet=quiet, verbose=verbose)
    return 0
