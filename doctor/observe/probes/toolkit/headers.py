"""Find the CUDA headers that a build of a torch extension lacks.

Each was taken away from a CUDA 13.0 toolkit once, to see a build stop. include/nv, nvtx3,
cuda_fp4.h, cuda_fp6.h and cuda_fp8.h are not here: nothing did.
"""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path

from doctor.host import Host
from doctor.host.reading import SOURCE
from doctor.observe.binaries.loader_cache import search_folders

_LONGEST = 1 << 20
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
_ASKED_FOR = {
    "builtin_types.h": "device_types.h surface_types.h texture_types.h",
    "crt/device_double_functions.h": "crt/device_double_functions.hpp",
    "crt/device_functions.h": "crt/cudacc_ext.h crt/device_functions.hpp crt/sm_100_rt.h "
    "crt/sm_70_rt.h crt/sm_80_rt.h crt/sm_90_rt.h "
    "device_atomic_functions.h sm_20_atomic_functions.h sm_20_intrinsics.h sm_30_intrinsics.h "
    "sm_32_atomic_functions.h sm_32_intrinsics.h sm_35_atomic_functions.h sm_35_intrinsics.h "
    "sm_60_atomic_functions.h sm_61_intrinsics.h surface_indirect_functions.h "
    "texture_indirect_functions.h",
    "crt/math_functions.h": "crt/math_functions.hpp",
    "crt/sm_100_rt.h": "crt/sm_100_rt.hpp",
    "crt/sm_70_rt.h": "crt/sm_70_rt.hpp",
    "crt/sm_80_rt.h": "crt/sm_80_rt.hpp",
    "crt/sm_90_rt.h": "crt/sm_90_rt.hpp",
    "cuda_bf16.h": "cuda_bf16.hpp",
    "cuda_fp16.h": "cuda_fp16.hpp",
    "cuda_fp4.h": "cuda_fp4.hpp",
    "cuda_fp6.h": "cuda_fp6.hpp",
    "cuda_fp8.h": "cuda_fp8.hpp",
    "cuda_runtime.h": "channel_descriptor.h device_launch_parameters.h driver_functions.h "
    "vector_functions.h",
    "cuda_runtime_api.h": "cuda_device_runtime_api.h",
    "device_atomic_functions.h": "device_atomic_functions.hpp",
    "device_double_functions.h": "crt/device_double_functions.h",
    "sm_20_atomic_functions.h": "sm_20_atomic_functions.hpp",
    "sm_20_intrinsics.h": "sm_20_intrinsics.hpp",
    "sm_30_intrinsics.h": "sm_30_intrinsics.hpp",
    "sm_32_atomic_functions.h": "sm_32_atomic_functions.hpp",
    "sm_32_intrinsics.h": "sm_32_intrinsics.hpp",
    "sm_60_atomic_functions.h": "sm_60_atomic_functions.hpp",
    "sm_61_intrinsics.h": "sm_61_intrinsics.hpp",
    "vector_functions.h": "vector_functions.hpp",
}
"""What else each header reads.

Releases differ in it, so one is missed only where the header that is there asks for it.
"""
_FOR_TORCH = ("cuda_fp", "cuda_bf")


@lru_cache(maxsize=32)
def include_dirs(host: Host, root: str) -> tuple[str, ...]:
    """Return the folders where nvcc, or the environment, looks for CUDA's headers."""
    own = [f"{root}/include", *(str(path) for path in host.glob(f"{root}/targets", "*/include"))]
    named = [
        folder
        for name in ("CUDA_INC_PATH", "CPATH", "CPLUS_INCLUDE_PATH")
        for folder in search_folders(host, name)
    ]
    return (
        *own,
        *(f"{folder}/cccl" for folder in own),
        *named,
        "/usr/local/include",
        "/usr/include",
    )


def header(host: Host, root: str, name: str) -> str | None:
    """Return the path of a header as this toolkit's nvcc would find it."""
    return next(
        (path for folder in include_dirs(host, root) if host.exists(path := f"{folder}/{name}")),
        None,
    )


def lacking(host: Host, root: str, torch: Path | None) -> dict[str, str]:
    """Return the headers that a build will not find, each with the component that owns it.

    `torch` is the package to be extended.
    """
    wanted = _HEADERS | (_TORCH_HEADERS | _torch_includes(host, torch) if torch else {})
    nested = (
        "cccl/" if host.exists(f"{root}/include/cccl") or _headers_major(host, root) >= 13 else ""
    )
    asked_for = _asked_for(host, root, bare=torch is None)
    return asked_for | {
        f"include/{nested if owner == 'cccl' else ''}{name}": owner
        for name, owner in wanted.items()
        if header(host, root, name) is None
    }


def _torch_includes(host: Host, torch: Path) -> dict[str, str]:
    found: dict[str, str] = {}
    for name in ("CUDAContextLight.h", "CUDAContext.h"):
        text = host.read(torch / "include/ATen/cuda" / name, limit=1 << 18) or ""
        for included in re.findall(r"^[ \t]*#[ \t]*include[ \t]*<(\w+\.h)>", text, re.MULTILINE):
            # A name that is not in the table is optional (cudss.h) or AMD's.
            found |= {
                each: _LIBRARY_HEADERS[each]
                for each in (included, _COMPANIONS.get(included))
                if each in _LIBRARY_HEADERS
            }
    return found


def _asked_for(host: Host, root: str, *, bare: bool) -> dict[str, str]:
    found: dict[str, str] = {}
    for outer, names in _ASKED_FOR.items():
        gone = [name for name in names.split() if header(host, root, name) is None]
        path = (
            header(host, root, outer)
            if gone and not (bare and outer.startswith(_FOR_TORCH))
            else None
        )
        text = (host.read(path, limit=_LONGEST) or "") if path else ""
        asked = set(re.findall(r'^[ \t]*#[ \t]*include[ \t]*["<]([\w./]+)[">]', text, re.MULTILINE))
        named = [name for name in gone if {name, name.removeprefix("crt/")} & asked]
        found |= {
            f"include/{name}": "crt" if name.startswith("crt/") else "runtime" for name in named
        }
    return found


@lru_cache(maxsize=16)
def headers_version(host: Host, root: str) -> str | None:
    """Return major.minor of the headers, as CUDA_VERSION in cuda.h says."""
    path = next(
        (
            f"{folder}/cuda.h"
            for folder in include_dirs(host, root)[:2]
            if host.exists(f"{folder}/cuda.h")
        ),
        None,
    )
    found = (
        re.search(
            r"^#define\s+CUDA_VERSION[ \t]+([0-9]{4,6})",
            host.read(path, limit=SOURCE) or "",
            re.MULTILINE,
        )
        if path
        else None
    )
    return f"{int(found[1]) // 1000}.{int(found[1]) % 1000 // 10}" if found else None


def _headers_major(host: Host, root: str) -> int:
    return int((headers_version(host, root) or "0").partition(".")[0])
