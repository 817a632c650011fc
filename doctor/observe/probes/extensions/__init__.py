"""Check that compiled extensions find their libraries, symbols and C++ versions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path

import msgspec

from doctor.host import UnreadableFile
from doctor.model.facts import FactStream, absent, present, unknown
from doctor.observe.binaries.elf import Elf, ElfError, opened
from doctor.observe.binaries.fatbins import architectures
from doctor.observe.binaries.library_names import is_cuda, is_torch
from doctor.observe.binaries.linking import Resolved, Search, follow, read, search_of
from doctor.observe.binaries.undefined_symbols import Scope, Undefined
from doctor.observe.installed.extension_files import Compiled, list_files
from doctor.observe.installed.modules import constants, folder_of
from doctor.observe.probes.libraries import torch_objects
from doctor.observe.scene import ProbeInput

BOUND = 20.0

_MOST_TOLD = 20
_RUNTIMES = {"libc.so.6": "GLIBC_", "libm.so.6": "GLIBC_", "libstdc++.so.6": "GLIBCXX_"}
_STEMS = ("libcudart", "libcublas", "libcudnn", "libnv", "libcu", "libnccl", "libtorch", "libc10")


class Judged(msgspec.Struct, frozen=True):
    """What one compiled file asks for in vain; `archs` is what it holds GPU code for."""

    file: Compiled
    missing: tuple[str, ...] = ()
    undefined: tuple[Undefined, ...] = ()
    versions: tuple[str, ...] = ()
    archs: frozenset[str] = frozenset()
    asked: tuple[str, ...] = ()
    """What it asks of torch, if any of that is undefined."""


def probe(scene: ProbeInput) -> FactStream:
    """Give extensions.files and extension.*, a group for each distribution.

    Absent where libraries are not ELF files.
    """
    interpreter = scene.interpreter
    if interpreter is None:
        return
    if interpreter.platform != "linux":
        yield "extensions.files", absent("sys.platform")
        return
    torch = folder_of(interpreter, "torch")
    try:
        told = (constants(scene.host, torch / "version.py") or {}) if torch else {}
    except UnreadableFile:
        told = {}  # which the probe of torch says
    search = search_of(scene.host, interpreter.executable, interpreter.machine)
    with _Examination(search, torch) as examination:
        listed = list_files(
            scene,
            {
                name: str(told[key])
                for name, key in (("torch", "__version__"), ("cuda", "cuda"))
                if told.get(key)
            },
        )
        judged = [
            found
            for file in listed.files
            if (found := examination.judge(file, listed.libraries)) is not None
        ]
    yield "extensions.files", present([str(one.file.path) for one in judged], "RECORD files")
    owners = dict.fromkeys(one.file.owner.name for one in judged)
    for owner in owners:
        yield from _package_facts(
            owner,
            [one for one in judged if one.file.owner.name == owner],
            listed.unread,
            str(told.get("__version__", "")),
        )


def _package_facts(owner: str, judged: list[Judged], unread: str, torch: str) -> FactStream:
    """Give the facts of one distribution; what is in order is absent.

    Where a RECORD is `unread`, some library may be here after all.
    """
    groups = {
        "missing_libraries": [(one, name) for one in judged for name in one.missing],
        "undefined_symbols": [(one, each.name) for one in judged for each in one.undefined],
        "system_versions": [(one, version) for one in judged for version in one.versions],
    }
    for group, found in groups.items():
        values, paths = (
            list(dict.fromkeys(value for _, value in found)),
            list(dict.fromkeys(str(one.file.path) for one, _ in found)),
        )
        source = paths[0] if paths else "compiled files"
        told = present(values[:_MOST_TOLD], source) if values else absent(source)
        yield (
            f"extension.{owner}.{group}",
            unknown(unread, source) if values and unread and group == "missing_libraries" else told,
        )
    kinds = [each.means for one in judged for each in one.undefined]
    # Where the C++ ABI differs, much else is missing as well: names that carry no text are the same
    # in both.
    means = "cxx11-abi" if "cxx11-abi" in kinds else next(iter(kinds), None)
    yield (
        f"extension.{owner}.undefined_means",
        present(means, "compiled files") if means else absent("compiled files"),
    )
    releases = _releases(judged, means, torch) if means else ""
    yield (
        f"extension.{owner}.built_for",
        present(releases, "symbols of published wheels")
        if releases
        else absent("symbols of published wheels"),
    )
    for prefix, name in (("GLIBC_", "glibc_wanted"), ("GLIBCXX_", "glibcxx_wanted")):
        wanted = [
            version.removeprefix(prefix)
            for one in judged
            for version in one.versions
            if version.startswith(prefix)
        ]
        newest = max(wanted, key=_order, default=None)
        yield (
            f"extension.{owner}.{name}",
            present(newest, "compiled files") if newest else absent("compiled files"),
        )
    archs = sorted(
        frozenset().union(*(one.archs for one in judged)),
        key=lambda arch: (arch[0], len(arch), arch),
    )
    yield (
        f"extension.{owner}.archs",
        present(archs, "compiled files") if archs else absent("compiled files"),
    )


def _releases(judged: list[Judged], means: str, torch: str) -> str:
    """Return the releases that define all that the files ask for; empty where none is known.

    Files of different releases in one package have none in common; what is undefined here may have.
    """
    from doctor.timelines.symbols import built_for

    undefined = [symbol.name for one in judged for symbol in one.undefined]
    if means == "cuda":
        found = built_for(undefined)
        if found is None or found.package == "torch" or (found.is_earliest and found.is_latest):
            return ""
        return f"{found.package} {found.text}"
    installed = torch.partition("+")[0]
    asked = [name for one in judged for name in one.asked]
    found = built_for(asked, package="torch", installed=installed) or built_for(
        undefined, package="torch", installed=installed
    )
    # Built for the release that is here, but with the other C++ ABI.
    if found is None or found.other_abi or installed in found.other_releases:
        return ""
    return f"torch {found.text}"


def _order(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".") if part.isdecimal() and len(part) < 10)


class _Examination:
    """What is loaded before any extension is, and what was read of libraries so far."""

    def __init__(self, search: Search, torch: Path | None) -> None:
        self._search, self._torch = search, torch
        self._defined: dict[Path, frozenset[str]] = {}

    @cached_property
    def _program(self) -> dict[str, Resolved]:
        return follow(self._search, [self._search.program])

    @cached_property
    def _loaded(self) -> dict[str, Resolved]:
        roots = torch_objects(self._search, self._torch) if self._torch else []
        opened_by_name = {
            one.path.name: Resolved(one.path, "import torch", "torch") for one in roots
        }
        return {
            **self._program,
            **follow(self._search, roots, loaded=self._program),
            **opened_by_name,
        }

    @cached_property
    def _scope(self) -> Scope:
        return Scope(self._loaded)

    def __enter__(self) -> _Examination:
        return self

    def __exit__(self, *_: object) -> None:
        if "_scope" in vars(self):
            self._scope.close()

    def judge(self, file: Compiled, libraries: frozenset[str]) -> Judged | None:
        """Judge a file.

        None where it stands on nothing that can be wrong, or cannot be read, which another probe
        tells.
        """
        try:
            with opened(file.path) as elf:
                return self._judge(file, elf, libraries)
        except ElfError:
            return None

    def _judge(self, file: Compiled, elf: Elf, libraries: frozenset[str]) -> Judged | None:
        needed = elf.needed
        on_stack = any(name.startswith(_STEMS) for name in needed)
        if not on_stack and "libstdc++.so.6" not in needed:
            return None
        asking = read(file.path, self._search.program.rpaths)
        loaded = self._loaded if on_stack else self._program
        found = follow(self._search, [asking], loaded=loaded) if on_stack else {}
        runtimes = {
            name: found.get(name) or loaded.get(name) or self._search.find(asking, name)
            for name in _RUNTIMES
        }
        versions = tuple(self._too_new(elf, runtimes))
        if not on_stack:
            return Judged(file, versions=versions) if versions else None
        missing = tuple(
            name
            for name, one in found.items()
            if one.path is None and (is_torch(name) or is_cuda(name)) and name not in libraries
        )
        # What the package itself loads first, or torch on demand, may define anything.
        hidden = any(
            one.path is None and (is_torch(name) or is_cuda(name) or name in libraries)
            for name, one in found.items()
        )
        undefined = () if hidden else tuple(self._scope.undefined(elf, found))
        asked = tuple(self._scope.asked_of_torch(elf)) if undefined else ()
        return Judged(file, missing, undefined, versions, _archs(elf), asked)

    def _too_new(self, elf: Elf, runtimes: Mapping[str, Resolved]) -> Iterator[str]:
        """Yield the versions of the C and C++ libraries that those of this machine do not have."""
        for library, wanted in elf.needed_versions().items():
            one = runtimes.get(library)
            if (
                one is not None
                and one.path is not None
                and (defined := self._versions_of(one.path))
            ):
                named = (
                    version
                    for version in wanted
                    if version.startswith(_RUNTIMES[library]) and version not in defined
                )
                yield from sorted(named, key=_order)

    def _versions_of(self, path: Path) -> frozenset[str]:
        if path not in self._defined:
            try:
                with opened(path) as elf:
                    self._defined[path] = frozenset(elf.defined_versions())
            except ElfError:
                self._defined[path] = frozenset()
        return self._defined[path]


def _archs(elf: Elf) -> frozenset[str]:
    try:
        return architectures(elf)
    except ElfError:
        return frozenset()
