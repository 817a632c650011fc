"""For which GPUs an ELF file holds code: the headers of the fat binaries that nvcc put into it."""

from __future__ import annotations

import struct
from collections.abc import Iterator

from doctor.elf import Elf, ElfError

_SECTIONS = (".nv_fatbin", "__nv_relfatbin")
_MAGIC = 0xBA55ED50
_HEAD, _ENTRY = struct.Struct("<IHHQ"), struct.Struct("<HHIQ12xI")
_KINDS = {1: "compute", 2: "sm"}
_ALIGNED = 8
_MOST_ENTRIES = 1 << 17
_MOST_PADDING = 1 << 12


def architectures(elf: Elf) -> frozenset[str]:
    """Return what the file holds GPU code for: `sm_90` is machine code, `compute_90` PTX; empty where it holds none.

    Only headers are read, never the code. A header does not tell `sm_90a` from `sm_90`. Raises `ElfError` where the headers make no sense.
    """
    found: set[str] = set()
    for name in _SECTIONS:
        at, size = elf.span(name)
        if size:
            elf.take(at + size - 1, 1)
            found.update(_entries(elf, at, at + size))
    return frozenset(found)


def _entries(elf: Elf, at: int, end: int) -> Iterator[str]:
    budget = _MOST_ENTRIES
    while at + _HEAD.size <= end:
        magic, _, head, size = _HEAD.unpack(elf.take(at, _HEAD.size))
        if magic != _MAGIC:
            at = _next_fat_binary(elf, at, end)
            continue
        place, stop = at + head, min(at + head + size, end)
        while place + _ENTRY.size <= stop and budget:
            kind, _, length, body, number = _ENTRY.unpack(elf.take(place, _ENTRY.size))
            if not length or length + body > end - place:
                raise ElfError(f"a fat binary whose entry at {place} has {length} + {body} bytes")
            if kind in _KINDS and number:
                yield f"{_KINDS[kind]}_{number}"
            place, budget = place + length + body, budget - 1
        at = max(stop, at + _HEAD.size)


def _next_fat_binary(elf: Elf, at: int, end: int) -> int:
    """Skip the padding between two fat binaries; what follows it must be one."""
    padding = elf.take(at, min(_MOST_PADDING, end - at))
    rest = padding.lstrip(b"\0")
    if rest and len(rest) < len(padding):
        return at + (len(padding) - len(rest)) // _ALIGNED * _ALIGNED
    if rest:
        raise ElfError(f"no fat binary at {at}")
    return at + len(padding)
