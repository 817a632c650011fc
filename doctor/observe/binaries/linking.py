"""Resolve the libraries of an ELF file as the dynamic loader does.

The rules are those of ld.so(8) (https://man7.org/linux/man-pages/man8/ld.so.8.html): DT_RPATH
of the file and of those that led to it, unless the file has a DT_RUNPATH; LD_LIBRARY_PATH;
DT_RUNPATH of the file alone; the cache; the default folders. A library is identified by the name by
which it was first asked for, so a second file of that name is not loaded. Starting `ldd` instead
would run the loader of the file, which may be anything.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType

import msgspec

from doctor.base.lazy_pattern import Pattern
from doctor.host import Host
from doctor.observe.binaries.elf import ElfError, opened
from doctor.observe.binaries.loader_cache import loader_cache, search_folders

# Debian's loader is built with the multiarch folders, that of others with lib64.
_DEFAULTS = (
    "/lib/{}-linux-gnu",
    "/usr/lib/{}-linux-gnu",
    "/lib64",
    "/usr/lib64",
    "/lib",
    "/usr/lib",
)
_ORIGIN = Pattern(r"\$(?:ORIGIN\b|\{ORIGIN\})")
_MOST_LIBRARIES = 2000


class Object(msgspec.Struct, frozen=True):
    """A loaded library: its file, dependencies, search paths, and inherited RPATHs."""

    path: Path
    needed: tuple[str, ...]
    rpaths: tuple[str, ...]
    runpath: tuple[str, ...]
    broken: str = ""


class Resolved(msgspec.Struct, frozen=True):
    """A resolved library: its file if any, the rule that found it, and the first dependent."""

    path: Path | None
    how: str
    by: str


class Search(msgspec.Struct, frozen=True):
    """What the loader looks through beside the paths that files name themselves."""

    host: Host
    machine: str
    environment: tuple[str, ...]
    program: Object

    def find(self, asking: Object, name: str) -> Resolved:
        """Return the file that the loader takes for a library that `asking` needs."""
        for path, how in self._candidates(asking, name):
            if os.path.isfile(path):  # noqa: PTH113 - some thousand times, and a Path costs more than the call
                return Resolved(
                    Path(path).parent.resolve() / name.rpartition("/")[2], how, asking.path.name
                )
        return Resolved(None, "not found", asking.path.name)

    def _candidates(self, asking: Object, name: str) -> Iterator[tuple[str, str]]:
        if "/" in name:
            yield name, "its path"
            return
        # A DT_RUNPATH switches off the whole chain of DT_RPATH for what this file needs, though not
        # for what those need in turn.
        yield from (
            (f"{folder}/{name}", "DT_RPATH") for folder in (() if asking.runpath else asking.rpaths)
        )
        yield from ((f"{folder}/{name}", "LD_LIBRARY_PATH") for folder in self.environment)
        yield from ((f"{folder}/{name}", "DT_RUNPATH") for folder in asking.runpath)
        yield from (
            (str(self.host.at(path)), "/etc/ld.so.cache")
            for path in loader_cache(self.host).get(name, ())
        )
        yield from (
            (f"{self.host.at(folder.format(self.machine))}/{name}", "default folder")
            for folder in _DEFAULTS
        )


def search_of(host: Host, executable: str, machine: str) -> Search:
    """Return what the loader looks through in a program on this host."""
    program = read(Path(executable).resolve(), ())
    return Search(host, machine, search_folders(host, "LD_LIBRARY_PATH"), program)


def read(path: Path, handed_down: tuple[str, ...]) -> Object:
    """Read what the loader needs to know of a file.

    `handed_down` are the RPATHs of those that led to it.
    """
    needed, rpath, runpath, broken = _read_dynamic(path, _stamp(path))
    return Object(path, needed, (*(() if runpath else rpath), *handed_down), runpath, broken)


def _stamp(path: Path) -> tuple[int, int]:
    try:
        found = path.stat()
    except OSError:
        return (0, 0)
    return (found.st_mtime_ns, found.st_size)


@lru_cache(maxsize=4096)
def _read_dynamic(
    path: Path, _: tuple[int, int]
) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...], str]:
    origin = str(path.parent)
    try:
        with opened(path) as elf:
            rpath, runpath = (
                [_ORIGIN.sub(lambda _: origin, part) for part in parts]
                for parts in (elf.rpath, elf.runpath)
            )
            return elf.needed, tuple(rpath), tuple(runpath), ""
    except ElfError as error:
        return (), (), (), str(error)


def follow(
    search: Search,
    roots: Iterable[Object],
    *,
    loaded: Mapping[str, Resolved] = MappingProxyType({}),
    matters: Callable[[str], bool] = lambda _: True,
    more: Callable[[Path], Sequence[str]] = lambda _: (),
) -> dict[str, Resolved]:
    """Follow what files need, breadth first as the loader does.

    A name that is loaded once is not looked up again.

    `loaded` is what the process holds already. Names that do not matter are neither looked up nor
    followed. `more` names libraries that a file opens by itself.
    """
    found: dict[str, Resolved] = {}
    queue = deque(roots)
    while queue and len(found) < _MOST_LIBRARIES:
        asking = queue.popleft()
        for name in (*asking.needed, *more(asking.path)):
            if name in found or not matters(name):
                continue
            found[name] = one = loaded.get(name) or search.find(asking, name)
            if one.path is not None and name not in loaded:
                queue.append(read(one.path, asking.rpaths))
    return found
