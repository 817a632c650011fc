"""The options that commands share, and what they say of themselves in `--help`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from doctor.cli import suggestions as offered
from doctor.model import checks
from doctor.model.scales import Severity
from doctor.report import Format

# Typer reads these annotations when the program runs, on Python 3.10 too: Optional instead of `X |
# None` keeps its help plain.

_TARGET = "What to examine"
_CHECKS = "Which checks"
_OUTPUT = "Output"


def _setting(*names: str, **how: Any) -> Any:
    """Make an option that a variable can set as well: DOCTOR_FAIL_ON for --fail-on (doctor.cli.configuration)."""
    name = names[0].partition("/")[0].removeprefix("--")
    return typer.Option(
        *names, envvar=f"DOCTOR_{name.replace('-', '_').upper()}", show_envvar=False, **how
    )


def _project(context: typer.Context, folder: Path) -> Path:
    from doctor.cli import configuration

    return configuration.project(context, folder)


def _expected(context: typer.Context, words: list[str] | None) -> list[str]:
    from doctor.cli import configuration

    return configuration.expected(context, words)


def _seconds(value: float | None) -> float | None:
    from doctor.observe import selection as asking

    # `nan` is smaller and larger than nothing, so that a range alone lets it through, and no bound
    # would be left.
    if value is not None and not value <= asking.MOST_SECONDS:
        raise typer.BadParameter(f"{value:g} is no number of seconds up to {asking.MOST_SECONDS:g}")
    return value


Python = Annotated[
    str | None,
    _setting(
        "--python",
        "-p",
        metavar="PATH",
        help="The interpreter to examine: a path to it or to its environment, a name on PATH, or a version. Default: the active "
        "environment, else ./.venv.",
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
        help="The project: where ./.venv, a Cargo workspace and the settings in pyproject.toml are looked for.",
        rich_help_panel=_TARGET,
    ),
]
Features = Annotated[
    list[str] | None,
    _setting(
        "--features",
        metavar="LIST",
        help="Cargo features to judge the workspace with, written as for cargo.",
        rich_help_panel=_TARGET,
    ),
]
From = Annotated[
    Path | None,
    typer.Option(
        "--from",
        metavar="FILE",
        help="Judge a snapshot (or a JSON report) instead of this machine.",
        rich_help_panel=_TARGET,
    ),
]
Assume = Annotated[
    list[str] | None,
    _setting(
        "--assume",
        metavar="FACT",
        help="Judge as if there: gpu=sm_90,driver=535.104 (for a build host without GPU).",
        rich_help_panel=_TARGET,
    ),
]
Logs = Annotated[
    list[Path] | None,
    typer.Option(
        "--log",
        metavar="FILE",
        help="The log of something that failed, judged beside the machine; - is standard input.",
        rich_help_panel=_TARGET,
    ),
]
Only = Annotated[
    list[str] | None,
    _setting(
        "--only",
        metavar="GLOB",
        help="Run only these checks, judge only these known issues (see doctor list).",
        autocompletion=offered.ids,
        rich_help_panel=_CHECKS,
    ),
]
Skip = Annotated[
    list[str] | None,
    _setting(
        "--skip",
        metavar="GLOB",
        help="Leave out these checks and known issues.",
        autocompletion=offered.ids,
        rich_help_panel=_CHECKS,
    ),
]
Tier = Annotated[
    checks.Tier,
    _setting(
        "--tier", help="quick: seconds to a minute. deep: builds, minutes.", rich_help_panel=_CHECKS
    ),
]
NoCanaries = Annotated[
    bool,
    _setting(
        "--no-canaries/--canaries",
        show_default=False,
        help="Only look at files and tools; import nothing, run no check.",
        rich_help_panel=_CHECKS,
    ),
]
Fresh = Annotated[
    bool,
    _setting(
        "--fresh",
        help="Run every check, also those that passed in this very environment within the last 24 hours.",
        rich_help_panel=_CHECKS,
    ),
]
FlashAttn = Annotated[
    Path | None,
    _setting(
        "--flash-attn",
        metavar="PATH",
        help="The source of flash-attn for --tier deep: a checkout, an unpacked sdist or its .tar.gz.",
        rich_help_panel=_CHECKS,
    ),
]
Network = Annotated[
    bool,
    _setting(
        "--network",
        help="Let checks fetch such a source with the target's installer.",
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
        help="Bound on each check.",
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
        help="Bound on the whole run.",
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
        help="Fail unless a check reached this device: cuda, cuda:2, mps, candle-cuda, candle-metal.",
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
        help="Write the report to a file as well, in another format; may be given several times. github alone annotates the run "
        "of GitHub Actions that it is part of; json=- is --format json.",
        autocompletion=offered.reports,
        rich_help_panel=_OUTPUT,
    ),
]
FailOn = Annotated[
    Severity,
    _setting("--fail-on", help="Exit with 1 from this severity on.", rich_help_panel=_OUTPUT),
]
Baseline = Annotated[
    Path | None,
    _setting(
        "--baseline",
        metavar="FILE",
        help="An earlier JSON report: what it holds does not count, only what is new.",
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
    _setting("--quiet", "-q", help="Findings and the last line only.", rich_help_panel=_OUTPUT),
]
Verbose = Annotated[
    bool,
    _setting(
        "--verbose",
        "-v",
        help="All evidence, logs, what was ruled out and by what.",
        rich_help_panel=_OUTPUT,
    ),
]
