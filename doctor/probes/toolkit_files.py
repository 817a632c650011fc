"""What a CUDA toolkit must hold to build and link a torch extension, who owns each part, and what of it is not there.

Each file was removed once from a CUDA 13.0 toolkit to see what breaks. libdevice, nvtx3, include/nv and libcudart_static are not
here because nothing did.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path

import msgspec

from doctor.host import Host
from doctor.host.loader import search_folders

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
_HEADERS = {
    "cuda_runtime.h": "runtime",
    "cuda_runtime_api.h": "runtime",
    "builtin_types.h": "runtime",
    "driver_types.h": "runtime",
    "library_types.h": "runtime",
    "vector_types.h": "runtime",
    "fatbinary_section.h": "nvcc",
    "crt/host_config.h": "crt",
    "crt/host_defines.h": "crt",
    "crt/host_runtime.h": "crt",
    "crt/storage_class.h": "crt",
    "crt/func_macro.h": "crt",
    "crt/common_functions.h": "crt",
    "crt/device_functions.h": "crt",
    "crt/math_functions.h": "crt",
}
_TORCH_HEADERS = {
    "cuda.h": "runtime",
    "cuda_fp16.h": "runtime",
    "cuda_bf16.h": "runtime",
    "cuComplex.h": "runtime",
    "cuda/std/version": "cccl",
    "thrust/complex.h": "cccl",
    "cub/config.cuh": "cccl",
}
_LIBRARY_HEADERS = {
    "cusparse.h": "cusparse",
    "cublas_v2.h": "cublas",
    "cublas_api.h": "cublas",
    "cublasLt.h": "cublas",
    "cusolverDn.h": "cusolver",
    "cusolver_common.h": "cusolver",
    "curand.h": "curand",
    "cufft.h": "cufft",
    "nvrtc.h": "nvrtc",
}
# Where torch includes the first, the second comes with it.
_COMPANIONS = {"cublas_v2.h": "cublas_api.h", "cusolverDn.h": "cusolver_common.h"}
_LINKED = "libcudart.so"
_DEBIAN = "lib/nvidia-cuda-toolkit/bin"
_LINKER_FOLDERS = (
    "/usr/local/lib",
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/lib64",
    "/usr/lib64",
    "/usr/lib",
)


class Holding(msgspec.Struct, frozen=True, kw_only=True):
    """What a toolkit lacks: files with the component that owns each, libraries the linker does not find, and where they lie."""

    missing: Mapping[str, str]
    unlinkable: tuple[str, ...]
    link_source: tuple[str, ...]
    lib_dir: str | None


def holding(host: Host, root: str, torch: Path | None) -> Holding:
    """Look through the toolkit at `root`; `torch` is the folder of the package that is to be extended, if there is one."""
    folder = lib_dir(host, root)
    sources = tuple(_versioned(host, root))
    places = (*([folder] if folder else ()), *search_folders(host, "LIBRARY_PATH"), *_LINKER_FOLDERS)
    linkable = any(host.exists(f"{place}/{_LINKED}") for place in places)
    lacking = {**_lacking_tools(host, root), **_lacking_headers(host, root, torch)}
    if not linkable and not sources:
        lacking[f"{Path(folder or 'lib64').name}/{_LINKED}"] = "runtime"
    return Holding(
        missing=lacking,
        unlinkable=() if linkable else (_LINKED,),
        link_source=() if linkable else sources,
        lib_dir=folder,
    )


def lib_dir(host: Host, root: str) -> str | None:
    """Return the folder that torch hands to the linker: lib64, or lib where there is no lib64."""
    return next((f"{root}/{name}" for name in ("lib64", "lib") if host.exists(f"{root}/{name}")), None)


@lru_cache(maxsize=32)
def include_dirs(host: Host, root: str) -> tuple[str, ...]:
    """Return the folders where nvcc of this toolkit, or the environment, looks for CUDA's headers."""
    own = [f"{root}/include", *(str(path) for path in host.glob(f"{root}/targets", "*/include"))]
    named = [folder for name in ("CUDA_INC_PATH", "CPATH", "CPLUS_INCLUDE_PATH") for folder in search_folders(host, name)]
    return (*own, *(f"{folder}/cccl" for folder in own), *named, "/usr/local/include", "/usr/include")


def header(host: Host, root: str, name: str) -> str | None:
    """Return the path of a header as this toolkit's nvcc would find it."""
    return next((path for folder in include_dirs(host, root) if host.exists(path := f"{folder}/{name}")), None)


def _versioned(host: Host, root: str) -> Iterator[str]:
    for folder in (f"{root}/lib64", f"{root}/lib", *map(str, host.glob(f"{root}/targets", "*/lib"))):
        names = [name for name in host.list(folder) if name.startswith(f"{_LINKED}.")]
        # The shortest name is the one that the loader knows as well: libcudart.so.13, not libcudart.so.13.0.96.
        if names:
            yield f"{folder}/{min(names, key=len)}"
            return


def _lacking_tools(host: Host, root: str) -> dict[str, str]:
    if _is_wrapper(host, root):
        return {}
    bins = f"{root}/{_DEBIAN}" if host.exists(f"{root}/{_DEBIAN}") else f"{root}/bin"
    places = {name: (f"{root}/{name}", f"{bins}/{name.removeprefix('bin/').removeprefix('nvvm/bin/')}") for name in _TOOLS}
    return {name: owner for name, owner in _TOOLS.items() if not any(map(host.exists, places[name]))}


def _is_wrapper(host: Host, root: str) -> bool:
    """Say whether bin/nvcc is a script or another program (ccache) that starts the real one, whose parts lie elsewhere."""
    nvcc, names = f"{root}/bin/nvcc", ("ptxas", "cudafe++", "fatbinary", "nvcc.profile")
    if host.exists(f"{root}/{_DEBIAN}") or any(host.exists(f"{root}/bin/{name}") for name in names):
        return False
    starts = host.read_bytes(nvcc, limit=2)
    return starts == b"#!" or (starts is not None and "nvcc" not in host.at(nvcc).resolve().name)


def _lacking_headers(host: Host, root: str, torch: Path | None) -> dict[str, str]:
    wanted = _HEADERS | (_TORCH_HEADERS | _torch_includes(host, torch) if torch else {})
    nested = "cccl/" if host.exists(f"{root}/include/cccl") or _headers_major(host, root) >= 13 else ""
    return {
        f"include/{nested if owner == 'cccl' else ''}{name}": owner for name, owner in wanted.items() if header(host, root, name) is None
    }


def _torch_includes(host: Host, torch: Path) -> dict[str, str]:
    found: dict[str, str] = {}
    for name in ("CUDAContextLight.h", "CUDAContext.h"):
        text = host.read(torch / "include/ATen/cuda" / name, limit=1 << 18) or ""
        for included in re.findall(r"^\s*#\s*include\s*<(\w+\.h)>", text, re.MULTILINE):
            # A name that is not in the table is optional (cudss.h) or AMD's.
            found |= {each: _LIBRARY_HEADERS[each] for each in (included, _COMPANIONS.get(included)) if each in _LIBRARY_HEADERS}
    return found


@lru_cache(maxsize=16)
def headers_version(host: Host, root: str) -> str | None:
    """Return major.minor of the headers, as CUDA_VERSION in cuda.h says."""
    path = next((f"{folder}/cuda.h" for folder in include_dirs(host, root)[:2] if host.exists(f"{folder}/cuda.h")), None)
    found = re.search(r"^#define\s+CUDA_VERSION\s+(\d+)", host.read(path) or "", re.MULTILINE) if path else None
    return f"{int(found[1]) // 1000}.{int(found[1]) % 1000 // 10}" if found else None


def _headers_major(host: Host, root: str) -> int:
    return int((headers_version(host, root) or "0").partition(".")[0])


def newest_compilers(host: Host, root: str) -> tuple[str | None, dict[str, int]]:
    """Return the path of crt/host_config.h, and the newest gcc and clang majors that it accepts."""
    path = header(host, root, "crt/host_config.h")
    text = (host.read(path, limit=1 << 18) or "") if path else ""
    found: dict[str, int] = {}
    if gcc := re.findall(r"^#if\s+__GNUC__\s*>\s*(\d+)", text, re.MULTILINE):
        found["gcc"] = int(gcc[-1])
    # The last of these is for clang itself; the one before it is for a compiler derived from it.
    if clang := re.findall(r"^#if\s+\(__clang_major__\s*>=\s*(\d+)\)", text, re.MULTILINE):
        found["clang"] = int(clang[-1]) - 1
    return path, found
