"""Which line of a project's manifests pins a package.

Only text is read here, and nothing is resolved.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from doctor.observe.manifests.pins import Pin


class Kind(msgspec.Struct, frozen=True):
    """A kind of manifest, and its rank.

    Of two that pin a package, people edit the one of lower rank.
    """

    rank: int
    module: str
    reader: str

    def read(self, text: str) -> Iterator[Pin]:
        """Yield the pins of a manifest.

        Its reader is imported here: its patterns cost more to compile than to use.
        """
        pins: Iterator[Pin] = getattr(
            importlib.import_module(f"doctor.observe.manifests.{self.module}"), self.reader
        )(text)
        return pins


_REQUIREMENTS = Kind(0, "requirements", "requirements")
_CONSTRAINTS = Kind(1, "requirements", "requirements")
_ENVIRONMENT = Kind(5, "requirements", "environment")
_IMAGE = Kind(6, "docker", "dockerfile")
_LOCK = Kind(8, "tables", "lock")
_WHOLE = {
    "pyproject.toml": Kind(2, "tables", "pyproject"),
    "setup.cfg": Kind(2, "requirements", "setup_cfg"),
    "Pipfile": Kind(3, "tables", "pipfile"),
    "pixi.toml": Kind(4, "tables", "pixi"),
    "Cargo.toml": Kind(7, "tables", "cargo"),
    **dict.fromkeys(("uv.lock", "poetry.lock", "pdm.lock", "Cargo.lock"), _LOCK),
}
LOCK = _LOCK.rank
"""The rank of locks."""
_PLAIN = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-")
_IMAGES = frozenset({"Dockerfile", "Containerfile", "dockerfile"})


def kind_of(folder: str, name: str) -> Kind | None:
    """Return what kind of manifest a file is, by its name and that of its folder.

    None for any other file.
    """
    if name in _WHOLE:
        return _WHOLE[name]
    if not _PLAIN.issuperset(name):
        return None
    *words, ending = name.replace("-", ".").replace("_", ".").split(".")
    if ending in ("txt", "in"):
        if "requirements" in (*words, folder):
            return _REQUIREMENTS
        return _CONSTRAINTS if "constraints" in words else None
    if ending in ("yml", "yaml"):
        return _ENVIRONMENT if "environment" in words or "conda" in words else None
    return _IMAGE if not _IMAGES.isdisjoint((*words[:1], ending)) else None
