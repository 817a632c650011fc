"""The command that writes the files which make doctor a step of continuous integration."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from doctor.base.errors import UsageError
from doctor.cli import console as screen
from doctor.cli.program_names import suggest
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
            help="The file to write instead of the usual one; - is standard output.",
        ),
    ] = None,
) -> int:
    """Write a file that makes doctor a step of your CI, a hook or a gate in a Dockerfile.

    Never over one that is there.

    KIND is github, gitlab, pre-commit, docker, buildkite or jenkins. What is written asks for this
    release of doctor.
    """
    if kind not in PLACES:
        raise UsageError(
            f"{kind} is nothing that can be written{suggest(kind, PLACES, '; choose from ' + ', '.join(PLACES))}"
        )
    text, path = filled(kind), output or Path(PLACES[kind].path)
    try:
        if screen.create(path, text):
            screen.say(f"wrote {path}; read it once: what it installs and declares is yours to say")
    except FileExistsError:
        screen.put(text)
        otherwise = "" if output else f" {PLACES[kind].otherwise}"
        raise UsageError(
            f"{path} is there already and stays as it is; what it would have become is on standard output.{otherwise}"
        ) from None
    return 0
