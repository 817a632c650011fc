"""Find lines in the settings of a project that a failure speaks of, and write how to leave one out.

Libraries read files of the folder in which a program starts: `matplotlibrc`, `.env`, `pytest.ini`.
What a line says is in the message, or in the number of the line beside the name of the file.
In all of these files `#` begins a comment.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
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
_BYTES, _MOST_LINES, _MOST = 1 << 16, 500, 3


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


def is_setting(file: str) -> bool:
    """Return whether a file is one that libraries read in the folder of a program."""
    return any(Path(file).as_posix().endswith(f"/{name}") for name in _FILES)


def _lines(file: Path) -> list[str]:
    try:
        text = (read_regular(file, _BYTES) or b"").decode("utf-8", "replace")
    except (OSError, UnreadableFile):
        return []
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
    return int(bool(words))


def _is_in(text: str, word: str) -> bool:
    before, found, after = text.partition(word)
    return bool(found) and not (before[-1:].isalnum() or after[:1].isalnum())
