"""TOML as a table; the parser is loaded when there is something to parse."""

from __future__ import annotations

import sys
from typing import Any

from doctor.base.lazy_pattern import Pattern

_PARTS = 100
_HEAD = Pattern(r"\[([A-Za-z0-9_-]{1,100})\]")
_PAIR = Pattern(r'([A-Za-z0-9_-]{1,100}) = "([A-Za-z0-9 ._:/+-]{0,200})"')
_WORD, _BLANKS = Pattern(r"""[\w"'-]+"""), Pattern(r"[ \t]+")


class TomlError(ValueError):
    """A text is no TOML, or nests deeper than the parser follows; the message says where."""


def parse_toml(text: str) -> dict[str, Any]:
    """Return the table that a text holds; raises TomlError."""
    if (flat := _flat(text)) is not None:
        return flat
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    if any(len(line) > 2 * _PARTS and _is_endless(line) for line in text.split("\n")):
        raise TomlError(f"a key of more than {_PARTS} parts")
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise TomlError("it nests too deep") from None
    except ValueError as error:  # a number of thousands of digits is no TOMLDecodeError
        raise TomlError(str(error)) from None


def _flat(text: str) -> dict[str, Any] | None:
    """Return the table of a text that holds strings alone, such as rustup's; None of any other.

    The parser is large, and its import takes longer than the rest of a look at Rust.
    """
    found: dict[str, Any] = {}
    table = found
    for line in text.split("\n"):
        if not line.strip(" \t"):
            continue
        if head := _HEAD.fullmatch(line):
            if head[1] in found:
                return None
            table = found[head[1]] = {}
        elif (pair := _PAIR.fullmatch(line)) and pair[1] not in table:
            table[pair[1]] = pair[2]
        else:
            return None
    return found


def _is_endless(line: str) -> bool:
    """Say whether a key has too many parts (a.a.a…).

    The parser takes quadratic time over them, which is minutes here.
    """
    return "x." * _PARTS in _BLANKS.sub("", _WORD.sub("x", line))
