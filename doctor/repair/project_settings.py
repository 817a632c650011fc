"""Find lines in the settings of a project that a failure speaks of, and write how to leave one out.

Libraries read files of the folder in which a program starts: `matplotlibrc`, `.env`, `pytest.ini`.
What a line says is in the message, or in the number of the line beside the name of the file.
In all of these files `#` begins a comment.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from doctor.host import UnreadableFile, read_regular
from doctor.model.fixes import Step
from doctor.model.issues import Edit
from doctor.repair.failures import Failure

_FILES = (
    *(".env", "matplotlibrc", ".numba_config.yaml", ".coveragerc", ".streamlit/config.toml"),
    *("pytest.ini", "tox.ini", "setup.cfg", "pyproject.toml", "dask.yaml", ".jupyter/config.py"),
)
_LINE = re.compile(
    r"^[ \t]{0,8}(?:export[ \t]+)?([\w.-]{2,80})[ \t]*[=:][ \t]*(\S.{0,500}?)[ \t]*$"
)
_WORDS = re.compile(r"[^\s,'\"\[\]()]{4,200}")
_QUOTES = "'\" "
_BYTES, _MOST_LINES, _MOST = 1 << 16, 500, 3
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


def lines_spoken_of(failure: Failure, folder: Path) -> Iterator[tuple[Step, str]]:
    """Yield the steps that make comments of such lines, and a note each, the likeliest first."""
    found: list[tuple[int, Step, str]] = []
    for name in _FILES:
        file = folder / name
        for number, line in enumerate(_lines(file), 1):
            if matched := _LINE.match(line):
                rank = _rank(failure, file, number, matched[1], matched[2])
                if rank:
                    edit = Edit(file=str(file), before=line, after=f"# {line}")
                    step = Step(title=f"Leave out {matched[1]} in {name}", edit=edit)
                    found.append((rank, step, f"{name}:{number} says {line.strip()}"))
    found.sort(key=lambda one: -one[0])
    yield from ((step, note) for _, step, note in found[:_MOST])


def every_line(
    failure: Failure, folder: Path, root: Path, modules: Collection[str]
) -> Iterator[tuple[Step, str]]:
    """Yield the steps that make comments of lines, one each, and a note each, whatever they say.

    The files are those that the packages of a traceback read, in `folder` or in `etc` below the
    environment's `root`, and `.env` where one of `modules` loads it.
    """
    tops = {frame.top for frame in failure.every if frame.top}
    files = [folder / name for name, reader in _READERS.items() if reader in tops]
    files += [folder / ".env"] if _LOADERS & {*modules} else []
    for top in sorted(tops):
        with suppress(OSError):
            inner = sorted((root / "etc" / top).iterdir())
            files += [one for one in inner if one.name.endswith(_ENDINGS)]
    for file in files:
        lines = _text(file).splitlines()[:_MOST_LINES]
        for number, line in enumerate(lines):
            matched = _LINE.match(line.lstrip())
            if not matched or line.lstrip().startswith("#"):
                continue
            first = _first_of_block(lines, number) if file.suffix in _OF_YAML else number
            before = "\n".join(lines[first : number + 1])
            if _text(file).count(before) == 1:
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


def _text(file: Path) -> str:
    try:
        return (read_regular(file, _BYTES) or b"").decode("utf-8", "replace")
    except (OSError, UnreadableFile):
        return ""


def _lines(file: Path) -> list[str]:
    text = _text(file)
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
