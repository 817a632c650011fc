"""Find lines in the settings of a project that a failure speaks of, and write how to leave one out.

Libraries read files of the folder in which a program starts: `matplotlibrc`, `.env`, `pytest.ini`.
A shell reads others before that (shell_files.py). What a line says is in the message, or in the
number of the line beside the name of the file.
In all of these files `#` begins a comment.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from doctor.model.fixes import Step
from doctor.model.issues import Edit
from doctor.repair.failures import Failure
from doctor.repair.shell_files import assignments, suspected_lines, text_of

_FILES = (
    *(".env", "matplotlibrc", ".numba_config.yaml", ".coveragerc", ".streamlit/config.toml"),
    *("pytest.ini", "tox.ini", "setup.cfg", "pyproject.toml", "dask.yaml", ".jupyter/config.py"),
)
_LINE = re.compile(
    r"^[ \t]{0,8}(?:export[ \t]+)?([\w.-]{2,80})[ \t]*[=:][ \t]*(\S.{0,500}?)[ \t]*$"
)
_WORDS = re.compile(r"[^\s,'\"\[\]()]{4,200}")
_QUOTES = "'\" "
_MOST_LINES, _MOST, _SHORT = 500, 3, 4
_READERS = {
    "matplotlibrc": "matplotlib",
    ".numba_config.yaml": "numba",
    "dask.yaml": "dask",
    ".streamlit/config.toml": "streamlit",
}
"""Whose settings a file of the project holds; `.env` is of whoever loads it."""
_LOADERS = frozenset({"dotenv", "environs", "decouple", "dynaconf", "pydantic_settings"})
_ENDINGS = (".yaml", ".yml", ".ini", ".cfg", ".toml", ".conf", "rc")
_OF_YAML = (".yaml", ".yml")


def lines_spoken_of(
    failure: Failure, folder: Path, read_by_shell: Sequence[Path] = ()
) -> Iterator[tuple[Step, str]]:
    """Yield the steps that make comments of such lines, and a note each, the likeliest first.

    Where a failure speaks of one word of several, the line without that word comes first.
    """
    found: list[tuple[int, Step, str]] = []
    for file, number, line, key, value in _settings(folder, read_by_shell):
        if rank := _rank(failure, file, number, key, value):
            name = _name_of(file, folder)
            note = f"{name}:{number} says {line.strip()}"
            if fewer := _without_words(failure, line, value):
                edit = Edit(file=str(file), before=line, after=fewer)
                title = f"Leave out in {name} what {key} may not hold"
                found.append((rank, Step(title=title, edit=edit), note))
            edit = Edit(file=str(file), before=line, after=f"# {line}")
            step = Step(title=f"Leave out {key} in {name}", edit=edit)
            found.append((rank, step, note))
    found.sort(key=lambda one: -one[0])
    yield from ((step, note) for _, step, note in found[:_MOST])


def _settings(
    folder: Path, read_by_shell: Sequence[Path]
) -> Iterator[tuple[Path, int, str, str, str]]:
    """Yield file, number, line, key and value of what settings say."""
    for file in (folder / name for name in _FILES):
        for number, line in enumerate(_lines(file), 1):
            if matched := _LINE.match(line):
                yield file, number, line, matched[1], matched[2]
    yield from assignments(read_by_shell)


def _name_of(file: Path, folder: Path) -> str:
    return str(file.relative_to(folder) if file.is_relative_to(folder) else file)


def _without_words(failure: Failure, line: str, value: str) -> str:
    """Return a line without the words of its value that a failure speaks of; empty without any.

    So it is also where that is every word.
    """
    words = value.strip(_QUOTES).split()
    spoken = [one for one in words if len(one) >= _SHORT and _is_in(failure.error, one)]
    if not spoken or len(spoken) == len(words):
        return ""
    for word in spoken:
        beside = f" {word}" if f" {word}" in line else f"{word} "
        line = line.replace(beside, "", 1)
    return line


def every_line(
    failure: Failure,
    folder: Path,
    root: Path,
    modules: Collection[str],
    read_by_shell: Sequence[Path] = (),
) -> Iterator[tuple[Step, str]]:
    """Yield the steps that make comments of lines, one each, and a note each, whatever they say.

    The files are those that the packages of a traceback read, in `folder` or in `etc` below the
    environment's `root`, and `.env` where one of `modules` loads it. What a shell reads may set
    any variable.
    """
    for one in suspected_lines(read_by_shell):
        edit = Edit(file=str(one.file), before=one.line, after=f"# {one.line}")
        step = Step(title=f"Leave out {one.name} in {one.file.name}", edit=edit)
        yield step, f"{_name_of(one.file, folder)}:{one.number} says {one.line.strip()}"
    tops = {frame.top for frame in failure.every if frame.top}
    files = [folder / name for name, reader in _READERS.items() if reader in tops]
    files += [folder / ".env"] if _LOADERS & {*modules} else []
    for top in sorted(tops):
        with suppress(OSError):
            inner = sorted((root / "etc" / top).iterdir())
            files += [one for one in inner if one.name.endswith(_ENDINGS)]
    for file in files:
        lines = text_of(file).splitlines()[:_MOST_LINES]
        for number, line in enumerate(lines):
            matched = _LINE.match(line.lstrip())
            if not matched or line.lstrip().startswith("#"):
                continue
            first = _first_of_block(lines, number) if file.suffix in _OF_YAML else number
            before = "\n".join(lines[first : number + 1])
            if text_of(file).count(before) == 1:
                after = "\n".join(f"# {one}" for one in lines[first : number + 1])
                edit = Edit(file=str(file), before=before, after=after)
                step = Step(title=f"Leave out {matched[1]} in {file.name}", edit=edit)
                yield step, f"{file.name}:{number + 1} says {line.strip()}"


def _first_of_block(lines: Sequence[str], number: int) -> int:
    """Return where a block of YAML begins that has a line alone: a key without values is null."""
    first, depth = number, _depth(lines[number])
    rest = [one for one in lines[number + 1 :] if one.strip() and not one.strip().startswith("#")]
    while depth and first and not (rest and _depth(rest[0]) >= depth):
        above = lines[first - 1]
        if not above.rstrip().endswith(":") or _depth(above) >= depth:
            break
        first, depth = first - 1, _depth(above)
    return first


def _depth(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def is_setting(file: str) -> bool:
    """Return whether a file is one that libraries read in the folder of a program."""
    return any(Path(file).as_posix().endswith(f"/{name}") for name in _FILES)


def _lines(file: Path) -> list[str]:
    text = text_of(file)
    # An edit names its line, so that line stands there once.
    lines = text.splitlines()[:_MOST_LINES]
    return [line if line and text.count(line) == 1 else "" for line in lines]


def _rank(failure: Failure, file: Path, number: int, key: str, value: str) -> int:
    """Return how clearly a failure speaks of a line; 0: it does not."""
    text = failure.error
    words = [word for word in _WORDS.findall(value) if _is_in(text, word)]
    if file.name in text and re.search(rf"\bline {number}\b", text):
        return 3
    if words and (file.name in text or _is_in(text, key)):
        return 2
    quoted = re.search(rf"['\"`]{re.escape(value.strip(_QUOTES))}['\"`]", text)
    return int(bool(words or quoted))


def _is_in(text: str, word: str) -> bool:
    before, found, after = text.partition(word)
    return bool(found) and not (before[-1:].isalnum() or after[:1].isalnum())
