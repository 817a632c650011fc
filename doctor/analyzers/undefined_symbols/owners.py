"""Whose a symbol is, where the data of the wheels does not know: prefixes of C libraries."""

from __future__ import annotations

import re

from doctor.base.patterns import compile_pattern
from doctor.timelines.names import distribution_of
from doctor.timelines.symbols import owner_of, readable

_FEW = 3
_SEPARATOR = re.compile(r"[/\\]")
_LIBRARIES: tuple[tuple[str, str], ...] = (
    (r"_?THC?[A-Z][a-z]\w|_THC?\w|THCState", "torch before 1.11 (TH and THC)"),
    (r"ffi_\w", "libffi"),
    (r"(?:tputs|tgetent|tgetnum|tgetflag|_nc_|nc_|UP$|BC$|PC$)", "ncurses (libtinfo)"),
    (r"(?:rl_|history_)", "readline"),
    (r"(?:u|ucnv|ucol|uloc|unorm2?|ubrk|uset)_\w{1,60}_\d{2}$|_ZN?K?\d{0,3}icu_\d{2}", "ICU"),
    (r"(?:SSL|EVP|CRYPTO|OPENSSL|BIO|X509|ERR|RSA|EC|SSL_CTX)_\w", "OpenSSL"),
    (r"sqlite3_\w", "SQLite"),
    (r"(?:jpeg|jinit|jsimd)_\w", "libjpeg"),
    (r"(?:TIFF|_TIFF)\w", "libtiff"),
    (r"png_\w", "libpng"),
    (r"(?:ZSTD|ZSTDMT)_\w", "zstd"),
    (r"BZ2_\w", "bzip2"),
    (r"lzma_\w", "liblzma"),
    (r"(?:inflate|deflate|gz|crc32|adler32|zlib)\w{0,20}$", "zlib"),
    (r"XML_\w", "expat"),
    (r"g_\w{1,60}$", "GLib"),
    (
        (
            r"(?:cblas_\w|LAPACKE_\w|openblas_\w|[sdcz](?:gemm|gemv|dot|axpy|scal|getrf|gesdd|gesv|syev"
            r"|potrf|geqrf|gels\w?|heevd|trsm)_?(?:64_)?$"
            r"|[sdcz](?:ge|gb|gt|po|pp|pb|pt|sy|he|sp|hp|st|tr|tp|tb|tg|or|un|op|up|la|bd|hs)"
            r"[a-z0-9]{1,4}_$)"
        ),
        "BLAS or LAPACK",
    ),
    (r"(?:mkl_|MKL_|VSL|vsl|vml|vmd|vms|DFTI|Dfti)\w", "MKL"),
    (r"(?:iJIT_|__itt_)\w", "Intel's profiling library (ittnotify, a part of MKL 2024.0)"),
    (r"(?:MPI|PMPI|ompi|opal|orte|mca)_\w", "MPI"),
    (r"(?:ucp|ucs|uct|ucm|ucc)_\w", "UCX"),
    (r"(?:ibv|mlx5dv|rdma)_\w", "libibverbs"),
    (r"(?:av|avcodec|avformat|avutil|sws|swr|avio|av_)_\w", "FFmpeg"),
    (r"(?:hip|__hip)[A-Z]\w", "the HIP runtime"),
    (r"(?:roc|hip)(?:blas|fft|rand|solver|sparse)_?\w", "ROCm's math libraries"),
    (r"hsa_\w", "the ROCm runtime (HSA)"),
    (r"__(?:oclc|ockl|ocml)_\w", "ROCm's device libraries"),
    (r"_ZNK?\d{0,2}(?:10tensorflow|5tensorflow)|_ZNK?10tensorflow", "TensorFlow"),
    (r"_ZNK?6google8protobuf|_ZT[IVS]N6google8protobuf", "protobuf"),
    (r"_ZN6google(?:14Flag|\d{1,2}(?:RegisterFlag|ParseCommandLine))|_ZN6gflags", "gflags"),
    (r"_ZNK?6google(?:4base|10LogMessage|\d{1,2}(?:InitGoogle|Install|Raw|Errno))", "glog"),
    (r"_ZNK?4absl", "Abseil"),
    (r"_ZNK?5arrow", "Arrow"),
    (r"_ZNK?2cv", "OpenCV"),
    (r"_ZNK?5boost6python", "Boost.Python"),
    (r"_ZNK?5boost", "Boost"),
    (r"_ZNK?3fmt", "fmt"),
    (r"_ZNK?3tbb", "TBB"),
    (r"_ZNK?8nvinfer1|_ZNK?15nvonnxparser", "TensorRT"),
    (r"_ZNK?4dnnl|dnnl_\w", "oneDNN"),
    (
        r"_ZNK?4sycl|_ZNK?2cl4sycl|_ZN?K?\d?\d?sycl|ur[A-Z]\w|pi[A-Z]\w",
        "oneAPI's SYCL runtime",
    ),
    (r"Ort(?:Get|Session)\w", "ONNX Runtime"),
    (r"Z?H5[A-Z]{1,2}\w", "HDF5"),
    (r"nc_\w|NC_\w", "netCDF"),
    (r"numa_\w", "libnuma"),
    (r"nvtx\w|_ZN?4nvtx", "NVTX"),
    (r"cutensor\w", "cuTENSOR"),
    (r"npp[isc_]\w", "NPP"),
    (r"nvjpeg\w", "nvJPEG"),
    (r"cuFile\w", "cuFile"),
)


_VERSIONS: tuple[tuple[str, str], ...] = (
    ("LIBJPEG", "libjpeg"),
    ("LIBJPEGTURBO", "libjpeg"),
    ("LIBTIFF", "libtiff"),
    ("PNG16", "libpng"),
    ("OPENSSL_", "OpenSSL"),
    ("LIBFFI_", "libffi"),
    ("LIBXML2_", "libxml2"),
    ("CURL_", "libcurl"),
    ("ZLIB_", "zlib"),
    ("XZ_", "liblzma"),
    ("ZSTD_", "zstd"),
    ("LIBAV", "FFmpeg"),
    ("LIBSW", "FFmpeg"),
    ("NCURSES", "ncurses (libtinfo)"),
    ("LIBARCHIVE_", "libarchive"),
    ("krb5_", "Kerberos"),
    ("gssapi_krb5_", "Kerberos"),
    ("k5crypto_", "Kerberos"),
    ("GFORTRAN_", "libgfortran"),
    ("GOMP_", "libgomp"),
    ("GNUTLS_", "GnuTLS"),
    ("NETTLE_", "Nettle"),
    ("HOGWEED_", "Nettle"),
    ("UUID_", "libuuid"),
    ("LIBSYSTEMD_", "systemd"),
    ("IBVERBS_", "libibverbs"),
    ("libnuma_", "libnuma"),
    ("ALSA_", "ALSA"),
)
"""Which library a version of a symbol belongs to, by its beginning (ld.so prints it behind)."""


def library_of(symbol: str) -> str:
    """Return the common library that a symbol belongs to by its name; empty where none does."""
    name, _, version = symbol.partition(", version ")
    if of_version := next((one for start, one in _VERSIONS if version.startswith(start)), ""):
        return of_version
    name = name.partition(",")[0].strip()
    return next(
        (
            library
            for pattern, library in _LIBRARIES
            if compile_pattern(f"^(?:{pattern})").search(name)
        ),
        "",
    )


def file_name(path: str) -> str:
    """Return a file's name, with the folder of its package: many call their extension _C."""
    parts = _SEPARATOR.split(path)
    inside = [at for at, part in enumerate(parts) if part in ("site-packages", "dist-packages")]
    below = parts[inside[-1] + 1 :] if inside else parts[-1:]
    return "/".join(below if len(below) <= _FEW else parts[-1:]) or "A compiled file"


_INSTALLED = re.compile(r"[/\\](?:site|dist)-packages[/\\](\w{2,60})(?:[/\\.])")


def distribution_at(path: str) -> str:
    """Return the known distribution whose installed file a path is; empty where none is known."""
    inside = _INSTALLED.search(path)
    return (distribution_of(inside[1]) or "") if inside else ""


def owner(symbol: str) -> str:
    """Return whose a symbol is: a key of the data, a common library, or "" for the package."""
    return owner_of(symbol) or library_of(symbol)


def short(symbol: str, most: int = 90) -> str:
    """Return the readable form of a symbol without the arguments, cut to a length."""
    text = readable(symbol)
    name = text.partition("(")[0] if len(text) > most else text
    return name if len(name) <= most else f"{name[: most - 1]}…"
