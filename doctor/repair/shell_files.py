"""Find the files that a shell reads before a program starts, and what they set.

`bash run.sh`, `. ./train.env`, `source venv/bin/activate`: what such a file exports is not in the
environment in which doctor starts, so that an `unset` before the command changes nothing.
https://pubs.opengroup.org/onlinepubs/9799919799/utilities/V3_chap02.html#dot
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path, PurePath
from typing import NamedTuple

from doctor.host import UnreadableFile, read_regular
from doctor.repair.requests import Original
from doctor.repair.settings import EVERY_OF_PYTHON, suspected

_SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ksh"})
_SUFFIXES = frozenset({".sh", ".bash", ".zsh"})
_KEYWORDS = frozenset({"then", "do", "else", "{", "(", "!"})
_OWN_FOLDER = ('$(dirname "$0")', "$(dirname $0)", '$(dirname "${BASH_SOURCE[0]}")')
_END = re.compile(r"[;&|\n]")
_NAME = re.compile(r"[A-Za-z_]\w{0,80}")
_BLANK = re.compile(r"[ \t;]")
_SETS = re.compile(r"[ \t]{0,40}(?:export[ \t]{1,9})?([A-Z_]{1,40})=")
_BYTES, _MOST_FILES, _MOST_LINES = 1 << 16, 12, 500


def read_first(original: Original) -> tuple[Path, ...]:
    """Return the files that a shell reads before the user's own program starts."""
    return shell_files(original.request.program, original.host.cwd)


def shell_files(program: Sequence[str], cwd: Path) -> tuple[Path, ...]:
    """Return the scripts that a command names, and what they and its own text read by `.`."""
    found: dict[Path, None] = {}
    waiting: list[tuple[str, Path]] = []

    def add(file: Path) -> None:
        if file not in found and len(found) < _MOST_FILES and (text := text_of(file)):
            found[file] = None
            waiting.append((text, file.parent))

    by_shell = PurePath(program[0]).name in _SHELLS if program else False
    for number, word in enumerate(program):
        if by_shell and number and _is_text(program[number - 1]):
            waiting.append((word, cwd))
        elif PurePath(word).suffix in _SUFFIXES or (by_shell and number == 1):
            add(cwd / word)
    while waiting:
        text, folder = waiting.pop(0)
        for word in _read_by(text, folder):
            places = (cwd / word, folder / word)
            if (file := next((one for one in places if _is_file(one)), None)) is not None:
                add(file)
    return tuple(found)


class Assignment(NamedTuple):
    """A line that does no more than set a variable, which a shell gives to the program."""

    file: Path
    number: int
    line: str
    name: str
    value: str


def assignments(files: Sequence[Path]) -> Iterator[Assignment]:
    """Yield the lines that set a variable for the program, each of them once in its file.

    What the shell itself uses, as in `--data "$DATA"`, is no setting: without it the command is
    another one.
    """
    texts = {file: text_of(file) for file in files}
    every = "\n".join(texts.values())
    for file, text in texts.items():
        for number, line in enumerate(text.splitlines()[:_MOST_LINES], 1):
            name, _, value = line.strip().removeprefix("export ").lstrip().partition("=")
            if not _NAME.fullmatch(name) or "$" in value or "`" in value or text.count(line) > 1:
                continue
            exported = f"export {name}" in every or "set -a" in every or "allexport" in every
            if not exported or f"${name}" in every or f"${{{name}" in every:
                continue
            with suppress(ValueError):
                words = shlex.split(value, comments=True)
                if len(words) == 1:
                    yield Assignment(file, number, line, name, words[0])


class Entry(NamedTuple):
    """A folder or a library that a line puts into a list, and the line without it."""

    file: Path
    number: int
    line: str
    name: str
    place: Path
    without: str


def entries(files: Sequence[Path], cwd: Path, names: Sequence[str]) -> Iterator[Entry]:
    """Yield what the files of a shell put into variables that hold lists, as PYTHONPATH does.

    A line that sets nothing else becomes a comment, or a command loses its variable.
    """
    for file in files:
        text = text_of(file)
        for number, line in enumerate(text.splitlines()[:_MOST_LINES], 1):
            found = _SETS.match(line)
            if found is None or found[1] not in names or text.count(line) > 1:
                continue
            start, value, rest = _value_of(line[found.end() :])
            start += found.end()
            listed = value.split(":")
            for one in listed:
                place = _expanded(one, cwd)
                others = [other for other in listed if other != one]
                if place is None:
                    continue
                if any(other and found[1] not in other for other in others):
                    head, tail = line[:start], line[start + len(value) :]
                    less = f"{head}{':'.join(others)}{tail}"
                else:
                    command = rest.strip()
                    less = command if command and command[0] not in "#;" else f"# {line}"
                yield Entry(file, number, line, found[1], place, less)


def _value_of(text: str) -> tuple[int, str, str]:
    """Return where the value begins that a line sets, the value, and what follows it."""
    if text[:1] in ("'", '"'):
        value, _, rest = text[1:].partition(text[0])
        return 1, value, rest
    value = _BLANK.split(text, maxsplit=1)[0]
    return 0, value, text[len(value) :]


def _expanded(word: str, cwd: Path) -> Path | None:
    """Return the place that a word of a list names; None where the shell alone knows."""
    for mark in ("$PWD", "${PWD}", "$(pwd)"):
        word = word.replace(mark, str(cwd))
    return cwd / word if word and not re.search(r"[$`~]", word) else None


def suspected_lines(files: Sequence[Path]) -> tuple[Assignment, ...]:
    """Return what may change a program, whatever it says; what changes Python comes first."""
    found = [one for one in assignments(files) if suspected({one.name: one.value})]
    return tuple(sorted(found, key=lambda one: one.name not in EVERY_OF_PYTHON))


def text_of(file: Path) -> str:
    """Return the text of a file of settings; empty where it cannot be read."""
    try:
        return (read_regular(file, _BYTES) or b"").decode("utf-8", "replace")
    except (OSError, UnreadableFile):
        return ""


def _is_text(word: str) -> bool:
    """Say whether an option of a shell says that the next word is a command: `-c`, `-lc`."""
    return word.startswith("-") and not word.startswith("--") and word.endswith("c")


def _read_by(text: str, folder: Path) -> Iterator[str]:
    """Yield the paths that a shell reads by `.` or `source`; none with a variable."""
    for mark in _OWN_FOLDER:
        text = text.replace(mark, str(folder))
    for command in _END.split(text):
        words = command.split()
        while words and words[0] in _KEYWORDS:
            words = words[1:]
        if len(words) > 1 and words[0] in (".", "source") and "$" not in words[1]:
            yield words[1].replace('"', "").replace("'", "")


def _is_file(place: Path) -> bool:
    with suppress(OSError, ValueError):
        return place.is_file()
    return False
