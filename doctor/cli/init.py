"""`doctor init`: write a ready CI configuration."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from doctor.base.errors import UsageError
from doctor.cli import console as screen
from doctor.cli.program_names import suggest
from doctor.cli.project_setup import setup_of
from doctor.cli.templates import PLACES, filled


def init(
    kind: Annotated[
        str, typer.Argument(metavar="KIND", help=f"{', '.join(PLACES)}.", show_default=False)
    ],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Another file to write; - is standard output.",
        ),
    ] = None,
) -> int:
    """Write a file that runs doctor in CI, in pre-commit or in a Dockerfile.

    It installs the project as its lock, requirements or pyproject.toml say, with its Python. It
    never overwrites a file, and pins this release of doctor.
    """
    if kind not in PLACES:
        raise UsageError(
            f"{kind} is not a kind of file that doctor writes"
            f"{suggest(kind, PLACES, '; choose from ' + ', '.join(PLACES))}"
        )
    setup = setup_of(Path())
    text, path = filled(kind, setup), output or Path(PLACES[kind].path)
    try:
        if screen.create(path, text):
            about = f" for {setup.by} and Python {setup.python}" if setup.by else ""
            screen.say(f"wrote {path}{about}; read it before you commit it")
    except FileExistsError:
        screen.write_out(text)
        otherwise = "" if output else f" {PLACES[kind].otherwise}"
        raise UsageError(
            f"{path} exists already and was not changed; its new content is on standard output."
            f"{otherwise}"
        ) from None
    return 0
