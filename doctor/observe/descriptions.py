"""What an interpreter says of itself, between two marks in its output, and what makes no sense."""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Mapping
from pathlib import Path

import msgspec

from doctor.base.errors import DoctorError
from doctor.base.lazy_pattern import Pattern
from doctor.base.literal_values import is_plain_literal
from doctor.observe.scene import Interpreter

BEGIN, END = "<<doctor-target:", ":doctor-target>>"
_OLDEST = (3, 8)
_UNSPEAKABLE = Pattern("[\0\ud800-\udfff]")
_LONGEST = 4096  # characters: PATH_MAX of Linux
_LONGEST_NAME = 255


class TargetError(DoctorError):
    """The interpreter does not exist, does not start, or cannot be examined."""


def interpreter_of(told: Mapping[str, object], executable: str | Path) -> Interpreter:
    """Return the interpreter that described itself so.

    Raises TargetError for one that is too old, and for what makes no sense.
    """
    if odd := [
        key
        for key, value in told.items()
        if _UNSPEAKABLE.search(key)
        or (isinstance(value, str) and (len(value) > _LONGEST or not _is_path(value)))
    ]:
        named = ascii(", ".join(odd))[1:-1][:200]
        raise TargetError(
            f"{executable} described itself in a way that makes no sense: {named} is too "
            f"long, or cannot be written as UTF-8."
        )
    version = str(told.get("version", ""))[:40]
    if tuple(int(part) for part in re.findall(r"\d{1,9}", version)[:2]) < _OLDEST:
        raise TargetError(
            f"{executable} is Python {version}; doctor examines 3.8 and newer. Choose another "
            f"with --python."
        )
    try:
        return msgspec.convert(told, Interpreter)
    except (ValueError, RecursionError) as error:
        raise TargetError(
            f"{executable} described itself in a way that makes no sense: {error}"
        ) from error


def parse_description(output: str) -> Mapping[str, object] | None:
    """Find the description between its marks.

    Whatever a sitecustomize prints around it does no harm.
    """
    _, mark, rest = output.rpartition(BEGIN)
    text, end, _ = rest.partition(END)
    try:
        told = ast.literal_eval(text) if mark and end and is_plain_literal(text) else None
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return None
    if not isinstance(told, dict):
        return None
    return {
        str(key): _speakable(value) if isinstance(value, list) else value
        for key, value in told.items()
    }


def _speakable(items: list[object]) -> list[str]:
    # A folder whose name is not UTF-8 cannot stand in a report, and none has a name with NUL;
    # nothing of the stack lives there.
    return [item for item in map(str, items) if _is_path(item)]


def _is_path(text: str) -> bool:
    """Say whether a file may be called so.

    No system takes a name of more than 255 bytes, and asking for such a file is an error.
    """
    names = text.replace("\\", "/").split("/") if os.name == "nt" else text.split("/")
    return not _UNSPEAKABLE.search(text) and all(
        len(name) < _LONGEST_NAME // 4 or len(name.encode()) <= _LONGEST_NAME for name in names
    )
