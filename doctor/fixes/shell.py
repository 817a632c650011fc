"""Write a command as a line for a shell."""

from __future__ import annotations

import re
import shlex
import subprocess

from doctor.model.fixes import Command

_VARIABLE = re.compile(r"\$(PATH|LIBRARY_PATH|LD_LIBRARY_PATH|CPATH|CPLUS_INCLUDE_PATH|HOME)\b")
"""Variables that a recipe may build on; any other dollar sign is quoted."""

_CONSOLE = re.compile(r"[<>|&^]")


def line(command: Command, *, windows: bool = False, home: str = "") -> str:
    """Write one command for a POSIX shell, or for the Windows console.

    `home` is written as `$HOME`, so that it can be shared.
    """
    if windows:
        settings = [f'set "{name}={value}"' for name, value in command.env.items()]
        run = [" ".join(map(_in_console, command.argv))] if command.argv else []
        return " && ".join([*([f'cd /d "{command.cwd}"'] if command.cwd else []), *settings, *run])
    words = " ".join(quoted(word, home) for word in command.argv)
    settings = [f"{name}={quoted(value, home)}" for name, value in command.env.items()]
    said = " ".join(filter(None, [*settings, words])) if words else "export " + " ".join(settings)
    return f"cd {quoted(command.cwd, home)} && {said}" if command.cwd else said


def _in_console(word: str) -> str:
    """Quote one word for the Windows console, which takes `numpy<2` for a file to read."""
    said = subprocess.list2cmdline([word])
    return f'"{said}"' if _CONSOLE.search(said) and not said.startswith('"') else said


def quoted(word: str, home: str = "") -> str:
    """Quote one word for a POSIX shell; the variables that recipes build on stay variables."""
    if home and (word == home or word.startswith(home.rstrip("/") + "/")):
        rest = word[len(home.rstrip("/")) :]
        return (
            f"$HOME{rest}"
            if not rest or shlex.quote(rest) == rest
            else f'"$HOME"{shlex.quote(rest)}'
        )
    parts = _VARIABLE.split(word)
    if len(parts) == 1:
        return shlex.quote(word)
    return "".join(
        f'"${part}"' if number % 2 else shlex.quote(part) if part else ""
        for number, part in enumerate(parts)
    )
