"""`[tool.doctor]` of the nearest pyproject.toml, as it is written there."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import msgspec

from doctor.base import toml
from doctor.base.errors import UsageError
from doctor.base.lazy_pattern import Pattern
from doctor.host import read_regular

NAME = "pyproject.toml"
_LIMIT = 1 << 20
_MENTIONED = Pattern(
    r"""tool["']?[ \t]*\.[ \t]*["']?doctor\b|^[ \t]*(?:\[[ \t]*)?["']?tool["']?[ \t]*[\]=]""",
    re.MULTILINE,
)
"""How a table may begin that holds `tool.doctor`; a text without it is not parsed."""
_HEADER = Pattern(r"""\s*\[+([\w\s."'-]+)\]""")


class Manifest(msgspec.Struct, frozen=True):
    """A pyproject.toml with a table `[tool.doctor]`: its path, the table and the whole text."""

    path: Path
    table: dict[str, Any]
    text: str

    def line(self, key: str) -> int:
        """Return the line of a key of the table, from 1.

        That of the table where it cannot be told.
        """
        within, start = "", 1
        for number, line in enumerate(self.text.split("\n"), 1):
            if header := _HEADER.match(line):
                within = re.sub(r"""[\s"']""", "", header[1])
                start = number if within == "tool.doctor" else start
            elif within == "tool.doctor" and re.match(
                rf"""\s*["']?{re.escape(key)}["']?\s*[=.]""", line
            ):
                return number
        return start

    def ignores(self) -> list[int]:
        """Return the lines where the tables `[[tool.doctor.ignore]]` begin."""
        headers = (
            (number, _HEADER.match(line)) for number, line in enumerate(self.text.split("\n"), 1)
        )
        return [
            number
            for number, header in headers
            if header and re.sub(r"""[\s"']""", "", header[1]) == "tool.doctor.ignore"
        ]


def nearest(folder: Path) -> Manifest | None:
    """Return the manifest of a folder, else of the nearest above it within the same repository.

    Raises UsageError for a broken one.
    """
    for each in (folder, *folder.parents):
        if (found := _read(each / NAME)) is not None:
            return found
        if os.path.lexists(each / ".git"):
            return None
    return None


def _read(path: Path) -> Manifest | None:
    data = read_regular(path, _LIMIT + 1)
    if (
        data is None
        or b"doctor" not in data
        or not _MENTIONED.search(data.decode("utf-8", "replace"))
    ):
        return None
    if len(data) > _LIMIT:
        raise UsageError(
            f"{path}: it is larger than {_LIMIT >> 20} MiB, and [tool.doctor] is looked for in no "
            "more"
        )
    try:
        text = data.decode("utf-8")
        whole = toml.parse_toml(text)
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}: it is not UTF-8 (byte {error.start + 1})") from None
    except toml.TomlError as error:
        raise UsageError(f"{path}: it is no TOML: {error}") from None
    tool = whole.get("tool")
    table = tool.get("doctor") if isinstance(tool, dict) else None
    if table is None or isinstance(table, dict):
        return None if table is None else Manifest(path, table, text)
    raise UsageError(f"{path}: tool.doctor has to be a table")
