"""A fix on a page: its commands by system, where no machine has filled its placeholders."""

from __future__ import annotations

import re
from collections.abc import Iterator

from doctor.facts.placeholders import HOLE
from doctor.fixes.installer import PIP_FLAGS, SYSTEM_COMMANDS
from doctor.fixes.shell import Shell, line
from doctor.model.fixes import Command
from doctor.model.issues import Action, Option, Recipe

_PIP = ("python", "-m", "pip")
_WINDOWS = "PowerShell"


def commands(recipe: Recipe) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the commands of a recipe: a label, empty where they are for every system, and lines."""
    for action in recipe.steps:
        for manager, packages in action.system.items():
            command = Command(argv=(*SYSTEM_COMMANDS[manager], *packages))
            sudo = "" if manager == "brew" else "sudo "
            yield manager, (sudo + line(_named(command)),)
        if action.uninstall:
            yield "", (line(_named(Command(argv=(*_PIP, "uninstall", "-y", *action.uninstall)))),)
        argv = _installed(action) if action.install else action.run
        if not argv and not action.env:
            continue
        command = _named(Command(argv=argv, env=action.env))
        lines = line(command, source=action.source).splitlines()
        sudo = "sudo " if action.sudo and argv else ""
        yield ("Linux, macOS" if action.env else ""), (sudo + lines[0], *lines[1:])
        if action.env:
            yield _WINDOWS, tuple(line(command, Shell.POWERSHELL).splitlines())


def _installed(action: Action) -> tuple[str, ...]:
    held = ("torch=={torch.version}",) if Option.HOLD_TORCH in action.options else ()
    flags = [PIP_FLAGS[option] for option in action.options if option in PIP_FLAGS]
    if Option.NO_BINARY in action.options:
        flags += [
            "--no-binary",
            ",".join(re.split(r"[<>=!~\[ ]", one)[0] for one in action.install),
        ]
    flags += ["--index-url", action.index] if action.index else []
    flags += ["--find-links", action.find_links] if action.find_links else []
    flags += [word for name, value in action.build.items() for word in ("-C", f"{name}={value}")]
    return (*_PIP, "install", *flags, *action.install, *held)


def _named(command: Command) -> Command:
    env = {name: filled(value) for name, value in command.env.items()}
    return Command(argv=tuple(map(filled, command.argv)), env=env)


def filled(text: str) -> str:
    """Write each placeholder as what a person puts in: `<torch-version>`."""
    return HOLE.sub(_hole, text)


def _hole(hole: re.Match[str]) -> str:
    parts = hole[1].split(".")
    if parts == ["python", "executable"]:
        return "python"
    words = parts[-2:]
    if parts[0] == "compat":
        words = [parts[2], "release"]
    elif parts[0] == "log":
        words = parts[-1:]
    return f"<{'-'.join(words).replace('_', '-')}>"
