"""Encode what libraries export as the file of `doctor.timelines.symbol_data`."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import NamedTuple

from doctor.timelines.build.wheel_symbols import Exported
from doctor.timelines.symbol_data import (
    HEAD,
    LAYOUT,
    MARK,
    MOST_RELEASES,
    PATTERN,
    RECORD,
    Entry,
    is_new_abi,
    key_of,
)

# Of two libraries that export a name, the first of these is the one to speak of.
_PREFERENCE = ("libc10.so", "libc10_cuda.so", "libtorch_cpu.so", "libtorch_cuda", "libtorch_python")
# Parts and beginnings of names that no file outside of torch asks for: what nvcc makes of kernels,
# lambdas, static variables, names of types beside their descriptions, and libraries inside it.
_INTERNAL_PARTS = ("_GLOBAL__", "__nv_", "__device_stub", "EUl", "KUl", "IUl", "_Ul")
_INTERNAL_BEGINNINGS = ("_ZZ", "_ZNZ", "_ZGVZ", "_ZGVNZ", "_ZTS")
_INSIDE = (
    *("mkl", "MKL", "Sleef", "magma", "uv_", "xnn_", "itt", "LLVM", "cusolver", "cusparse", "cuds"),
)
_KERNELS = ("_ZN2at6native", "_ZNK2at6native")
_MOST_PATTERNS = 1 << 16


class Library(NamedTuple):
    """A library of a release; `exported` is None where it was not read."""

    package: str
    release: str
    source: str
    name: str
    exported: Exported | None


class _Package:
    """What was read of a package so far; libraries come in the order of the releases."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.releases: dict[str, str] = {}
        self.libraries: dict[str, int] = {}
        self.versions: dict[str, dict[str, None]] = {}
        self.unread: list[str] = []
        self.entries: dict[bytes, tuple[int, int, int]] = {}

    def add(self, library: Library) -> None:
        """Add what one library of a release exports."""
        self.releases.setdefault(library.release, library.source)
        if len(self.releases) > MOST_RELEASES:
            raise ValueError(f"{self.name} has more than {MOST_RELEASES} releases")
        number = self.libraries.setdefault(_stem(library.name), len(self.libraries))
        versions = self.versions.setdefault(library.release, {})
        if library.exported is None:
            self.unread.append(f"{library.release} {library.name}")
            return
        versions.update(dict.fromkeys(library.exported.versions))
        bit = 1 << [*self.releases].index(library.release)
        for symbol in library.exported.symbols:
            if _is_internal(symbol, self.name):
                continue
            key, is_new = key_of(symbol), is_new_abi(symbol)
            at, old, new = self.entries.get(key, (number, 0, 0))
            if not (old | new) & bit or _rank(self, number) < _rank(self, at):
                at = number
            self.entries[key] = (at, old | (0 if is_new else bit), new | (bit if is_new else 0))


def _is_internal(symbol: str, package: str) -> bool:
    if package != "torch":
        # The CUDA libraries have interfaces in C. Only the parts of cuDNN ask each other for more.
        return symbol.startswith("_Z") and package != "cudnn"
    return (
        symbol.startswith(_INTERNAL_BEGINNINGS)
        or symbol.lstrip("_").startswith(_INSIDE)
        or any(part in symbol for part in _INTERNAL_PARTS)
        # Kernels are templates that return void.
        or (symbol.startswith(_KERNELS) and "EEv" in symbol)
        # Variants of a function for vectors have letters after _ZGV, guards of variables have not.
        or (symbol.startswith("_ZGV") and symbol[4:5].islower())
    )


def _stem(name: str) -> str:
    return name.partition(".so")[0] + ".so"


def _rank(package: _Package, number: int) -> int:
    name = [*package.libraries][number]
    for rank, prefix in enumerate(_PREFERENCE):
        if name.startswith(prefix):
            return rank
    return len(_PREFERENCE)


def encoded(libraries: Iterable[Library], day: str) -> bytes:
    """Return the content of the file, made on a `day`."""
    packages: dict[str, _Package] = {}
    for library in libraries:
        packages.setdefault(library.package, _Package(library.package)).add(library)
    patterns: dict[Entry, int] = {}
    records: list[tuple[bytes, int]] = []
    for number, package in enumerate(packages.values()):
        for key, (at, old, new) in package.entries.items():
            pattern = patterns.setdefault(Entry(number, at, old, new), len(patterns))
            records.append((key, pattern))
    if len(patterns) > _MOST_PATTERNS:
        raise ValueError(f"{len(patterns)} patterns do not fit into 16 bits")
    header = json.dumps(
        {"date": day, "packages": [_header(package) for package in packages.values()]},
        separators=(",", ":"),
    ).encode()
    return b"".join(
        (
            HEAD.pack(MARK, LAYOUT, len(header), len(records), len(patterns)),
            header,
            *(RECORD.pack(*record) for record in sorted(records)),
            *(PATTERN.pack(*pattern) for pattern in patterns),
        )
    )


def _header(package: _Package) -> dict[str, object]:
    return {
        "name": package.name,
        "releases": [*package.releases],
        "sources": [*package.releases.values()],
        "libraries": [*package.libraries],
        "versions": [[*package.versions[release]] for release in package.releases],
        "unread": package.unread,
    }
