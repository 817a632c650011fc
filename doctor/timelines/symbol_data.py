"""The file of exported symbols: how it is laid out, and how one symbol is looked up in it.

The file begins with `HEAD`: a mark, the version of the layout, and the sizes of what follows. Then
come a header in JSON (packages with their releases, sources, the date), one `RECORD` for each name
in the order of the names' hashes, and the `PATTERN`s that records refer to. A pattern is a package,
a library, and two sets of its releases, a bit each: those that export the name as it stands, and
those that export it with `std::__cxx11` in it.

A name and its form in the other C++ ABI have the same hash, because GCC's two ABIs differ in
nothing but the names of a few types, and in a tag of functions that return one
(https://gcc.gnu.org/onlinedocs/libstdc++/manual/using_dual_abi.html).
"""

from __future__ import annotations

import json
import re
import struct
from bisect import bisect_left
from collections.abc import Iterator
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple

from doctor.timelines.demangling import demangled

MARK, LAYOUT = b"DOCTSYM\n", 1
HEAD = struct.Struct("<8sHxxIII")
"""The mark, the version of the layout, the bytes of the header, the records, the patterns."""
RECORD, PATTERN = struct.Struct("<6sH"), struct.Struct("<BBQQ")
MOST_RELEASES = 64

_PATH = Path(__file__).parent / "data" / "symbols.bin"
_LARGEST = 8 << 20
_NEW = "cxx11"
_TAG = "B5cxx11"
# A name with one of these may differ between the ABIs in more than the tag.
_TEXTS = re.compile(r"Ss|cxx11|basic_|4list")


def key_of(symbol: str) -> bytes:
    """Return the hash of a name, the same for both C++ ABIs."""
    plain = symbol.replace(_TAG, "")
    if plain.startswith("_Z") and _TEXTS.search(plain):
        text = demangled(plain)
        plain = text.replace("std::__cxx11::", "std::") if text else plain
    return blake2b(plain.encode("utf-8", "replace"), digest_size=6).digest()


def is_new_abi(symbol: str) -> bool:
    """Say whether a mangled name holds a type of the C++ ABI that GCC 5 brought."""
    return _NEW in symbol


class Entry(NamedTuple):
    """Which releases of one package export a name, as sets of bits, under either C++ ABI."""

    package: int
    library: int
    old: int
    new: int


class Package(NamedTuple):
    """A package of the data: its releases in order, and for each the versions of its symbols."""

    name: str
    releases: tuple[str, ...]
    libraries: tuple[str, ...]
    versions: tuple[tuple[str, ...], ...]


class Data:
    """A file of symbols in memory. Raises `ValueError` where it is damaged or of another layout."""

    def __init__(self, content: bytes) -> None:
        try:
            mark, layout, header, records, patterns = HEAD.unpack_from(content)
        except struct.error as error:
            raise ValueError("a file of symbols without a head") from error
        self._records_at = HEAD.size + header
        self._patterns_at = self._records_at + records * RECORD.size
        end = self._patterns_at + patterns * PATTERN.size
        if mark != MARK or layout != LAYOUT or end != len(content):
            raise ValueError("not a file of symbols, or one that is cut off")
        self._content, self._records, self._patterns = content, records, patterns
        self.header: dict[str, Any] = json.loads(content[HEAD.size : self._records_at])
        try:
            self.packages = tuple(_package(one) for one in self.header["packages"])
        except (KeyError, TypeError) as error:
            raise ValueError("a file of symbols with another header") from error

    def entries(self, symbol: str) -> Iterator[Entry]:
        """Yield what is known of a name, once for each package that exports it."""
        key = key_of(symbol)
        place = bisect_left(range(self._records), key, key=self._key)
        while place < self._records and self._key(place) == key:
            _, pattern = RECORD.unpack_from(self._content, self._at(place))
            if pattern < self._patterns:
                at = self._patterns_at + pattern * PATTERN.size
                entry = Entry(*PATTERN.unpack_from(self._content, at))
                if entry.package < len(self.packages):
                    yield entry
            place += 1

    def _at(self, place: int) -> int:
        return int(self._records_at + place * RECORD.size)

    def _key(self, place: int) -> bytes:
        at = self._at(place)
        return self._content[at : at + 6]


def _package(header: dict[str, Any]) -> Package:
    releases = tuple(str(one) for one in header["releases"])
    versions = tuple(tuple(str(name) for name in names) for names in header["versions"])
    if len(releases) > MOST_RELEASES or len(versions) != len(releases):
        raise KeyError("releases")
    return Package(
        str(header["name"]), releases, tuple(str(one) for one in header["libraries"]), versions
    )


@lru_cache(maxsize=1)
def data() -> Data | None:
    """Return the data that comes with doctor, or None where its file is missing or damaged."""
    try:
        with _PATH.open("rb") as file:
            return Data(file.read(_LARGEST))
    except (OSError, ValueError):
        return None
