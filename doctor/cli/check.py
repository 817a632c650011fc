"""`doctor check`, `doctor snapshot` and `doctor demo`."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from doctor.catalog import loading as catalogs
from doctor.catalog.check_headers import load_checks
from doctor.cli import configuration, options, reports
from doctor.cli import console as screen
from doctor.cli.output import read_logs, tell
from doctor.cli.suppressions import gates
from doctor.host import Host
from doctor.model.checks import Check, Tier
from doctor.model.observation import Observation
from doctor.model.scales import Severity
from doctor.observe import observation as observe
from doctor.observe import selection as asking
from doctor.pipeline import examine
from doctor.redact.report import shareable, who


def check(
    context: typer.Context,
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
    flash_attn: options.FlashAttn = None,
    network: options.Network = False,
    timeout: options.Timeout = None,
    budget: options.Budget = None,
    expect: options.Expect = None,
    format_: options.FormatOption = options.Format.TEXT,
    report: options.Reports = None,
    fail_on: options.FailOn = Severity.ERROR,
    baseline: options.Baseline = None,
    matrices: options.Matrices = None,
    quiet: options.Quiet = False,
    verbose: options.Verbose = False,
    _debug: options.Debug = False,
) -> int:
    """Examine an interpreter and a Cargo workspace, run the canaries there, and say what heals them.

    Reads only: nothing is installed into the patient, no framework is imported into doctor, no
    connection is opened (but for --network).
    """
    begun = time.monotonic()
    format_, beside = reports.settled(context, format_, report or ())
    logs = read_logs(log or (), known := catalogs.load(matrices or ()))
    checks = load_checks() if only or not no_canaries else {}
    issues, runs = asking.chosen(only or (), known, checks, configuration.origin(context, "only"))
    declared = examine.assumed(assume or ())
    if from_ is not None:
        seen = examine.replayed(from_, logs, declared)
    else:
        bounds = observe.Bounds(
            tier=tier,
            timeout=timeout,
            budget=budget,
            canaries=not no_canaries,
            fresh=fresh,
        )
        request = _request(
            python, project, features, observe.chosen(checks, runs, skip or ()), bounds
        )
        request = msgspec.structs.replace(
            request, settings=asking.sources(flash_attn, network=network), logs=logs
        )
        seen = _look(
            msgspec.structs.replace(request, assumed=declared), partial(screen.reporter, format_)
        )
    wanted = examine.Wanted(
        fail_on=fail_on,
        expect=tuple(expect or ()),
        only=issues,
        skip=tuple(skip or ()),
    )
    wanted = msgspec.structs.replace(
        wanted, only_checks=bool(only) and runs != asking.NONE, gates=gates(context, baseline)
    )
    left = observe.left_to_judge(budget, begun)
    return tell(
        examine.examine(seen, known, wanted, seconds=left),
        format_,
        quiet=quiet,
        verbose=verbose,
        beside=beside,
    )


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
    _debug: options.Debug = False,
) -> int:
    """Save what was seen, to be judged elsewhere with `doctor check --from FILE`.

    Names and secrets are masked.
    """
    bounds = observe.Bounds(canaries=not no_canaries, timeout=timeout, budget=budget, fresh=True)
    seen = _look(_request(python, project, features, tuple(load_checks().values()), bounds))
    text = (
        msgspec.json.format(
            msgspec.json.encode(shareable(seen, who(Host().env))), indent=2
        ).decode()
        + "\n"
    )
    # What was seen of a machine is for whoever looked, until they hand it on; a report is made to
    # be read, by the umask's leave.
    if screen.write(output, text, private=True):
        screen.say(f"wrote {output}")
    return 130 if seen.interrupted else 0


def demo(
    format_: options.FormatOption = options.Format.TEXT,
    quiet: options.Quiet = False,
    verbose: options.Verbose = False,
    _debug: options.Debug = False,
) -> int:
    """Show a report: a recording of a sick machine, judged here and now. The exit code is 0."""
    recorded = examine.read_observation(Path(__file__).parent.parent / "recordings" / "demo.json")
    seen = msgspec.structs.replace(recorded, recording=True)
    report = examine.examine(seen, catalogs.load(), examine.Wanted())
    tell(report, format_, quiet=quiet, verbose=verbose)
    return 0


def _request(
    python: str | None,
    project: Path,
    features: Sequence[str] | None,
    checks: Sequence[Check],
    bounds: observe.Bounds,
) -> observe.Request:
    named = asking.features(features or ())
    return observe.Request(
        host=Host(), project=project, python=python, features=named, checks=checks, bounds=bounds
    )


def _look(request: observe.Request, meanwhile: Callable[[], object] = bool) -> Observation:
    with screen.spinner() as progress:
        return observe.observe(request, progress, meanwhile)
