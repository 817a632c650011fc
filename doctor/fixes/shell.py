"""Write a command as a line for a shell: POSIX shells, PowerShell, cmd.exe."""

from __future__ import annotations

import re
import shlex
import subprocess
from enum import Enum

import msgspec

from doctor.base.lazy_pattern import Pattern
from doctor.base.own_name import own_words
from doctor.model.fixes import Command

_VARIABLE = re.compile(
    r"\$(PATH|LIBRARY_PATH|LD_LIBRARY_PATH|CPATH|CPLUS_INCLUDE_PATH|HOME|USER|CONDA_PREFIX)\b"
)
"""Variables that a recipe may build on; any other dollar sign is quoted."""
_DOLLAR = Pattern(r"\$[A-Za-z_]")

_IN_DOUBLE_QUOTES = Pattern(r"[$`\"!\n]|\\\\")
"""What keeps a meaning between double quotes (POSIX.1-2024, Shell Command Language, 2.2.3)."""

_PLAIN_IN_POWERSHELL = Pattern(r"-{0,2}[A-Za-z0-9_][A-Za-z0-9_/\\=-]*(?:[.:][A-Za-z0-9_/\\.:=-]*)?")
_SPLIT_IN_POWERSHELL = Pattern(r"-.*[.:]")
"""PowerShell splits a word such as `-a.b` or `-a:b` in two (about_Parsing)."""

_HIDDEN_IN_POWERSHELL = {"curl", "where"}
"""Programs of Windows behind an alias of 5.1 (about_Aliases): Invoke-WebRequest, Where-Object."""

_NAME_ON_WINDOWS = {"mv": "move", "ls": "dir"}
"""Commands of POSIX, and what both cmd.exe and PowerShell call them."""

_ACTED_ON_BY_CMD, _CARET = Pattern(r'([<>|&^()"])'), r"^\1"
_SPECIAL_IN_CMD = Pattern(r"[<>|&^()@,;=!]")


class Shell(Enum):
    """The shells that a command is written for."""

    POSIX = "sh"
    POWERSHELL = "powershell"
    CMD = "cmd"


def shell_of(*, windows: bool) -> Shell:
    """Return the shell that a terminal of the system opens."""
    return Shell.POWERSHELL if windows else Shell.POSIX


def line(
    command: Command, shell: Shell = Shell.POSIX, *, home: str = "", source: bool = False
) -> str:
    """Write one command for a shell.

    `home` is written as `$HOME` in POSIX shells, so that the line can be shared. `source` runs the
    command in the shell itself.
    """
    command = msgspec.structs.replace(command, argv=_as_called(command.argv))
    if shell is not Shell.POSIX:
        command = msgspec.structs.replace(command, argv=_as_on_windows(command.argv))
    match shell:
        case Shell.POSIX:
            return _posix(command, home, source=source)
        case Shell.POWERSHELL:
            return _powershell(command, source=source)
        case Shell.CMD:
            return _cmd(command, source=source)


def _as_called(argv: tuple[str, ...]) -> tuple[str, ...]:
    """Return a command with the words that start doctor here, also behind `sh -c SCRIPT sh`."""
    place = 4 if argv[:2] == ("sh", "-c") else 0
    if argv[place : place + 1] != ("doctor",):
        return argv
    return (*argv[:place], *own_words(), *argv[place + 1 :])


def _as_on_windows(argv: tuple[str, ...]) -> tuple[str, ...]:
    """Return a command with the name that it has on Windows; an option of POSIX has none."""
    if any(word.startswith("-") for word in argv[1:]):
        return argv
    return tuple(_NAME_ON_WINDOWS.get(word, word) for word in argv[:1]) + argv[1:]


def has_quoted_variable(word: str) -> bool:
    """Say whether a word names a variable that a shell would not expand, as it is quoted."""
    return bool(_DOLLAR.search(_VARIABLE.sub("", word)))


def quoted(word: str, home: str = "") -> str:
    """Quote one word for a POSIX shell; the variables that recipes build on stay variables."""
    if home and (word == home or word.startswith(home.rstrip("/") + "/")):
        rest = word[len(home.rstrip("/")) :]
        if not rest or shlex.quote(rest) == rest:
            return f"$HOME{rest}"
        return f'"$HOME"{shlex.quote(rest)}'
    parts = _VARIABLE.split(word)
    if len(parts) == 1:
        return _in_quotes(word)
    return "".join(
        f'"${part}"' if number % 2 else shlex.quote(part) if part else ""
        for number, part in enumerate(parts)
    )


def _in_quotes(word: str) -> str:
    """Quote a word in double quotes where single ones stand in it: nobody can read '"'"'.

    Between double quotes a POSIX shell acts on dollar signs, backquotes, double quotes, and on a
    backslash before one of them; an interactive one on exclamation marks as well.
    """
    acted_on = _IN_DOUBLE_QUOTES.search(word) or word.endswith("\\")
    return f'"{word}"' if "'" in word and not acted_on else shlex.quote(word)


def _posix(command: Command, home: str, *, source: bool) -> str:
    words = " ".join([*(["."] if source else []), *(quoted(word, home) for word in command.argv)])
    settings = [f"{name}={quoted(value, home)}" for name, value in command.env.items()]
    if not words:
        text = "export " + " ".join(settings)
    elif source and settings:
        text = f"export {' '.join(settings)} && {words}"
    else:
        text = " ".join([*settings, words])
    return f"cd {quoted(command.cwd, home)} && {text}" if command.cwd else text


def _powershell(command: Command, *, source: bool) -> str:
    """Write a line for PowerShell 5.1 and later (about_Quoting_Rules, about_Parsing)."""
    parts = [f"Set-Location -LiteralPath {_single(command.cwd)}"] if command.cwd else []
    parts += [f"$env:{name} = {_single(value)}" for name, value in command.env.items()]
    if command.argv:
        program, *words = command.argv
        program += ".exe" if program in _HIDDEN_IN_POWERSHELL else ""
        start = program if _is_plain(program) else f"& {_single(program)}"
        start = f". {start.removeprefix('& ')}" if source else start
        if any('"' in word for word in words):
            # 5.1 and 7.3 pass on a double quote in different ways; behind --% both pass the text on
            # as it stands (about_Parsing, the stop-parsing token).
            parts.append(f"{start} --% {subprocess.list2cmdline(words)}")
        else:
            parts.append(" ".join([start, *map(_in_powershell, words)]))
    return "; ".join(parts)


def _is_plain(word: str) -> bool:
    return bool(_PLAIN_IN_POWERSHELL.fullmatch(word)) and not _SPLIT_IN_POWERSHELL.match(word)


def _single(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _in_powershell(word: str) -> str:
    if not word:
        return "'\"\"'"  # 5.1 drops an empty argument
    return word if _is_plain(word) else _single(word)


def _cmd(command: Command, *, source: bool) -> str:
    """Write a line for cmd.exe: CommandLineToArgvW reads what cmd.exe leaves (`cmd /?`)."""
    parts = [(f'cd /d "{command.cwd}"', " && ")] if command.cwd else []
    parts += [_set_in_cmd(name, value) for name, value in command.env.items()]
    if command.argv:
        # A double quote within a word changes what cmd.exe sees of all words behind it.
        words = _outside_quotes_escaped(" ".join(map(_in_cmd, command.argv)))
        parts.append((f"call {words}" if source else words, ""))
    *before, (last, _) = parts
    return "".join(text + joint for text, joint in before) + last


def _set_in_cmd(name: str, value: str) -> tuple[str, str]:
    """Return the command that sets a variable, and what joins it to the next command.

    Within quotes cmd.exe takes a double quote for their end. So a value with one stands bare, each
    special character behind a caret; a blank before `&&` would belong to it.
    """
    if '"' not in value:
        return f'set "{name}={value}"', " && "
    return f"set {name}={_ACTED_ON_BY_CMD.sub(_CARET, value)}", "&& "


def _in_cmd(word: str) -> str:
    if not _SPECIAL_IN_CMD.search(word):
        return subprocess.list2cmdline([word])
    # Backslashes count double before a double quote, the closing one included.
    inner = re.sub(r'(\\{0,99})"', r'\1\1\\"', word)
    return f'"{inner}{inner[len(inner.rstrip(chr(92))) :]}"'


def _outside_quotes_escaped(text: str) -> str:
    """Put a caret before what cmd.exe would act on.

    It takes each double quote for an end, escaped or not.
    """
    escaped, inside = "", False
    for char in text:
        inside ^= char == '"'
        escaped += f"^{char}" if not inside and char in "<>|&^()" else char
    return escaped
