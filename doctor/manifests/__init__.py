"""Which line of a project's manifests pins a package; only text is read here, and nothing is resolved."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple, TypeAlias

from doctor.manifests.docker import dockerfile
from doctor.manifests.pins import Pin
from doctor.manifests.requirements import environment, requirements
from doctor.manifests.tables import cargo, lock, pipfile, pixi, pyproject

__all__ = ["Kind", "Pin", "kind_of"]

_Reader: TypeAlias = Callable[[str], Iterator[Pin]]


class Kind(NamedTuple):
    """A kind of manifest: what reads it, and its rank. Of two that pin a package, the lower rank is the one that people edit."""

    rank: int
    read: _Reader


_KINDS: tuple[tuple[str, _Reader], ...] = (
    (r"(?:[\w.-]*[._-])?requirements(?:[._-][\w.-]*)?\.(?:txt|in)", requirements),
    (r"(?:[\w.-]*[._-])?constraints(?:[._-][\w.-]*)?\.txt", requirements),
    (r"pyproject\.toml", pyproject),
    (r"Pipfile", pipfile),
    (r"pixi\.toml", pixi),
    (r"(?:[\w.-]*[._-])?(?:environment|conda)(?:[._-][\w.-]*)?\.ya?ml", environment),
    (r"(?:Docker|Container)file(?:\.[\w.-]+)?|[\w.-]+\.(?:Docker|docker|Container)file", dockerfile),
    (r"Cargo\.toml", cargo),
    (r"(?:uv|poetry|pdm|Cargo)\.lock", lock),
)
_NAMES = tuple((re.compile(pattern), Kind(rank, reader)) for rank, (pattern, reader) in enumerate(_KINDS))
_OF_FOLDERS = {"requirements": (re.compile(r"[\w.-]+\.(?:txt|in)"), Kind(0, requirements))}
LOCK = len(_KINDS) - 1
"""The rank of locks."""


def kind_of(folder: str, name: str) -> Kind | None:
    """Return what kind of manifest a file is, by its name and that of its folder; None for any other file."""
    inside = _OF_FOLDERS.get(folder)
    if inside and inside[0].fullmatch(name):
        return inside[1]
    return next((kind for pattern, kind in _NAMES if pattern.fullmatch(name)), None)
