"""Replace the prefix of an environment in the texts that name it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from urllib.parse import quote

from doctor.host import Host, read_regular

_ACTIVATE = re.compile(rb"(?m)^(?:export )?VIRTUAL_ENV=[\"']?(/[^\"'\r\n]{1,4000})")
_PARTS = frozenset(
    bytes([code]) for code in b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-."
)
"""Characters of a name in a path."""
_SCRIPT_LIMIT = 1 << 20


def spellings(root: Path, host: Host, scripts: Path) -> tuple[str, ...]:
    """Return the texts by which files and variables name a prefix, the longest first.

    The same folder may be reached through a link, and each tool writes the path that it was given.
    """
    real = os.path.realpath(root)
    activate = read_regular(scripts / "activate", _SCRIPT_LIMIT) or b""
    others = [
        *(os.fsdecode(match) for match in _ACTIVATE.findall(activate)),
        host.env.get("VIRTUAL_ENV", ""),
        host.env.get("CONDA_PREFIX", ""),
    ]
    same = {
        os.path.normpath(other)
        for other in others
        if Path(other).is_absolute() and "\0" not in other and os.path.realpath(other) == real
    }
    return tuple(sorted({str(root), real, *same}, key=len, reverse=True))


def replaced(data: bytes, old: str, new: str) -> bytes:
    """Replace a path where it stands as a whole or before a separator: `/a/env`, not `/a/env2`."""
    before, after = os.fsencode(old), os.fsencode(new)
    parts: list[bytes] = []
    start = 0
    while (found := data.find(before, start)) >= 0:
        end = found + len(before)
        is_whole = data[end : end + 1] not in _PARTS and _begins(data, found)
        parts += [data[start:found], after if is_whole else before]
        start = end
    return b"".join([*parts, data[start:]])


def _begins(data: bytes, found: int) -> bool:
    """Say whether no other part of a path stands before a place: `/mnt/a/env` names another."""
    return found == 0 or data[found - 1 : found] not in _PARTS


def with_prefix(data: bytes, old: Iterable[str], new: str) -> bytes:
    """Replace every spelling of a prefix, also percent-encoded as in an address (PEP 610)."""
    for spelling in old:
        data = replaced(data, spelling, new)
        if (encoded := quote(spelling)) != spelling:
            data = replaced(data, encoded, quote(new))
    return data


def moved_text(text: str, old: Sequence[str], new: str) -> str:
    """Replace every spelling of a prefix in a word of a command or in a variable."""
    return os.fsdecode(with_prefix(os.fsencode(text), old, new))
