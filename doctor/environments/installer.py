"""Ask the installer of a command what it would change, without changing anything.

The installer is the user's own: it reads its own variables and its own configuration. What it says
is shown without credentials.

| command | asked with |
| --- | --- |
| `uv pip install`, `uv pip uninstall`, `uv pip sync`, `uv sync`, `uv lock` | `--dry-run` |
| `pip install` | `--dry-run --report` |
| `pip uninstall` | what is installed: pip has no dry run for it |
| `conda`, `mamba`, `micromamba` | `--dry-run --json` |
| `cargo update` | `--dry-run` |
| `poetry add`, `poetry update`, `poetry remove`, `poetry install` | `--dry-run` |
| `pixi update` | `--dry-run --json` |
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path, PurePath

from doctor.environments import cargo, conda, pip, poetry, uv
from doctor.environments.answers import Answer, Conflict, NoAnswer, NoAnswerReason, Resolution
from doctor.environments.asking import Question
from doctor.environments.inventory import installed, problems
from doctor.host import Host
from doctor.model.fixes import Command

__all__ = [
    "Answer",
    "Conflict",
    "NoAnswer",
    "NoAnswerReason",
    "Resolution",
    "dry_run",
    "installed",
    "problems",
]

TIMEOUT = 180.0
"""Seconds that a resolver may take; a backtracking one may never end."""


def dry_run(
    command: Command,
    host: Host,
    *,
    builds: bool = False,
    sizes: bool = True,
    timeout: float = TIMEOUT,
    cwd: Path | None = None,
) -> Answer:
    """Return what `command` would change, by the word of the installer that it starts.

    Without `builds` only wheels count, so that nobody's build script is executed; the answer is
    then NEEDS_BUILD where a source would have to be built. With `sizes` the installer is asked once
    more for the bytes to download. The command runs in `cwd`, else in the folder that it names.
    """
    name, verbs = _installer(command.argv)
    ask = _ASKED.get(name)
    if ask is None:
        text = f"{command.argv[0] if command.argv else 'the step'} has no dry run"
        return NoAnswer(why=NoAnswerReason.NO_DRY_RUN, text=text)
    folder = cwd or (Path(command.cwd) if command.cwd else host.cwd)
    return ask(
        Question(
            program=command.argv[: len(command.argv) - len(verbs)],
            arguments=verbs,
            host=host,
            env=dict(command.env),
            cwd=folder,
            builds=builds,
            sizes=sizes,
            timeout=timeout,
        )
    )


def _installer(argv: tuple[str, ...]) -> tuple[str, tuple[str, ...]]:
    """Return the name of the installer that a command starts, and what follows its name."""
    if not argv:
        return "", ()
    name = PurePath(argv[0].replace("\\", "/")).name.removesuffix(".exe").lower()
    if name.startswith("python") and len(argv) > 2 and argv[1] == "-m":
        return argv[2], argv[3:]
    if name.startswith("pip") and name.removeprefix("pip").replace(".", "").isdecimal():
        name = "pip"
    return name, argv[1:]


_ASKED: dict[str, Callable[[Question], Answer]] = {
    "uv": uv.ask,
    "pip": pip.ask,
    "conda": conda.ask,
    "mamba": conda.ask,
    "micromamba": conda.ask,
    "cargo": cargo.ask,
    "poetry": poetry.ask_poetry,
    "pixi": poetry.ask_pixi,
}
