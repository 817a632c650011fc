"""Read from an ELF file the GPU architectures that it holds code for.

nvcc puts fat binaries into the section `.nv_fatbin`, and into `__nv_relfatbin` where device code is
linked apart. NVIDIA does not document the format. These are the fields that open readers name, as
ZLUDA's (https://github.com/vosen/ZLUDA). `cuobjdump --list-elf --list-ptx` shows the same contents
(https://docs.nvidia.com/cuda/cuda-binary-utilities/):

- a container: magic 0xBA55ED50, version (u16), bytes of the header (u16), bytes behind it (u64);
- in it entries: kind (u16; 1 PTX, 2 machine code), version (u16), bytes of the header (u32), bytes
  of the body (u64), and at offset 28 the architecture as a number (u32), 90 for sm_90.

Containers are aligned to eight bytes; zeros lie between them.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

from doctor.observe.binaries.elf import Elf, ElfError

_SECTIONS = (".nv_fatbin", "__nv_relfatbin")
_MAGIC = 0xBA55ED50
_HEAD, _ENTRY = struct.Struct("<IHHQ"), struct.Struct("<HHIQ12xI")
_KINDS = {1: "compute", 2: "sm"}
_ALIGNED = 8
_MOST_ENTRIES = 1 << 17
_MOST_PADDING = 1 << 12


def architectures(elf: Elf) -> frozenset[str]:
    """Return what the file holds GPU code for: `sm_90` is machine code, `compute_90` PTX.

    Empty where it holds none.

    Only headers are read, never the code. A header does not tell `sm_90a` from `sm_90`. Raises
    `ElfError` where the headers make no sense.
    """
    found: set[str] = set()
    for name in _SECTIONS:
        at, size = elf.span(name)
        if size:
            elf.take(at + size - 1, 1)
            found.update(_entries(elf, at, at + size))
    return frozenset(found)


def _entries(elf: Elf, at: int, end: int) -> Iterator[str]:
    for _ in range(_MOST_ENTRIES):
        if at + _HEAD.size > end:
            return
        magic, _, head, size = _HEAD.unpack(elf.take(at, _HEAD.size))
        if magic == _MAGIC:
            stop = min(at + head + size, end)
            yield from _one(elf, at + head, stop)
            at = max(stop, at + _HEAD.size)
        else:
            at += _padding(elf, at, end)


def _one(elf: Elf, at: int, end: int) -> Iterator[str]:
    for _ in range(_MOST_ENTRIES):
        if at + _ENTRY.size > end:
            return
        kind, _, length, body, number = _ENTRY.unpack(elf.take(at, _ENTRY.size))
        if not length or length + body > end - at:
            raise ElfError(f"a fat binary whose entry at {at} has {length} + {body} bytes")
        if kind in _KINDS and number:
            yield f"{_KINDS[kind]}_{number}"
        at += length + body


def _padding(elf: Elf, at: int, end: int) -> int:
    """Return how many bytes lie between two fat binaries.

    Raises `ElfError` where something else does.
    """
    following = elf.take(at, min(_MOST_PADDING, end - at))
    zeros = len(following) - len(following.lstrip(b"\0"))
    if zeros < _ALIGNED and zeros < len(following):
        raise ElfError(f"no fat binary at {at}")
    return zeros if zeros == len(following) else zeros // _ALIGNED * _ALIGNED
