"""Read 64-bit little-endian ELF files: libraries, search paths, versions, symbols.

The layout is that of the System V gABI, chapters 4 and 5
(https://refspecs.linuxfoundation.org/elf/gabi4+/contents.html), and symbol versions are those of
the LSB (https://refspecs.linuxfoundation.org/LSB_5.0.0/LSB-Core-generic/
LSB-Core-generic/symversion.html).
pyelftools reads the same, but takes 30 ms to import and makes an object of each of a library's
100,000 symbols. Here a file is mapped, and only the pages of the tables asked for are read. Each
offset and count in a file is taken for hostile: it is checked before it is used.
"""

from __future__ import annotations

import mmap
import os
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path

import msgspec

from doctor.base.errors import DoctorError
from doctor.host.reading import UnreadableFile, descriptor_of

# e_ident: the magic number, ELFCLASS64, ELFDATA2LSB. All machines with a GPU stack have both.
_MAGIC = b"\x7fELF\x02\x01"
# Elf64_Phdr, Elf64_Shdr and Elf64_Sym.
_PROGRAM, _SECTION, _SYMBOL = (
    struct.Struct("<IIQQQQQQ"),
    struct.Struct("<IIQQQQIIQQ"),
    struct.Struct("<IBBHQQ"),
)
# Elf64_Verneed with its Elf64_Vernaux, and Elf64_Verdef with its Elf64_Verdaux.
_NEED, _NEED_NAME = struct.Struct("<HHIII"), struct.Struct("<IHHII")
_DEFINITION, _DEFINITION_NAME = struct.Struct("<HHHHIII"), struct.Struct("<II")
# PT_LOAD and PT_DYNAMIC of segments, SHT_DYNSYM of sections, then tags (DT_*) of the dynamic
# section.
_LOAD, _DYNAMIC, _DYNSYM = 1, 2, 11
_NEEDED, _STRTAB, _STRSZ, _SONAME, _RPATH, _RUNPATH = 1, 5, 10, 14, 15, 29
_VERDEF, _VERDEFNUM, _VERNEED, _VERNEEDNUM = 0x6FFFFFFC, 0x6FFFFFFD, 0x6FFFFFFE, 0x6FFFFFFF
# VER_FLG_WEAK: the loader warns where such a version is missing, and goes on.
_WEAK = 2
_LONGEST_NAME = 1 << 16
_MOST_VERSIONS = 4096
_LARGEST_TABLE = 1 << 20
_LARGEST_PIECE = 64 << 20
"""Bytes that are copied out of a file at once.

The largest piece that is asked for, the constants of torch's libraries, has 18 million.
"""


class ElfError(DoctorError):
    """A file that is no 64-bit little-endian ELF file, or one whose tables point outside of it."""


class Symbol(msgspec.Struct, frozen=True):
    """A dynamic symbol; `defined` is false where the file asks others for it."""

    name: bytes
    defined: bool


class Elf:
    """An ELF file in memory.

    Tables are read when asked for, and one that makes no sense raises `ElfError`.
    """

    def __init__(self, data: bytes | mmap.mmap) -> None:
        self._data, self._size = data, len(data)
        if bytes(data[:6]) != _MAGIC:
            raise ElfError(f"not a 64-bit ELF file: it begins with {bytes(data[:8])!r}")
        offset, sections, entry, count = (self._unpack(shape, at)[0] for shape, at in _HEADER)
        self._sections_at, self._section_count = sections, self._unpack(_HALF, 60)[0]
        if entry != _PROGRAM.size and count:
            raise ElfError(f"program headers of {entry} bytes")
        self._programs = [
            self._unpack(_PROGRAM, offset + index * _PROGRAM.size) for index in range(count)
        ]

    @property
    def cut_off(self) -> bool:
        """Whether the file is shorter than its own headers say.

        Loading such a file ends in SIGBUS.
        """
        return any(
            kind == _LOAD and at + size > self._size
            for kind, _, at, _, _, size, *_ in self._programs
        )

    @property
    def soname(self) -> str | None:
        """The name under which the loader knows this library."""
        return next(self._strings(_SONAME), None)

    @property
    def needed(self) -> tuple[str, ...]:
        """The libraries it asks for (DT_NEEDED), in order."""
        return tuple(self._strings(_NEEDED))

    @property
    def rpath(self) -> tuple[str, ...]:
        """Folders of DT_RPATH, `$ORIGIN` not expanded."""
        return tuple(part for text in self._strings(_RPATH) for part in text.split(":") if part)

    @property
    def runpath(self) -> tuple[str, ...]:
        """Folders of DT_RUNPATH, `$ORIGIN` not expanded."""
        return tuple(part for text in self._strings(_RUNPATH) for part in text.split(":") if part)

    def needed_versions(self) -> dict[str, frozenset[str]]:
        """Return the symbol versions it asks of each library, as `{"libc.so.6": {"GLIBC_2.17"}}`.

        Those it can do without are left out.
        """
        found: dict[str, frozenset[str]] = {}
        for library, version, flags, _ in self._needs():
            found[library] = found.get(library, frozenset()) | (
                frozenset() if flags & _WEAK else {self._text(version)}
            )
        return found

    def version_owners(self) -> dict[int, str]:
        """Return the library of each version number in the symbol table (DT_VERNEED)."""
        return {number: library for library, _, _, number in self._needs()}

    def _needs(self) -> Iterator[tuple[str, int, int, int]]:
        """Yield library, offset of the version's name, flags and number of each needed version."""
        for at, (_, count, offset, names, _) in self._chain(
            _NEED, _VERNEED, _VERNEEDNUM, following=4
        ):
            library = self._text(offset)
            for _, (_, flags, number, name, _) in self._walk(
                _NEED_NAME, at + names, count, following=4
            ):
                yield library, name, flags, number

    def defined_versions(self) -> tuple[str, ...]:
        """Return the symbol versions it defines, in order."""
        chain = self._chain(_DEFINITION, _VERDEF, _VERDEFNUM, following=6)
        return tuple(
            self._text(self._unpack(_DEFINITION_NAME, at + row[5])[0]) for at, row in chain
        )

    def symbols(self) -> Iterator[Symbol]:
        """Yield the dynamic symbols.

        Raises `ElfError` where the section headers that count them are gone.
        """
        # The dynamic section gives the start of the table (DT_SYMTAB) and no length. `strip
        # --strip-section-headers` removes the header that counts it.
        at, size = next(((row[4], row[5]) for row in self._sections if row[1] == _DYNSYM), (0, 0))
        if not size:
            raise ElfError("no table of dynamic symbols")
        names = self.take(*self._names_span)
        for name, _, _, section, _, _ in _SYMBOL.iter_unpack(
            self.take(at, size - size % _SYMBOL.size)
        ):
            if name:
                yield Symbol(names[name : names.find(b"\0", name)], section != 0)

    @property
    def symbol_count(self) -> int:
        """How many dynamic symbols its section headers count; 0 where these are gone."""
        return next((row[5] // _SYMBOL.size for row in self._sections if row[1] == _DYNSYM), 0)

    def section(self, name: str) -> bytes:
        """Return the bytes of a section, as `.rodata`; empty where there is none."""
        return self.take(*self.span(name))

    def span(self, name: str) -> tuple[int, int]:
        """Return where a section lies in the file and how long it is; 0, 0 where there is none."""
        index = self._unpack(_HALF, 62)[0]
        strings = self.take(*self._sections[index][4:6]) if index < len(self._sections) else b""
        wanted = name.encode() + b"\0"
        return next(
            ((row[4], row[5]) for row in self._sections if strings.startswith(wanted, row[0])),
            (0, 0),
        )

    def take(self, at: int, size: int) -> bytes:
        """Return bytes of the file; raises `ElfError` where it does not hold them."""
        if at < 0 or size < 0 or at + size > self._size:
            raise ElfError(f"a table of {size} bytes at {at}, in a file of {self._size} bytes")
        if size > _LARGEST_PIECE:
            raise ElfError(f"a table of {size} bytes, which is more than doctor reads of one")
        return bytes(self._data[at : at + size])

    def _unpack(self, shape: struct.Struct, at: int) -> tuple[int, ...]:
        return shape.unpack(self.take(at, shape.size))

    @cached_property
    def _sections(self) -> list[tuple[int, ...]]:
        table = (
            self.take(self._sections_at, self._section_count * _SECTION.size)
            if self._sections_at
            else b""
        )
        return list(_SECTION.iter_unpack(table))

    @cached_property
    def _entries(self) -> list[tuple[int, int]]:
        at, size = next(((row[2], row[5]) for row in self._programs if row[0] == _DYNAMIC), (0, 0))
        entries: list[tuple[int, int]] = []
        for tag, value in struct.iter_unpack(
            "<QQ", self.take(at, min(size - size % 16, _LARGEST_TABLE))
        ):
            if tag == 0:
                break
            entries.append((tag, value))
        return entries

    @cached_property
    def _names_span(self) -> tuple[int, int]:
        at, size = self.place(self.entry(_STRTAB)), self.entry(_STRSZ)
        if at + size > self._size:
            raise ElfError(f"names end at {at + size}, in a file of {self._size} bytes")
        return at, size

    def entry(self, tag: int) -> int:
        """Return the first value of a dynamic tag; 0 where there is none."""
        return next((value for known, value in self._entries if known == tag), 0)

    def place(self, address: int) -> int:
        """Turn an address in memory into a place in the file."""
        for kind, _, at, start, _, size, *_ in self._programs:
            if kind == _LOAD and start <= address < start + size:
                return at + address - start
        raise ElfError(f"the address {address:#x} lies in no loaded segment")

    def name(self, at: int) -> bytes:
        """Return the name that begins at an offset into the table of names."""
        base, size = self._names_span
        end = (
            self._data.find(b"\0", base + at, base + min(at + _LONGEST_NAME, size))
            if at < size
            else -1
        )
        if end < 0:
            raise ElfError(f"no name at {at}")
        return bytes(self._data[base + at : end])

    def _text(self, at: int) -> str:
        return self.name(at).decode("utf-8", "replace")

    def _strings(self, wanted: int) -> Iterator[str]:
        return (self._text(value) for tag, value in self._entries if tag == wanted)

    def _chain(
        self, shape: struct.Struct, table: int, count: int, *, following: int
    ) -> Iterator[tuple[int, tuple[int, ...]]]:
        address = self.entry(table)
        return (
            self._walk(shape, self.place(address), self.entry(count), following=following)
            if address
            else iter(())
        )

    def _walk(
        self, shape: struct.Struct, at: int, count: int, *, following: int
    ) -> Iterator[tuple[int, tuple[int, ...]]]:
        """Walk rows that each say how far the next one is."""
        if count > _MOST_VERSIONS:
            raise ElfError(f"{count} versions")
        for _ in range(count):
            row = self._unpack(shape, at)
            yield at, row
            if row[following] == 0:
                return
            at += row[following]


_HALF, _LONG = struct.Struct("<H"), struct.Struct("<Q")
# Offsets within Elf64_Ehdr: e_phoff, e_shoff, e_phentsize, e_phnum. Of e_shnum it is 60, of
# e_shstrndx 62.
_HEADER = ((_LONG, 32), (_LONG, 40), (_HALF, 54), (_HALF, 56))


@contextmanager
def opened(path: Path) -> Iterator[Elf]:
    """Open a library without reading it into memory.

    Raises `ElfError` where it cannot be read or is no ELF file.
    """
    try:
        with _mapped(path) as data:
            yield Elf(data)
    except UnreadableFile as error:
        raise ElfError(str(error)) from error
    except (ElfError, OSError, ValueError) as error:
        raise ElfError(f"{path}: {error}") from error


@contextmanager
def _mapped(path: Path) -> Iterator[mmap.mmap]:
    with descriptor_of(path) as descriptor:
        if os.fstat(descriptor).st_size == 0:
            raise ElfError("an empty file")
        with mmap.mmap(descriptor, 0, access=mmap.ACCESS_READ) as data:
            if hasattr(mmap, "MADV_RANDOM"):
                # A few pages far apart are read; reading ahead makes that ten times slower where
                # nothing is cached.
                data.madvise(mmap.MADV_RANDOM)
            yield data
