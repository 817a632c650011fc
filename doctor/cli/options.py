"""Options that several commands share, with their help."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from doctor.cli import suggestions as offered
from doctor.model import scales
from doctor.model.scales import Severity
from doctor.report import Format

_TARGET = "What to examine"
_CHECKS = "Which checks"
_OUTPUT = "Output"


def _setting(*names: str, **how: Any) -> Any:
    """Make an option that a variable such as DOCTOR_FAIL_ON can also set."""
    name = names[0].partition("/")[0].removeprefix("--")
    return typer.Option(
        *names, envvar=f"DOCTOR_{name.replace('-', '_').upper()}", show_envvar=False, **how
    )


_FOLDER = "doctor.target"


def _target(context: typer.Context, named: str | None) -> str | None:
    """Return an interpreter or an environment; a folder that is neither becomes the project."""
    if named is None or context.resilient_parsing:
        return named
    from doctor.observe.targets import is_environment

    folder = Path(named).expanduser()
    if not folder.is_dir() or is_environment(folder):
        return named
    context.meta[_FOLDER] = folder
    return None


def _project(context: typer.Context, folder: Path) -> Path:
    from doctor.base.errors import UsageError
    from doctor.cli import configuration

    if (named := context.meta.get(_FOLDER)) is not None:
        source = getattr(context.get_parameter_source("project"), "name", "")
        if source == "COMMANDLINE":
            raise UsageError(f"{named} and --project {folder}: name one project")
        folder = named
    return configuration.project(context, folder)


def _expected(context: typer.Context, words: list[str] | None) -> list[str]:
    from doctor.cli import configuration

    return configuration.expected(context, words)


def _seconds(value: float | None) -> float | None:
    from doctor.observe import selection as asking

    # Every comparison with NaN is false, so click's range check accepts it.
    if value is not None and not value <= asking.MOST_SECONDS:
        raise typer.BadParameter(
            f"{value:g} is not a number of seconds up to {asking.MOST_SECONDS:g}"
        )
    return value


Target = Annotated[
    str | None,
    typer.Argument(
        metavar="[TARGET]",
        is_eager=True,
        callback=_target,
        show_default=False,
        help="An interpreter, an environment or a project folder; see --python and --project.",
    ),
]
Python = Annotated[
    str | None,
    _setting(
        "--python",
        "-p",
        metavar="PATH",
        help="The interpreter to examine: its path, its environment, a command or a version. "
        "Default: the active environment, else .venv here or above, else python3.",
        rich_help_panel=_TARGET,
    ),
]
Project = Annotated[
    Path,
    _setting(
        "--project",
        metavar="DIR",
        is_eager=True,
        callback=_project,
        help="The project folder, which holds .venv, the Cargo workspace and pyproject.toml.",
        rich_help_panel=_TARGET,
    ),
]
Features = Annotated[
    list[str] | None,
    _setting(
        "--features",
        metavar="LIST",
        help="Cargo features of the workspace, in the syntax of cargo.",
        rich_help_panel=_TARGET,
    ),
]
From = Annotated[
    Path | None,
    typer.Option(
        "--from",
        metavar="FILE",
        help="Judge a snapshot or a JSON report instead of this machine.",
        rich_help_panel=_TARGET,
    ),
]
Assume = Annotated[
    list[str] | None,
    _setting(
        "--assume",
        metavar="FACT",
        help="Assume a GPU and driver, for a build host without one: gpu=sm_90,driver=535.104.",
        rich_help_panel=_TARGET,
    ),
]
Logs = Annotated[
    list[Path] | None,
    typer.Option(
        "--log",
        metavar="FILE",
        help="The log of a failure on this machine; - is standard input.",
        rich_help_panel=_TARGET,
    ),
]
Only = Annotated[
    list[str] | None,
    _setting(
        "--only",
        metavar="GLOB",
        help="Only these checks and known issues (see doctor list).",
        autocompletion=offered.ids,
        rich_help_panel=_CHECKS,
    ),
]
Skip = Annotated[
    list[str] | None,
    _setting(
        "--skip",
        metavar="GLOB",
        help="Skip these checks and known issues.",
        autocompletion=offered.ids,
        rich_help_panel=_CHECKS,
    ),
]
Tier = Annotated[
    scales.Tier,
    _setting(
        "--tier",
        help="quick: up to a minute. deep: also builds that take minutes.",
        rich_help_panel=_CHECKS,
    ),
]
NoCanaries = Annotated[
    bool,
    _setting(
        "--no-canaries/--canaries",
        show_default=False,
        help="Only read files and ask tools; run no check and import nothing.",
        rich_help_panel=_CHECKS,
    ),
]
Fresh = Annotated[
    bool,
    _setting(
        "--fresh",
        help="Run every check again, also those that passed here in the last 24 hours.",
        rich_help_panel=_CHECKS,
    ),
]
Changed = Annotated[
    bool,
    _setting(
        "--changed",
        help="Run a check only if its environment has changed in the last 24 hours; failures and "
        "results of a GPU are reused too.",
        rich_help_panel=_CHECKS,
    ),
]
FlashAttn = Annotated[
    Path | None,
    _setting(
        "--flash-attn",
        metavar="PATH",
        help="The source of flash-attn for --tier deep: a checkout, an sdist folder or a .tar.gz.",
        rich_help_panel=_CHECKS,
    ),
]
Network = Annotated[
    bool,
    _setting(
        "--network",
        help="Allow checks to download that source with the target's installer.",
        rich_help_panel=_CHECKS,
    ),
]
Timeout = Annotated[
    float | None,
    _setting(
        "--timeout",
        metavar="SECONDS",
        min=0.1,
        callback=_seconds,
        help="Time limit of each check.",
        rich_help_panel=_CHECKS,
    ),
]
Budget = Annotated[
    float | None,
    _setting(
        "--budget",
        metavar="SECONDS",
        min=0.1,
        callback=_seconds,
        help="Time limit of the whole run.",
        rich_help_panel=_CHECKS,
    ),
]
Expect = Annotated[
    list[str] | None,
    _setting(
        "--expect",
        metavar="DEVICE",
        callback=_expected,
        autocompletion=offered.devices,
        help="Fail unless a check reached this device: cuda, cuda:2 (two), mps, candle-cuda.",
        rich_help_panel=_CHECKS,
    ),
]
FormatOption = Annotated[
    Format, _setting("--format", "-f", help="Format on standard output.", rich_help_panel=_OUTPUT)
]
Reports = Annotated[
    list[str] | None,
    _setting(
        "--report",
        metavar="FORMAT=PATH",
        help="Also write the report to a file; may be repeated. github, without a path, annotates "
        "the current run of GitHub Actions; json=- is --format json.",
        autocompletion=offered.reports,
        rich_help_panel=_OUTPUT,
    ),
]
FailOn = Annotated[
    Severity,
    _setting(
        "--fail-on",
        help="Exit with 1 if a finding has this severity or a higher one.",
        rich_help_panel=_OUTPUT,
    ),
]
Baseline = Annotated[
    Path | None,
    _setting(
        "--baseline",
        metavar="FILE",
        help="An earlier JSON report: its findings do not count.",
        rich_help_panel=_OUTPUT,
    ),
]
Matrices = Annotated[
    list[Path] | None,
    _setting(
        "--matrices",
        metavar="DIR",
        help="A folder with more known issues and tables.",
        rich_help_panel=_OUTPUT,
    ),
]
Quiet = Annotated[
    bool,
    _setting("--quiet", "-q", help="Only findings and the summary.", rich_help_panel=_OUTPUT),
]
Verbose = Annotated[
    bool,
    _setting(
        "--verbose",
        "-v",
        help="Also all evidence, logs, facts, and issues that were ruled out.",
        rich_help_panel=_OUTPUT,
    ),
]
