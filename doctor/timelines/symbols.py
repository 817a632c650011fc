"""Say which releases of torch and of the CUDA libraries export a symbol, and whose a symbol is.

The data comes from the published wheels for Linux on x86-64 (docs/timelines.md). It is read when
the first question is asked.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from doctor.timelines.demangling import demangled
from doctor.timelines.symbol_data import Data, Entry, Package, data, is_new_abi

_MOST_SYMBOLS = 4096
_LONGEST = 8192


class Range(NamedTuple):
    """The releases of a package that export a symbol, or all of several symbols.

    `package` is a key such as torch, cudart or cublas, `library` the file that exports it, and
    `first` and `last` the ends of `releases`, which need not follow each other. Where `other_abi`
    is true, these releases export it under the other C++ ABI only. `other_releases` are those that
    do so beside `releases`. Where `is_latest` is true, `last` is the newest release in the data, so
    that later ones may export it as well; `is_earliest` says the same of the oldest.
    """

    package: str
    library: str
    first: str
    last: str
    releases: tuple[str, ...]
    other_abi: bool = False
    other_releases: tuple[str, ...] = ()
    is_latest: bool = False
    is_earliest: bool = False

    @property
    def text(self) -> str:
        """The releases in words: 2.3.0 to 2.7.1, 2.8.0 or later, 2.6.0 or earlier, 2.6.0."""
        if self.is_latest and self.is_earliest:
            return "any known release"
        if self.is_latest:
            return f"{self.first} or later"
        if self.is_earliest:
            return f"{self.last} or earlier"
        return self.first if self.first == self.last else f"{self.first} to {self.last}"


class _Symbol(NamedTuple):
    """A name, and the version after it, as in `cudaMalloc, version libcudart.so.12`."""

    name: str
    version: str


_VERSIONED = re.compile(
    r"^(?P<name>[^,@\s]{1,8192})(?:,\s{0,3}version\s{1,3}|@{1,2})(?P<version>\S{1,200})$"
)


def exporters(symbol: str) -> Range | None:
    """Return the releases that export a symbol, or None where no known release does.

    The symbol stands as the loader writes it, with or without its version:
    `cudaLaunchKernelExC, version libcudart.so.12`.
    """
    known = data()
    if known is None:
        return None
    asked = _parsed(symbol)
    found = [*_sets(known, asked)]
    if not found:
        return None
    owner = _owner(asked)
    best = next((one for one in found if one.package.name == owner), found[0])
    return _range(best.package, best.library, best.direct, best.other)


class _Sets(NamedTuple):
    """The releases of a package that export a symbol, as sets of bits."""

    package: Package
    library: str
    direct: int
    other: int


def _sets(known: Data, symbol: _Symbol) -> Iterator[_Sets]:
    for entry in known.entries(symbol.name):
        package = known.packages[entry.package]
        mask = _with_version(package, symbol.version)
        direct, other = _forms(entry, symbol.name)
        if (direct | other) & mask and entry.library < len(package.libraries):
            yield _Sets(package, package.libraries[entry.library], direct & mask, other & mask)


def _forms(entry: Entry, name: str) -> tuple[int, int]:
    return (entry.new, entry.old) if is_new_abi(name) else (entry.old, entry.new)


def _with_version(package: Package, version: str) -> int:
    everything = (1 << len(package.releases)) - 1
    if not version:
        return everything
    return sum(1 << place for place, names in enumerate(package.versions) if version in names)


def _range(package: Package, library: str, direct: int, other: int) -> Range | None:
    releases, others = _releases(package, direct), _releases(package, other)
    chosen = releases or others
    if not chosen:
        return None
    return Range(
        package=package.name,
        library=library,
        first=chosen[0],
        last=chosen[-1],
        releases=chosen,
        other_abi=not releases,
        other_releases=others if releases else (),
        is_latest=chosen[-1] == package.releases[-1],
        is_earliest=chosen[0] == package.releases[0],
    )


def _releases(package: Package, bits: int) -> tuple[str, ...]:
    return tuple(name for place, name in enumerate(package.releases) if bits >> place & 1)


def built_for(symbols: Iterable[str], *, package: str = "", installed: str = "") -> Range | None:
    """Return the releases of one package that export all of these symbols.

    These are the releases for which a file with these unresolved symbols was built. Names that no
    release exports do not count. Without `package`, it is the one that most of the symbols belong
    to. `installed` is the release that is here, and is left out: it lacks the symbols. None where
    no release exports them all.
    """
    known = data()
    if known is None:
        return None
    found: list[list[_Sets]] = []
    for number, symbol in enumerate(symbols):
        if number == _MOST_SYMBOLS:
            break
        sets = [*_sets(known, _parsed(symbol))]
        owner = _owner(_parsed(symbol))
        found.append([one for one in sets if one.package.name == owner] or sets)
    chosen = package or _most_common(found)
    of_package = [one for sets in found for one in sets if one.package.name == chosen]
    if not of_package:
        return None
    direct = either = -1
    for one in of_package:
        direct &= one.direct
        either &= one.direct | one.other
    its = of_package[0].package
    missing = sum(1 << place for place, name in enumerate(its.releases) if name == installed)
    # A name without any text in it is the same in both ABIs, so only the names with text decide.
    other = either & ~direct
    libraries = Counter(one.library for one in of_package)
    return _range(its, libraries.most_common(1)[0][0], direct & ~missing, other)


def _most_common(found: list[list[_Sets]]) -> str:
    counts = Counter(sets[0].package.name for sets in found if sets)
    # An extension of torch calls the CUDA runtime as well, so torch comes first.
    return "torch" if counts["torch"] else next((name for name, _ in counts.most_common(1)), "")


def readable(symbol: str) -> str:
    """Return the readable form of a symbol, or the symbol as it is where it is not mangled."""
    asked = _parsed(symbol)
    return demangled(asked.name) or asked.name


def owner_of(symbol: str) -> str:
    """Return to which library a symbol belongs, by its name, or "" for the package's own.

    One of torch, cudart, cublas and the other keys of the data, `nvidia driver`, `python`, `glibc`,
    `c++ standard library`, `openmp`, `mkl` and `triton`.
    """
    asked = _parsed(symbol)
    owner = _owner(asked)
    if owner:
        return owner
    known = data()
    found = [*_sets(known, asked)] if known is not None else []
    return found[0].package.name if found else ""


def _owner(symbol: _Symbol) -> str:
    for pattern, owner in _OWNERS_BY_VERSION:
        if pattern.match(symbol.version):
            return owner
    for pattern, owner in _OWNERS_BY_NAME:
        if pattern.match(symbol.name):
            return owner
    return ""


def _parsed(symbol: str) -> _Symbol:
    text = symbol.strip()[:_LONGEST]
    match = _VERSIONED.match(text)
    return _Symbol(match["name"], match["version"]) if match else _Symbol(text, "")


_SONAMES = {
    "cudart": "cudart",
    "cublas(?:Lt)?": "cublas",
    "cudnn\\w*": "cudnn",
    "cufftw?": "cufft",
    "curand": "curand",
    "cusolver(?:Mg)?": "cusolver",
    "cusparse": "cusparse",
    "cusparseLt": "cusparselt",
    "nvJitLink": "nvjitlink",
    "nvrtc": "nvrtc",
    "nccl": "nccl",
    "nvshmem\\w*": "nvshmem",
    "cupti": "cupti",
    "cuda": "nvidia driver",
}
_OWNERS_BY_VERSION = (
    (re.compile(r"GLIBC_"), "glibc"),
    (re.compile(r"GLIBCXX_|CXXABI_"), "c++ standard library"),
    (re.compile(r"G?OMP_\d"), "openmp"),
    *((re.compile(rf"lib{name}\.so"), owner) for name, owner in _SONAMES.items()),
)
_SCOPE = r"_Z(?:T[VTISCWH]|G[VR]|Th?n?\d{0,9}_)?"
_OWNERS_BY_NAME = (
    (
        re.compile(
            rf"{_SCOPE}N[rVKRO]{{0,5}}(?:2at|3c10|4c10d|5torch|6caffe2)[0-9A-Za-z]"
            r"|aoti_torch_\w|torch_(?:get|call|new|delete|library|list|string|from|parallel)_"
            r"|_?_?Z?\d{0,3}THP[A-Z]\w|THCP[A-Z]\w"
        ),
        "torch",
    ),
    (re.compile(rf"{_SCOPE}N?[rVKRO]{{0,5}}(?:4mlir|6triton|4llvm)(?:\d|[A-Z])"), "triton"),
    (
        re.compile(
            rf"{_SCOPE}N?[rVKRO]{{0,5}}(?:St|S[absiod](?:[CD]\d|\d)|10__cxxabiv1|9__gnu_cxx)"
            r"|__cxa_|__gxx_|__dynamic_cast|_Zn[wa]|_Zd[la]"
        ),
        "c++ standard library",
    ),
    (re.compile(r"_?_?Py[A-Z_]\w|PyInit_"), "python"),
    (re.compile(r"__libc_|__stack_chk|__isoc|__\w{1,40}_chk$|__glibc|__errno_location"), "glibc"),
    (re.compile(r"GOMP_|omp_[gsiud]|__kmpc_"), "openmp"),
    (re.compile(rf"{_SCOPE}N[rVKRO]{{0,5}}3MPI[\dCD]|ompi_mpi_|MPI_[A-Z]"), "mpi"),
    (re.compile(r"mkl_[a-z]|iJIT_"), "mkl"),
    (re.compile(r"_?_?nvJitLink"), "nvjitlink"),
    (re.compile(r"nvrtc[A-Z]"), "nvrtc"),
    (re.compile(r"p?nccl[A-Z]"), "nccl"),
    (re.compile(r"cublas[A-Z]|nvblas"), "cublas"),
    (re.compile(r"cudnn[A-Z]|_ZN?[RKV]{0,3}5cudnn"), "cudnn"),
    (re.compile(r"cusparseLt[A-Z]"), "cusparselt"),
    (re.compile(r"cusparse[A-Z]"), "cusparse"),
    (re.compile(r"cusolver[A-Z]"), "cusolver"),
    (re.compile(r"cufftw?[A-Z]"), "cufft"),
    (re.compile(r"curand[A-Z]"), "curand"),
    (re.compile(r"cupti[A-Z]"), "cupti"),
    (re.compile(r"nvshmemx?i?_\w"), "nvshmem"),
    # nvcc gives each file such names, and a link of device code without them leaves them open.
    (re.compile(r"_?_?cudaRegisterLinkedBinary|__fatbinwrap"), ""),
    (re.compile(r"_?_?cuda[A-Z]"), "cudart"),
    (re.compile(r"cu[A-Z][a-z]\w|nvml[A-Z]"), "nvidia driver"),
)
