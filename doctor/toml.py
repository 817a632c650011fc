"""TOML as a table; the parser is loaded when there is something to parse."""

from __future__ import annotations

import sys
from typing import Any


class NoToml(ValueError):
    """A text is no TOML, or nests deeper than the parser follows; the message says where."""


def parsed(text: str) -> dict[str, Any]:
    """Return the table that a text holds; raises NoToml."""
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise NoToml("it nests too deep") from None
    except ValueError as error:  # a number of thousands of digits is no TOMLDecodeError
        raise NoToml(str(error)) from None
