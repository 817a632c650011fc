"""Find the modules of another interpreter as files, and the constants that they assign."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import TypeAlias

from doctor.base.lazy_pattern import Pattern
from doctor.host import Host
from doctor.host.reading import VERSION_FILE
from doctor.observe.scene import Interpreter

Constants: TypeAlias = Mapping[str, str | int | float | bool | None]

_LONGEST = 1000
"""Characters of a line that assigns a constant.

What is longer assigns nothing that anybody asks for.
"""
_NUMBER = Pattern(r"-?[0-9]{1,15}(?:\.[0-9]{1,15})?")
_WORDS = {"None": None, "True": True, "False": False}
_FENCES = ('"""', "'''")


def folder_of(interpreter: Interpreter, name: str) -> Path | None:
    """Return the folder of a package, as `import` would find it.

    None where no folder on the path holds it.
    """
    folders = (Path(entry, name) for entry in interpreter.path)
    return next((folder for folder in folders if (folder / "__init__.py").is_file()), None)


def constants(host: Host, path: Path) -> Constants | None:
    """Return what a Python file assigns at its top level, a line each, where that is a constant.

    None where there is no file.

    The file is neither run nor parsed: what Python's own parser takes for a line like `a.a.a…` is a
    gigabyte, and some releases crash over a long sum. Its last assignment of a name counts. Raises
    UnreadableFile (doctor.host.reading).
    """
    text = host.whole(path, VERSION_FILE)
    if text is None:
        return None
    found: dict[str, str | int | float | bool | None] = {}
    fence = ""
    for line in text.split("\n"):
        if fence:
            fence = "" if line.count(fence) % 2 else fence
        elif not (fence := _opened_by(line)) and line[:1].isidentifier() and len(line) <= _LONGEST:
            found.update(_assigned(line))
    return found


def _opened_by(line: str) -> str:
    """Return the quotes of a text that begins in a line and goes on in the next.

    Empty where none does.
    """
    return next(
        (fence for fence in _FENCES if line.count(fence) % 2 and not line.lstrip().startswith("#")),
        "",
    )


def _assigned(line: str) -> Constants:
    """Return what a line `name: annotation = other = constant  # comment` assigns.

    Nothing where it is no such line.
    """
    names: list[str] = []
    rest = line
    while "=" in rest:
        left, _, right = rest.partition("=")
        name = left.partition(":")[0].strip()
        if not name.isidentifier() or right.startswith("="):
            break
        names.append(name)
        rest = right
    value = rest.strip()
    quote = value[:1]
    if names and quote and quote in "\"'":
        text, closed, more = value[1:].partition(quote)
        whole = closed and "\\" not in text and more.strip()[:1] in ("", "#", ";")
        return dict.fromkeys(names, text) if whole else {}
    word = value.partition("#")[0].strip()
    if word in _WORDS:
        return dict.fromkeys(names, _WORDS[word])
    number = _NUMBER.fullmatch(word)
    return dict.fromkeys(names, float(word) if "." in word else int(word)) if number else {}


def searched(text: str | None, pattern: str) -> str | None:
    """Return the first group of the first place where a pattern occurs in a text.

    None where it does not.
    """
    match = re.search(pattern, text) if text else None
    return match[1] if match else None
