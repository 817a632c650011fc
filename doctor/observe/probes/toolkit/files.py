"""Find the parts of a CUDA toolkit that a build of a torch extension lacks.

Each file was removed once from a CUDA 13.0 toolkit to see what breaks. libdevice and
libcudart_static are not here because nothing did. nvlink, link.stub and libcudadevrt.a matter to
builds that let nvcc link.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec

from doctor.host import Host
from doctor.observe.binaries.loader_cache import search_folders
from doctor.observe.probes.toolkit import headers

_TOOLS = {
    "bin/nvcc": "nvcc",
    "bin/ptxas": "nvcc",
    "bin/cudafe++": "nvcc",
    "bin/fatbinary": "nvcc",
    "bin/nvlink": "nvcc",
    "bin/nvcc.profile": "nvcc",
    "bin/crt/link.stub": "nvcc",
    "nvvm/bin/cicc": "nvvm",
}
_LINKED, _DEVICE = "libcudart.so", "libcudadevrt.a"
_DEBIAN = "lib/nvidia-cuda-toolkit/bin"
_LINKER_FOLDERS = (
    "/usr/local/lib",
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/lib64",
    "/usr/lib64",
    "/usr/lib",
)


class MissingParts(msgspec.Struct, frozen=True, kw_only=True):
    """Missing parts of a toolkit: files with their component, and libraries.

    Misplaced libraries have their place.
    """

    missing: Mapping[str, str]
    unlinkable: tuple[str, ...]
    link_source: tuple[str, ...]
    lib_dir: str | None


def holding(host: Host, root: str, torch: Path | None) -> MissingParts:
    """Look through the toolkit at `root`.

    `torch` is the folder of the package that is to be extended, if there is one.
    """
    folder = lib_dir(host, root)
    sources = tuple(_versioned(host, root))
    places = (
        *([folder] if folder else ()),
        *search_folders(host, "LIBRARY_PATH"),
        *_LINKER_FOLDERS,
    )
    linkable = any(host.exists(f"{place}/{_LINKED}") for place in places)
    lacking = {**_lacking_tools(host, root), **headers.lacking(host, root, torch)}
    if not linkable and not sources:
        lacking[f"{Path(folder or 'lib64').name}/{_LINKED}"] = "runtime"
    if not _is_wrapper(host, root) and not any(
        host.exists(f"{place}/{_DEVICE}") for place in (*places, *_library_folders(host, root))
    ):
        lacking[f"{Path(folder or 'lib64').name}/{_DEVICE}"] = "runtime"
    return MissingParts(
        missing=lacking,
        unlinkable=() if linkable else (_LINKED,),
        link_source=() if linkable else sources,
        lib_dir=folder,
    )


def lib_dir(host: Host, root: str) -> str | None:
    """Return the folder that torch hands to the linker: lib64, or lib where there is no lib64."""
    return next(
        (f"{root}/{name}" for name in ("lib64", "lib") if host.exists(f"{root}/{name}")), None
    )


def _versioned(host: Host, root: str) -> Iterator[str]:
    for folder in _library_folders(host, root):
        names = [name for name in host.list(folder) if name.startswith(f"{_LINKED}.")]
        # The shortest name is the one that the loader knows as well: libcudart.so.13, not
        # libcudart.so.13.0.96.
        if names:
            yield f"{folder}/{min(names, key=len)}"
            return


def _library_folders(host: Host, root: str) -> tuple[str, ...]:
    return (f"{root}/lib64", f"{root}/lib", *map(str, host.glob(f"{root}/targets", "*/lib")))


def _lacking_tools(host: Host, root: str) -> dict[str, str]:
    if _is_wrapper(host, root):
        return {}
    bins = f"{root}/{_DEBIAN}" if host.exists(f"{root}/{_DEBIAN}") else f"{root}/bin"
    places = {
        name: (f"{root}/{name}", f"{bins}/{name.removeprefix('bin/').removeprefix('nvvm/bin/')}")
        for name in _TOOLS
    }
    return {
        name: owner for name, owner in _TOOLS.items() if not any(map(host.exists, places[name]))
    }


def _is_wrapper(host: Host, root: str) -> bool:
    """Say whether bin/nvcc is a wrapper (a script, ccache) around the real one."""
    nvcc, names = f"{root}/bin/nvcc", ("ptxas", "cudafe++", "fatbinary", "nvcc.profile")
    if host.exists(f"{root}/{_DEBIAN}") or any(host.exists(f"{root}/bin/{name}") for name in names):
        return False
    starts = host.read_bytes(nvcc, limit=2)
    return starts == b"#!" or (starts is not None and "nvcc" not in host.at(nvcc).resolve().name)


def newest_compilers(host: Host, root: str) -> tuple[str | None, dict[str, int]]:
    """Return the path of crt/host_config.h, and the newest gcc and clang majors that it accepts."""
    path = headers.header(host, root, "crt/host_config.h")
    text = (host.read(path, limit=1 << 18) or "") if path else ""
    found: dict[str, int] = {}
    if gcc := re.findall(r"^#if\s+__GNUC__\s*>\s*([0-9]{1,4})", text, re.MULTILINE):
        found["gcc"] = int(gcc[-1])
    # The last of these is for clang itself; the one before it is for a compiler derived from it.
    if clang := re.findall(r"^#if\s+\(__clang_major__\s*>=\s*([0-9]{1,4})\)", text, re.MULTILINE):
        found["clang"] = int(clang[-1]) - 1
    return path, found
