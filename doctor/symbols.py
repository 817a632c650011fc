"""Which dynamic symbols an ELF file asks of others, and whether a library gives one, by its GNU hash table."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from doctor.elf import Elf, ElfError

_HASH_HEAD, _WORD = struct.Struct("<IIII"), struct.Struct("<I")
_SYMBOL = struct.Struct("<IBBHQQ")
_SYMTAB, _GNU_HASH, _VERSYM = 6, 0x6FFFFEF5, 0x6FFFFFF0
_GLOBAL = 1
_MOST_SYMBOLS = 1 << 18
_LONGEST_CHAIN = 1 << 16


class Wanted(NamedTuple):
    """A symbol that a file cannot do without; `version` is the index of its version, 0 or 1 for none."""

    name: bytes
    version: int


@lru_cache(maxsize=1 << 16)
def gnu_hash(name: bytes) -> int:
    """Return the hash under which GNU hash tables keep a name."""
    value = 5381
    for byte in name:
        value = value * 33 + byte & 0xFFFFFFFF
    return value


def wanted(elf: Elf) -> Iterator[Wanted]:
    """Yield the symbols that a file asks of others and cannot do without; weak ones may stay unresolved.

    Symbols that a file defines stand behind all others in its table, and the GNU hash table says where they begin. Raises
    `ElfError` where there is no such table.
    """
    exports = Exports(elf)
    # The linker writes 1 where there is nothing to hash, and then the section headers count.
    count = elf.symbol_count if exports.is_empty else exports.first
    if count > _MOST_SYMBOLS:
        raise ElfError(f"{count} undefined symbols")
    table = elf.take(elf.place(elf.entry(_SYMTAB)), count * _SYMBOL.size)
    address = elf.entry(_VERSYM)
    versions = struct.unpack(f"<{count}H", elf.take(elf.place(address), count * 2)) if address else (0,) * count
    for (name, info, _, section, _, _), version in zip(_SYMBOL.iter_unpack(table), versions, strict=True):
        if name and section == 0 and info >> 4 == _GLOBAL:
            yield Wanted(elf.name(name), version & 0x7FFF)


class Exports:
    """The symbols that a library defines, looked up one by one; raises `ElfError` where it has no GNU hash table."""

    def __init__(self, elf: Elf) -> None:
        address = elf.entry(_GNU_HASH)
        if not address:
            raise ElfError("no GNU hash table")
        self._elf, at = elf, elf.place(address)
        self._buckets, self.first, words, self._shift = _HASH_HEAD.unpack(elf.take(at, _HASH_HEAD.size))
        self._bloom_at, self._words = at + _HASH_HEAD.size, words
        self._buckets_at = self._bloom_at + 8 * words
        self._chains_at = self._buckets_at + 4 * self._buckets
        self._symbols_at = elf.place(elf.entry(_SYMTAB))
        elf.take(self._bloom_at, 8 * words + 4 * self._buckets)

    @property
    def is_empty(self) -> bool:
        """Whether the library defines nothing that others could ask for."""
        return not any(self._elf.take(self._buckets_at, 4 * self._buckets))

    def has(self, name: bytes) -> bool:
        """Say whether the library defines a symbol, in whatever version."""
        if not self._buckets or not self._words:
            return False
        value = gnu_hash(name)
        word = int.from_bytes(self._elf.take(self._bloom_at + 8 * (value // 64 % self._words), 8), "little")
        if not (word >> value % 64) & (word >> (value >> (self._shift & 31)) % 64) & 1:
            return False
        index = self._number(self._buckets_at + 4 * (value % self._buckets))
        return index >= self.first and self._stands_in_chain(index, value, name)

    def _stands_in_chain(self, index: int, value: int, name: bytes) -> bool:
        for place in range(index, index + _LONGEST_CHAIN):
            kept = self._number(self._chains_at + 4 * (place - self.first))
            if kept | 1 == value | 1 and self._is(place, name):
                return True
            if kept & 1:
                return False
        raise ElfError("a chain of symbols without an end")

    def _is(self, place: int, name: bytes) -> bool:
        at, _, _, section, _, _ = _SYMBOL.unpack(self._elf.take(self._symbols_at + place * _SYMBOL.size, _SYMBOL.size))
        return section != 0 and self._elf.name(at) == name

    def _number(self, at: int) -> int:
        return int(_WORD.unpack(self._elf.take(at, 4))[0])
