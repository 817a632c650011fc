"""Read the dynamic symbols of an ELF file: those that it needs, and those that it defines.

A name is looked up in the hash table of the library, as the loader does it, because a CUDA library
defines 100,000 symbols and an extension needs a few hundred. The table of System V is in the gABI
(https://refspecs.linuxfoundation.org/elf/gabi4+/ch5.dynamic.html#hash). GNU's has no specification
but its readers: glibc's elf/dl-lookup.c, and https://flapenguin.me/elf-dt-gnu-hash in words.
"""

from __future__ import annotations

import struct
from collections.abc import Container, Iterator
from functools import lru_cache
from typing import NamedTuple

from doctor.observe.binaries.elf import Elf, ElfError

# GNU: buckets, index of the first symbol in the table, words of the Bloom filter, its shift. System
# V: buckets, chains.
_HASH_HEAD, _OLD_HEAD, _WORD = struct.Struct("<IIII"), struct.Struct("<II"), struct.Struct("<I")
_SYMBOL = struct.Struct("<IBBHQQ")
_HASH, _SYMTAB, _GNU_HASH, _VERSYM = 4, 6, 0x6FFFFEF5, 0x6FFFFFF0
# STB_GLOBAL. A weak symbol (STB_WEAK) may stay undefined: its address is then 0.
_GLOBAL = 1
_MOST_SYMBOLS = 1 << 18
_LONGEST_CHAIN = 1 << 16


def elf_hash(name: bytes) -> int:
    """Return the hash of a name in tables of System V (gABI, figure 5-13)."""
    value = 0
    for byte in name:
        value = (value << 4) + byte
        value = (value ^ (value >> 24 & 0xF0)) & 0x0FFFFFFF
    return value


class RequiredSymbol(NamedTuple):
    """A symbol that a file cannot do without.

    `version` is the index of its version, 0 or 1 for none.
    """

    name: bytes
    version: int


@lru_cache(maxsize=1 << 16)
def gnu_hash(name: bytes) -> int:
    """Return the hash of a name in GNU hash tables: Bernstein's, h * 33 + c, in 32 bits."""
    value = 5381
    for byte in name:
        value = value * 33 + byte & 0xFFFFFFFF
    return value


def required_symbols(elf: Elf, versions: Container[int] | None = None) -> Iterator[RequiredSymbol]:
    """Yield the symbols that a file asks of others and cannot do without, of these versions only.

    Weak ones may stay unresolved.

    Symbols that a file defines stand behind all others in its table, and the GNU hash table says
    where they begin; elsewhere the section headers count. Raises `ElfError` where there is no hash
    table.
    """
    exports = Exports(elf)
    count = exports.first if exports.tells_where_its_own_begin else elf.symbol_count
    if count > _MOST_SYMBOLS:
        raise ElfError(f"{count} undefined symbols")
    table = elf.take(elf.place(elf.entry(_SYMTAB)), count * _SYMBOL.size)
    address = elf.entry(_VERSYM)
    numbers = (
        struct.unpack(f"<{count}H", elf.take(elf.place(address), count * 2))
        if address
        else (0,) * count
    )
    for (name, info, _, section, _, _), number in zip(
        _SYMBOL.iter_unpack(table), numbers, strict=True
    ):
        version = number & 0x7FFF  # the highest bit of DT_VERSYM says "hidden"
        if (
            name
            and section == 0
            and info >> 4 == _GLOBAL
            and (versions is None or version in versions)
        ):
            yield RequiredSymbol(elf.name(name), version)


class Exports:
    """The symbols that a library defines, looked up in its hash table (GNU's or System V's).

    Raises `ElfError` where it has neither, or one that makes no sense.
    """

    def __init__(self, elf: Elf) -> None:
        self._elf, self._symbols_at = elf, elf.place(elf.entry(_SYMTAB))
        self._is_old = not elf.entry(_GNU_HASH)
        if self._is_old and not elf.entry(_HASH):
            raise ElfError("no hash table of symbols")
        at = elf.place(elf.entry(_HASH if self._is_old else _GNU_HASH))
        if self._is_old:
            self._buckets, self._chains = _OLD_HEAD.unpack(elf.take(at, _OLD_HEAD.size))
            self.first, self._words, self._buckets_at = 0, 0, at + _OLD_HEAD.size
            self._chains_at = self._buckets_at + 4 * self._buckets
            elf.take(self._chains_at, 4 * self._chains)
        else:
            self._buckets, self.first, self._words, self._shift = _HASH_HEAD.unpack(
                elf.take(at, _HASH_HEAD.size)
            )
            self._bloom_at = at + _HASH_HEAD.size
            self._buckets_at = self._bloom_at + 8 * self._words
            self._chains_at = self._buckets_at + 4 * self._buckets
            elf.take(self._bloom_at, 8 * self._words + 4 * self._buckets)

    @property
    def tells_where_its_own_begin(self) -> bool:
        """Whether `first` is the index of the first defined symbol.

        False where none is defined, and in a table of System V.
        """
        return not self._is_old and any(self._elf.take(self._buckets_at, 4 * self._buckets))

    def has(self, name: bytes) -> bool:
        """Say whether the library defines a symbol, in whatever version."""
        if not self._buckets:
            return False
        return self._has_by_old_hash(name) if self._is_old else self._has_by_gnu_hash(name)

    def _has_by_old_hash(self, name: bytes) -> bool:
        index = self._number(self._buckets_at + 4 * (elf_hash(name) % self._buckets))
        for _ in range(min(self._chains, _LONGEST_CHAIN)):
            if index == 0 or index >= self._chains:
                return False
            if self._is(index, name):
                return True
            index = self._number(self._chains_at + 4 * index)
        raise ElfError("a chain of symbols without an end")

    def _has_by_gnu_hash(self, name: bytes) -> bool:
        if not self._words:
            return False
        value = gnu_hash(name)
        word = int.from_bytes(
            self._elf.take(self._bloom_at + 8 * (value // 64 % self._words), 8), "little"
        )
        # The Bloom filter answers most lookups of absent names with one read: both bits are needed.
        if not (word >> value % 64) & (word >> (value >> (self._shift & 31)) % 64) & 1:
            return False
        index = self._number(self._buckets_at + 4 * (value % self._buckets))
        return index >= self.first and self._stands_in_chain(index, value, name)

    def _stands_in_chain(self, index: int, value: int, name: bytes) -> bool:
        for place in range(index, index + _LONGEST_CHAIN):
            # A chain holds hashes whose lowest bit marks the last of the chain.
            stored = self._number(self._chains_at + 4 * (place - self.first))
            if stored | 1 == value | 1 and self._is(place, name):
                return True
            if stored & 1:
                return False
        raise ElfError("a chain of symbols without an end")

    def _is(self, place: int, name: bytes) -> bool:
        at, _, _, section, _, _ = _SYMBOL.unpack(
            self._elf.take(self._symbols_at + place * _SYMBOL.size, _SYMBOL.size)
        )
        return section != 0 and self._elf.name(at) == name

    def _number(self, at: int) -> int:
        return int(_WORD.unpack(self._elf.take(at, 4))[0])
