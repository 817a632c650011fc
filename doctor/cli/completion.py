"""`doctor completion`: the script for a shell, and the answers to its questions."""

from __future__ import annotations

import os
from enum import Enum
from typing import Annotated

import typer

from doctor.cli import console as screen
from doctor.cli.program_names import shadow

_NAMES = ("doctor", "canary-doctor")


class Shell(str, Enum):
    """Shells whose completion is known."""

    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"
    POWERSHELL = "powershell"


def completion(
    shell: Annotated[
        Shell,
        typer.Argument(metavar="SHELL", help="bash, zsh, fish or powershell.", show_default=False),
    ],
) -> int:
    """Print a script that completes commands, options and ids in a shell."""
    from typer._completion_shared import get_completion_script

    # Where `doctor` is another tool, pressing Tab would run that one.
    names = _NAMES if shadow() is None else _NAMES[1:]
    screen.write_out(
        "\n\n".join(
            get_completion_script(prog_name=name, complete_var=_variable(name), shell=shell.value)
            for name in names
        )
    )
    return 0


def answer_shells() -> None:
    """Prepare for the question of a shell, where this start is one."""
    if any(_variable(name) in os.environ for name in _NAMES):
        from typer._completion_classes import completion_init

        completion_init()


def _variable(name: str) -> str:
    return f"_{name.replace('-', '_').upper()}_COMPLETE"
