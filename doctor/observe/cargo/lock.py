"""What Cargo.lock lists."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import msgspec
from packaging.version import Version

from doctor.base import toml
from doctor.base.versions import parse
from doctor.host import Host

_LARGEST = 4 << 20
_ZERO = Version("0")


class Locked(msgspec.Struct, frozen=True):
    """A package of a lock; `source` is cargo's own text, empty for a path."""

    name: str
    version: str
    source: str = ""

    @property
    def origin(self) -> str:
        """Return where it comes from: registry, git or path."""
        kind = self.source.partition("+")[0]
        return "registry" if kind in ("registry", "sparse") else kind or "path"

    @property
    def url(self) -> str | None:
        """Return the repository of a package from git."""
        return (
            re.split(r"[?#]", self.source.partition("+")[2], maxsplit=1)[0]
            if self.origin == "git"
            else None
        )

    @property
    def rev(self) -> str | None:
        """Return the rev that the manifests name, as they spell it."""
        found = re.search(r"[?&]rev=([^&#]+)", self.source) if self.origin == "git" else None
        return unquote(found[1]) if found else None

    @property
    def commit(self) -> str | None:
        """Return the commit of a package from git."""
        found = re.search(r"#([0-9a-f]{7,40})$", self.source) if self.origin == "git" else None
        return found[1] if found else None


class Lock(msgspec.Struct, frozen=True):
    """The packages of a Cargo.lock by name, the newest of each name last.

    Or what is wrong with it.
    """

    packages: Mapping[str, tuple[Locked, ...]]
    there: bool = True
    problem: str = ""
    version: int | None = None

    def newest(self, name: str) -> Locked | None:
        """Return the newest package of a name."""
        return self.packages[name][-1] if name in self.packages else None


def read_lock(host: Host, path: Path) -> Lock:
    """Read a Cargo.lock, bounded; a lock that is not there has no problem."""
    if not host.exists(path):
        return Lock({}, there=False)
    text = host.read(path, limit=_LARGEST + 1)
    if text is None or len(text) > _LARGEST:
        return Lock(
            {},
            problem="it cannot be read"
            if text is None
            else f"it is larger than {_LARGEST >> 20} MiB",
        )
    if re.search(r"^(<{7}|>{7}) ", text, re.MULTILINE):
        return Lock({}, problem="it holds the markers of an unresolved merge")
    try:
        told = toml.parse_toml(text)
    except toml.TomlError as error:
        return Lock({}, problem=f"it is no TOML: {error}")
    packages: dict[str, list[Locked]] = {}
    listed, version = told.get("package"), told.get("version")
    for package in (_package(each) for each in (listed if isinstance(listed, list) else ())):
        if package:
            packages.setdefault(package.name, []).append(package)
    ranked = {name: tuple(sorted(found, key=_order)) for name, found in packages.items()}
    return Lock(
        ranked,
        problem="" if ranked else "it lists no package",
        version=version if isinstance(version, int) else None,
    )


def _package(entry: Any) -> Locked | None:
    match entry:
        case {"name": str(name), "version": str(version), "source": str(source)}:
            return Locked(name, version, source)
        case {"name": str(name), "version": str(version)}:
            return Locked(name, version)
        case _:
            return None


def _order(package: Locked) -> Version:
    return parse(package.version) or _ZERO
