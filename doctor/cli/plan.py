"""`doctor plan`: what to install on this machine, before anything is installed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer

from doctor.base.errors import UsageError
from doctor.cli import console, options, progress
from doctor.host import Host
from doctor.model.requested import Requested
from doctor.observe.manifests import kind_of
from doctor.redact.report import shareable, who, without_any_secrets

if TYPE_CHECKING:
    from doctor.repair.request_plans import PlanRequest

_FORMATS = ("text", "json")


def plan(
    requirements: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[REQUIREMENT]...", help="What to install: torch, 'vllm>=0.20', flash-attn."
        ),
    ] = None,
    requirement: Annotated[
        list[Path] | None,
        typer.Option(
            "--requirement",
            "-r",
            metavar="FILE",
            help="requirements.txt, pyproject.toml or a Dockerfile.",
        ),
    ] = None,
    lock: Annotated[
        Path | None,
        typer.Option("--lock", metavar="FILE", help="Every release of uv.lock or poetry.lock."),
    ] = None,
    python: options.Python = None,
    python_version: Annotated[
        str | None,
        typer.Option(
            "--python-version",
            metavar="VERSION",
            help="A new environment of this Python, as 3.12, instead of the one that is there.",
        ),
    ] = None,
    project: options.Project = Path(),
    assume: Annotated[
        list[str] | None,
        typer.Option(
            "--assume",
            metavar="FACT",
            help="Another machine: gpu=H100, driver=550, os=windows, python=3.12, glibc=2.28; "
            "commas separate several.",
        ),
    ] = None,
    constraints: Annotated[
        Path | None,
        typer.Option(
            "--constraints", metavar="FILE", help="Also write all releases, for pip -c and uv -c."
        ),
    ] = None,
    offline: Annotated[
        bool,
        typer.Option("--offline", help="Judge by the tables alone; ask no installer."),
    ] = False,
    format_: Annotated[
        str,
        typer.Option("--format", "-f", metavar="[text|json]", help="Format on standard output."),
    ] = "text",
    verbose: options.Verbose = False,
) -> int:
    """Say what to install on this machine: releases, builds and commands.

    The installer's own resolver confirms them by a dry run; nothing is installed. The exit code is
    1 if the requirements exclude each other, or what this machine is.
    """
    from doctor.repair.request_plans import PlanRequest, plan_each

    if format_ not in _FORMATS:
        raise UsageError(f"--format {format_}: choose from {', '.join(_FORMATS)}")
    named = [one for one in requirements or () if _is_manifest(one)]
    files = [*(requirement or ()), *([lock] if lock else ()), *map(Path, named)]
    asked = [one for one in requirements or () if one not in named]
    if not asked and not files:
        raise UsageError("say what to install, such as: doctor plan torch; or give -r FILE")
    request = PlanRequest(
        requirements=tuple(asked),
        files=tuple(files),
        python=python,
        python_version=python_version or "",
        project=project,
        assume=tuple(assume or ()),
        offline=offline,
    )
    if offline and len(files) > 1 and not asked:
        # Two lists are two environments: pre-commit hands in every file that changed.
        requests = [msgspec.structs.replace(request, files=(one,)) for one in files]
        answers = zip(requests, plan_each(requests), strict=True)
        return max(_told(*each, constraints, format_, verbose=verbose) for each in answers)
    with progress.display(None) as view:
        (found,) = plan_each([request], view.watcher)
    return _told(request, found, constraints, format_, verbose=verbose)


def _is_manifest(text: str) -> bool:
    path = Path(text)
    return kind_of(path.parent.name, path.name) is not None and path.is_file()


def _told(
    request: PlanRequest, found: Requested, constraints: Path | None, format_: str, *, verbose: bool
) -> int:
    """Print an answer, and return its exit code."""
    if request.offline and request.files and not found.conflict:
        if format_ == "text":
            console.write_out(
                f"{', '.join(map(str, request.files))}: no conflict that the tables know"
            )
        return found.exit_code
    if constraints is not None and found.packages:
        console.write(constraints, _constraints(found))
    if format_ == "json":
        from doctor.report.structured.requested_json import render as as_json

        console.write_out(as_json(shareable(found, who(Host().env))))
    else:
        console.write_out(_text(without_any_secrets(found), verbose=verbose))
    return found.exit_code


def _text(found: Requested, *, verbose: bool) -> str:
    from doctor.report.terminal import requested

    look = console.style()
    return requested.render(
        found,
        verbosity=1 if verbose else 0,
        width=look.width,
        colour=look.colour,
        unicode=look.unicode,
        windows=Host().platform == "win32",
    )


def _constraints(found: Requested) -> str:
    """Return the text of a constraints file."""
    lines = [f"# For {', '.join(found.machine)}", f"# Asked for: {', '.join(found.requests)}"]
    lines += [f"{name}=={version}" for name, version in found.packages.items()]
    return "\n".join(lines) + "\n"
