"""Look up libraries in the dynamic loader's cache file, without starting `ldconfig -p`.

The layout is that of `struct cache_file_new` and `struct file_entry_new` in glibc's dl-cache.h
(https://sourceware.org/git/?p=glibc.git;a=blob;f=sysdeps/generic/dl-cache.h).
musl has no such file, and its loader none of these rules: there the answer is empty.
"""

from __future__ import annotations

import os
import platform
import re
import struct
from collections.abc import Iterator, Mapping
from functools import lru_cache
from types import MappingProxyType

from doctor.host.access import Host

_CACHE = "/etc/ld.so.cache"
_MAGIC = b"glibc-ld.so.cache1.1"
# Magic and version, number of entries, bytes of strings; flags and reserved words are skipped.
_HEADER = struct.Struct("<20sII20x")
# Flags, name, path, OS version (unused since glibc 2.33), hardware capabilities. Name and path are
# offsets from the header.
_ENTRY = struct.Struct("<iIIIQ")
# FLAG_X8664_LIB64 and FLAG_AARCH64_LIB64: a cache lists the 32-bit libraries as well.
_WIDTHS = {"x86_64": 0x0300, "aarch64": 0x0A00}
_FOLDERS = ("/lib64", "/usr/lib64", "/lib", "/usr/lib")
_OF_DEBIAN = {"x86_64": "x86_64-linux-gnu", "aarch64": "aarch64-linux-gnu"}
"""Folders of libraries below /lib and /usr/lib that the loader of Debian and Ubuntu searches."""


def _text(data: bytes, at: int) -> str:
    return data[at : data.find(b"\0", at)].decode("utf-8", "replace")


def _entries(data: bytes, machine: str) -> Iterator[tuple[str, str]]:
    # `ldconfig -c compat`, the default before glibc 2.32, writes the older layout first. Offsets
    # count from the newer header behind it.
    start = data.find(_MAGIC)
    if start < 0:
        return
    data = data[start:]
    _, count, _ = _HEADER.unpack_from(data)
    wanted = _WIDTHS.get(machine)
    for index in range(min(count, (len(data) - _HEADER.size) // _ENTRY.size)):
        flags, name, path, _, _ = _ENTRY.unpack_from(data, _HEADER.size + index * _ENTRY.size)
        if wanted is None or flags & 0xFF00 == wanted:
            yield _text(data, name), _text(data, path)


@lru_cache(maxsize=4)
def loader_cache(host: Host) -> Mapping[str, tuple[str, ...]]:
    """Return the paths behind every library name in the loader's cache.

    Empty where there is no glibc cache.
    """
    data = host.read_bytes(_CACHE, limit=8 << 20)
    found: dict[str, tuple[str, ...]] = {}
    try:
        for name, path in _entries(data or b"", platform.machine()):
            found[name] = (*found.get(name, ()), path)
    except struct.error:
        return MappingProxyType({})
    return MappingProxyType(found)


def search_folders(host: Host, variable: str) -> tuple[str, ...]:
    """Return the non-empty folders of an environment variable such as LD_LIBRARY_PATH."""
    separator = f"[{re.escape(os.pathsep)};]"
    return tuple(part for part in re.split(separator, host.env.get(variable, "")) if part)


def _default_folders() -> tuple[str, ...]:
    own = _OF_DEBIAN.get(platform.machine())
    return (*((f"/lib/{own}", f"/usr/lib/{own}") if own else ()), *_FOLDERS)


def find_library(host: Host, name: str) -> str | None:
    """Return the file that `dlopen(name)` takes.

    The order is LD_LIBRARY_PATH, the loader's cache, the default folders.
    """
    candidates = (
        *(f"{folder.rstrip('/')}/{name}" for folder in search_folders(host, "LD_LIBRARY_PATH")),
        *loader_cache(host).get(name, ()),
        *(f"{folder}/{name}" for folder in _default_folders()),
    )
    return next((path for path in candidates if host.exists(path)), None)
