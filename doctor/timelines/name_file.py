"""Read the file of one distribution in the timeline of names.

After the magic come the length of the header (4 bytes, big-endian), the header (JSON) and blocks,
each of them compressed (.xz). A section is a sorted list of rows in blocks. The header has the
first key of each block, so that one look-up unpacks one block.
"""

from __future__ import annotations

from bisect import bisect_right
from functools import cached_property
from pathlib import Path

import msgspec

MAGIC = b"DOCTNAMS"
FORMAT = 1
_MOST = 64_000_000
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"


class DamagedError(ValueError):
    """The file is not what a builder wrote."""


class Header(msgspec.Struct, frozen=True, kw_only=True):
    """What a file covers, and where its blocks lie: offset behind the header, and length."""

    format: int
    distribution: str
    imports: list[str]
    releases: list[str]
    sources: list[str]
    dates: list[str]
    made: str
    tables: tuple[int, int]
    sections: dict[str, list[tuple[str, int, int]]]


class Tables(msgspec.Struct, frozen=True, kw_only=True):
    """The modules and the intervals that rows refer to by number.

    `present`, `dynamic` and `moved` have one entry per module: the interval in which it exists, the
    interval in which its names are made by the running program, and the module that took its place.
    `thinned` has the modules of which only a selection of names is recorded. An interval is a flat
    list: first release, last release, first release, …
    """

    modules: list[str]
    present: list[str]
    dynamic: list[str]
    moved: list[str]
    thinned: list[int]
    intervals: list[list[int]]


class NameFile:
    """One file; blocks are unpacked when they are needed."""

    def __init__(self, data: bytes) -> None:
        if data[: len(MAGIC)] != MAGIC:
            raise DamagedError("no timeline of names")
        start = len(MAGIC) + 4
        size = int.from_bytes(data[len(MAGIC) : start], "big")
        try:
            self.header = msgspec.json.decode(_unpack(data[start : start + size]), type=Header)
        except msgspec.MsgspecError as error:
            raise DamagedError(str(error)) from error
        if self.header.format != FORMAT:
            raise DamagedError(f"format {self.header.format}")
        self._data = memoryview(data)[start + size :]
        self._blocks: dict[int, str] = {}

    @classmethod
    def read(cls, path: Path) -> NameFile:
        """Read a file. Raises OSError or DamagedError."""
        return cls(path.read_bytes())

    def _block(self, offset: int, size: int) -> bytes:
        return _unpack(bytes(self._data[offset : offset + size]))

    @cached_property
    def tables(self) -> Tables:
        """The modules and intervals. Raises DamagedError."""
        try:
            return msgspec.json.decode(self._block(*self.header.tables), type=Tables)
        except msgspec.MsgspecError as error:
            raise DamagedError(str(error)) from error

    @cached_property
    def module_numbers(self) -> dict[str, int]:
        """The number of each module."""
        return {name: number for number, name in enumerate(self.tables.modules)}

    def row(self, section: str, key: str) -> str | None:
        """Return what stands behind a key, or None. Raises DamagedError."""
        blocks = self.header.sections.get(section, [])
        at = bisect_right(blocks, key, key=lambda block: block[0]) - 1
        if at < 0:
            return None
        _, offset, size = blocks[at]
        if offset not in self._blocks:
            try:
                self._blocks[offset] = "\n" + self._block(offset, size).decode("utf-8")
            except UnicodeDecodeError as error:
                raise DamagedError(str(error)) from error
        text = self._blocks[offset]
        start = text.find(f"\n{key}\t")
        if start < 0 or "\n" in key:
            return None
        start += len(key) + 2
        end = text.find("\n", start)
        return text[start : None if end < 0 else end]

    def bits(self, number: str) -> int:
        """Return the releases of an interval as a bit set. Raises DamagedError."""
        try:
            flat = self.tables.intervals[int(number, 36)] if number else []
        except (IndexError, ValueError) as error:
            raise DamagedError(number) from error
        return sum(
            (2 << last) - (1 << first) for first, last in zip(flat[::2], flat[1::2], strict=True)
        )

    def module(self, number: str) -> str:
        """Return the name of a module by its number. Raises DamagedError."""
        try:
            return self.tables.modules[int(number, 36)] if number else ""
        except (IndexError, ValueError) as error:
            raise DamagedError(number) from error


def number_text(number: int) -> str:
    """Return a number in base 36, which `int(text, 36)` reads."""
    text = ""
    while True:
        number, digit = divmod(number, 36)
        text = _DIGITS[digit] + text
        if not number:
            return text


def _unpack(data: bytes) -> bytes:
    try:
        import lzma  # some builds of Python lack it
    except ImportError as error:
        raise DamagedError(str(error)) from error
    unpacker = lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=64_000_000)
    try:
        content = unpacker.decompress(data, _MOST)
    except (lzma.LZMAError, EOFError) as error:
        raise DamagedError(str(error)) from error
    if not unpacker.eof:
        raise DamagedError("a block is cut off")
    return content
