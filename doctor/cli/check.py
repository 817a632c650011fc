"""`doctor check`, `doctor snapshot` and `doctor demo`."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from doctor import catalog as catalogs
from doctor import examine, observe
from doctor.cli import options, screen
from doctor.errors import UsageError
from doctor.host import Host
from doctor.model.catalog import Catalog
from doctor.model.checks import Check, Tier
from doctor.model.observation import Log, Observation
from doctor.model.report import Report
from doctor.model.scales import Severity
from doctor.scripts import load_checks
from doctor.share import shareable, who, without_any_secrets


def check(
    python: options.Python = None,
    project: options.Project = Path(),
    from_: options.From = None,
    assume: options.Assume = None,
    log: options.Logs = None,
    only: options.Only = None,
    skip: options.Skip = None,
    tier: options.Tier = options.TierChoice.QUICK,
    no_canaries: options.NoCanaries = False,
    timeout: options.Timeout = None,
    budget: options.Budget = None,
    expect: options.Expect = None,
    format_: options.FormatOption = options.Format.TEXT,
    fail_on: options.FailOn = options.SeverityChoice.ERROR,
    matrices: options.Matrices = None,
    quiet: options.Quiet = False,
    verbose: options.Verbose = False,
    _debug: options.Debug = False,
) -> int:
    """Examine an interpreter and a Cargo workspace, run the canaries there, and say what heals them.

    Reads only: nothing is installed into the patient, no framework is imported into doctor, no socket is opened.
    """
    known, checks = catalogs.load(matrices or ()), load_checks()
    wanted = examine.Wanted(
        fail_on=Severity(fail_on.value),
        expect=tuple(expect or ()),
        only=_issue_globs(only or (), known, checks),
        skip=tuple(skip or ()),
        only_checks=bool(only) and any(_names(checks, [glob]) for glob in only or ()),
    )
    if from_ is not None:
        seen = examine.read_observation(from_)
        seen = msgspec.structs.replace(seen, logs=(*seen.logs, *_logs(log or ())))
    else:
        request = observe.Request(
            host=Host(),
            project=_folder(project),
            python=python,
            checks=observe.chosen(checks, _check_globs(only or (), checks), skip or ()),
            canaries=not no_canaries,
            tier=Tier(tier.value),
            timeout=timeout,
            budget=budget,
            assumed=examine.assumed(assume or ()),
            logs=_logs(log or ()),
        )
        seen = _look(request)
    return _report(examine.examine(seen, known, wanted), format_, quiet=quiet, verbose=verbose)


def snapshot(
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="The file to write; - is standard output.")],
    python: options.Python = None,
    project: options.Project = Path(),
    no_canaries: options.NoCanaries = False,
    timeout: options.Timeout = None,
    budget: options.Budget = None,
    _debug: options.Debug = False,
) -> int:
    """Save what was seen, to be judged elsewhere with `doctor check --from FILE`; names and secrets are masked."""
    request = observe.Request(
        host=Host(),
        project=_folder(project),
        python=python,
        checks=tuple(load_checks().values()),
        canaries=not no_canaries,
        timeout=timeout,
        budget=budget,
    )
    seen = _look(request)
    text = msgspec.json.format(msgspec.json.encode(shareable(seen, who(request.host.env))), indent=2).decode() + "\n"
    if str(output) == "-":
        screen.put(text)
    else:
        screen.write(output, text)
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
    _report(report, format_, quiet=quiet, verbose=verbose)
    return 0


def _look(request: observe.Request) -> Observation:
    with screen.spinner() as progress:
        return observe.observe(request, progress)


def _report(report: Report, kind: options.Format, *, quiet: bool, verbose: bool) -> int:
    names = who(Host().env)
    fit = shareable(report, names) if kind is not options.Format.TEXT else without_any_secrets(report)
    screen.put(screen.render(fit, kind, verbosity=-1 if quiet else 1 if verbose else 0))
    return report.exit_code


def _logs(paths: Sequence[Path]) -> tuple[Log, ...]:
    return tuple(examine.read_log(path, sys.stdin.buffer.read() if str(path) == "-" else None) for path in paths)


def _folder(project: Path) -> Path:
    if not project.is_dir():
        raise UsageError(f"--project {project}: no such folder")
    return project.resolve()


def _check_globs(only: Sequence[str], checks: Mapping[str, Check]) -> tuple[str, ...]:
    named = tuple(glob for glob in only if _names(checks, [glob]))
    return named or (("",) if only else ())


def _issue_globs(only: Sequence[str], known: Catalog, checks: Mapping[str, Check]) -> tuple[str, ...]:
    """Return the globs of `--only` that name known issues; a glob that names nothing at all is a mistake."""
    for glob in only:
        if not _names(checks, [glob]) and not _names(known.issues, [glob]):
            raise UsageError(f"--only {glob}: no check and no known issue has such an id{_near(glob, [*checks, *known.issues])}")
    return tuple(glob for glob in only if _names(known.issues, [glob]))


def _names(ids: Mapping[str, object], globs: Sequence[str]) -> list[str]:
    from fnmatch import fnmatchcase

    return [name for name in ids if any(fnmatchcase(name, glob) for glob in globs)]


def _near(word: str, known: Sequence[str]) -> str:
    from difflib import get_close_matches

    close = get_close_matches(word, known, n=1)
    return f"; did you mean {close[0]}?" if close else "; doctor list shows them"
