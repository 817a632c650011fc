"""Read the symbols that the libraries in a published wheel export, without the rest of the wheel.

An index that answers range requests gives single members of a wheel. The tables of symbols stand
at the beginning of a library, unless patchelf moved them to its end.
"""

from __future__ import annotations

import io
import re
import struct
from collections.abc import Iterator
from typing import IO, NamedTuple

# Elf64_Sym; Elf64_Verdef and Elf64_Verdaux (LSB 5.0, symbol versioning).
_SYMBOL, _DEFINITION, _AUXILIARY = (
    struct.Struct("<IBBHQQ"),
    struct.Struct("<HHHHIII"),
    struct.Struct("<II"),
)
_GLOBAL, _WEAK, _UNIQUE = 1, 2, 10
_HIDDEN = {1, 2}  # STV_INTERNAL and STV_HIDDEN
_NO_KIND = {3, 4}  # STT_SECTION and STT_FILE
_FEWEST_SYMBOLS = 8
_HEAD = 24 << 20
"""Bytes that hold the tables of every library of NVIDIA's wheels."""

# What every program compiles for itself, and marks of the linker: they tell no release.
_EVERYWHERE = re.compile(
    r"_Z(?:T[VTIS]|G[VR]|GTt|Z)?N?[KVRO]*(?:St|S[absiod]|9__gnu_cxx|10__cxxabiv1)"
    r"|_(?:init|fini|edata|end|_bss_start)$"
)

_LETTERS = frozenset(b"$.@_0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")


class Exported(NamedTuple):
    """What a library exports: names of symbols, and names of the versions that it defines."""

    symbols: tuple[str, ...]
    versions: tuple[str, ...]


class Tables(NamedTuple):
    """The dynamic symbols of a library, their names, and its version definitions."""

    symbols: bytes
    names: bytes
    definitions: bytes


def exported(stream: IO[bytes], *, whole: bool = True) -> Exported | None:
    """Return what a library exports.

    Without `whole`, no more is read of it than its beginning, and None means that the tables stand
    elsewhere.
    """
    head = stream.read(_HEAD)
    rest = stream.read() if whole else b""
    tables = _tables_of(head + rest) if whole or len(head) < _HEAD else _tables_in(head)
    if tables is None:
        return None
    versions = tuple(_definitions(tables))
    return Exported(tuple(sorted(set(_names(tables)) - set(versions))), versions)


def _names(tables: Tables) -> Iterator[str]:
    for at, info, other, section, _, _ in _SYMBOL.iter_unpack(tables.symbols):
        if (
            section
            and info >> 4 in {_GLOBAL, _WEAK, _UNIQUE}
            and info & 15 not in _NO_KIND
            and other & 3 not in _HIDDEN
        ):
            name = _text(tables.names, at)
            if not _EVERYWHERE.match(name):
                yield name


def _text(names: bytes, at: int) -> str:
    return names[at : names.index(b"\0", at)].decode("ascii", "replace")


def _definitions(tables: Tables) -> Iterator[str]:
    at, data = 0, tables.definitions
    while at + _DEFINITION.size <= len(data):
        version, _, _, count, _, names, following = _DEFINITION.unpack_from(data, at)
        if version != 1 or not count or at + names + _AUXILIARY.size > len(data):
            return
        yield _text(tables.names, _AUXILIARY.unpack_from(data, at + names)[0])
        if not following:
            return
        at += following


def _tables_of(data: bytes) -> Tables:
    from elftools.elf.elffile import ELFFile

    elf = ELFFile(io.BytesIO(data))
    sections = (elf.get_section_by_name(name) for name in (".dynsym", ".dynstr", ".gnu.version_d"))
    return Tables(*(section.data() if section is not None else b"" for section in sections))


def _tables_in(head: bytes) -> Tables | None:
    """Return the tables as the linkers of GNU and NVIDIA lay them out: symbols, names, versions.

    None where they stand elsewhere. The section headers stand at the end, so the tables are known
    by their contents: each name begins where the one before ended.
    """
    end = head.find(b"\0" * _SYMBOL.size)
    while end != -1 and end < 1 << 22:
        start = end + -end % 8
        found = _table_at(head, start)
        if found is not None:
            return found
        end = head.find(b"\0" * _SYMBOL.size, start + 8)
    return None


def _table_at(head: bytes, start: int) -> Tables | None:
    at = start + _SYMBOL.size
    while at + _SYMBOL.size <= len(head):
        name, info, other, section, _, _ = _SYMBOL.unpack_from(head, at)
        # An entry has a name, a known binding and kind, no flag but its visibility, a section.
        if (
            not name
            or info >> 4 not in {0, _GLOBAL, _WEAK, _UNIQUE}
            or info & 15 not in {0, 1, 2, 3, 4, 6, 10}
            or other > 3
            or 200 < section < 0xFF00
        ):
            break
        at += _SYMBOL.size
    symbols = head[start:at]
    places = [row[0] for row in _SYMBOL.iter_unpack(symbols)][1:]
    if len(places) < _FEWEST_SYMBOLS or head[at : at + 1] != b"\0":
        return None
    names = head[at : at + max(places) + 4096]
    # Where names were moved, patchelf fills their place with one letter.
    distinct = {names[place : place + 64] for place in places}
    if (
        max(places) >= len(names)
        or len(distinct) < len(places) // 2
        or not all(_is_name(names, place) for place in places)
    ):
        return None
    end = at + names.index(b"\0", max(places)) + 1
    return Tables(symbols, names, _definitions_after(head, at, end + 2 * len(places)))


def _is_name(names: bytes, at: int) -> bool:
    name = names[at : names.find(b"\0", at)]
    return _LETTERS.issuperset(name) and (len(name) == 1 or len(set(name)) > 1)


def _definitions_after(head: bytes, names: int, at: int) -> bytes:
    """Return the version definitions, which follow the names and a number for each symbol."""
    # Elf64_Verdef of the file itself: version 1, VER_FLG_BASE, index 1, one name.
    first = struct.pack("<HHHH", 1, 1, 1, 1)
    start = head.find(first, at, at + (1 << 14))
    while start != -1:
        found = head[start : start + (1 << 12)].ljust(1 << 12, b"\0")
        _, _, _, _, value, auxiliary, _ = _DEFINITION.unpack_from(found)
        if auxiliary < 256:
            name = names + _AUXILIARY.unpack_from(found, auxiliary)[0]
            if _hash(head[name : name + 256].partition(b"\0")[0]) == value:
                return found
        start = head.find(first, start + 2, at + (1 << 14))
    return b""


def _hash(name: bytes) -> int:
    """Return the hash of a version's name (gABI, figure 5-13)."""
    value = 0
    for byte in name:
        value = (value << 4) + byte
        value = (value ^ (value >> 24 & 0xF0)) & 0x0FFFFFFF
    return value
