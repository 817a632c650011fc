"""Read a log of any size in bounded memory.

A long one is reduced to the lines that could matter, each with its number.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import BinaryIO, NamedTuple

from doctor.base.errors import InputError
from doctor.base.text import sanitize
from doctor.events.reading import words
from doctor.logs.log import WORDS, without_prefixes
from doctor.logs.quotations import without_quotations
from doctor.logs.wrapped import unwrapped
from doctor.model.observation import Log
from doctor.redact import without_secrets

WHOLE = 1 << 20
"""Bytes up to which a log is kept as it is."""
_BLOCK = 1 << 20
_HEAD, _TAIL = 128 << 10, 512 << 10
_BUDGET = 16 << 20
_OFTEN = 1000
"""How many times one text is followed: what stands in every line tells nothing."""
_AROUND = 8 << 10
_WORD = 1024
"""Bytes in which a blank is looked for, to cut a line without end there."""
_LONGEST = 4000
"""Characters after which a line goes on in another one of the same number."""
_FEW = 500
"""Texts up to which the faster automaton is worth its memory."""
_ESCAPE = re.compile(rb"\x1b\[[0-?]*[ -/]*[@-~]")
_ODD = re.compile(r"[^\t -~]")
_ENVIRONMENT, _ABOVE, _BELOW = b"CUDA used to build PyTorch", 4, 250
"""Lines of a report of collect_env above and below a line of it, at most."""


_GZIP, _GZIP_FORM = b"\x1f\x8b\x08", 31
_UNPACKED = 1 << 30
"""Bytes that are unpacked of one log."""
_PACKERS = {
    b"PK\x03\x04": "zip",
    b"\xfd7zXZ\0": "xz",
    b"BZh": "bzip2",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"7z\xbc\xaf": "7-Zip",
}
_MARKED = {
    "utf-32": (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE),
    "utf-16": (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE),
}
"""How a text begins that is not UTF-8; the mark of UTF-32 begins with that of UTF-16."""


class Part(NamedTuple):
    """Adjacent lines of a text: their offset in bytes, the number of the first, and the text."""

    start: int
    number: int
    content: bytes


def read(stream: BinaryIO, source: str, texts: Iterable[str]) -> Log:
    """Read a log without secrets, control characters and CI's prefixes.

    Of a long one its head, its tail and the lines near `texts`.

    One that gzip packed is unpacked. Raises InputError for one that cannot be, or that is packed in
    another way.
    """
    blocks = _utf8(_unpacked(_blocks(stream), source))
    begun = [next(blocks, b""), next(blocks, b"")]
    if not begun[1] and len(begun[0]) <= WHOLE:
        return _log(source, [Part(0, 1, begun[0])])
    sieve = _LineFilter({*texts, *own_texts()})
    for block in _of_whole_lines(chain(begun, blocks)):
        sieve.add(block)
    return _log(source, sieve.parts())


def own_texts() -> Iterator[str]:
    """Yield the texts that events and facts of a log are found by, as programs write them."""
    yield from WORDS
    for text in words():
        yield from (text, text.capitalize(), text.title(), text.upper())


def _blocks(stream: BinaryIO) -> Iterator[bytes]:
    block = stream.read(WHOLE + 1)
    while block:
        yield block
        block = stream.read(_BLOCK)


def _unpacked(blocks: Iterator[bytes], source: str) -> Iterator[bytes]:
    """Yield a text as it was before it was packed.

    Raises InputError where only another program can tell.
    """
    first = next(blocks, b"")
    if first.startswith(_GZIP):
        yield from _gunzipped(chain([first], blocks), source)
        return
    if packer := next((name for start, name in _PACKERS.items() if first.startswith(start)), ""):
        raise InputError(f"{source}: {packer} packed it; unpack it and hand in the text")
    yield first
    yield from blocks


def _gunzipped(blocks: Iterable[bytes], source: str) -> Iterator[bytes]:
    """Unpack what gzip packed, piece by piece; its end may be missing."""
    import zlib

    engine, size = zlib.decompressobj(_GZIP_FORM), 0
    try:
        for block in blocks:
            rest = block
            while rest:
                if engine.eof:
                    engine = zlib.decompressobj(_GZIP_FORM)
                piece = engine.decompress(rest, _BLOCK)
                rest = engine.unused_data.lstrip(b"\0") if engine.eof else engine.unconsumed_tail
                size += len(piece)
                if size > _UNPACKED:
                    raise InputError(
                        f"{source}: gzip packed more than {_UNPACKED >> 30} GiB into it; hand in "
                        f"the part that failed"
                    )
                if piece:
                    yield piece
        if piece := engine.flush():
            yield piece
    except zlib.error as error:
        raise InputError(
            f"{source}: it begins as what gzip packed and cannot be unpacked: {error}"
        ) from None


def _utf8(blocks: Iterator[bytes]) -> Iterator[bytes]:
    """Yield a text in UTF-8.

    Consoles of Windows write UTF-16, and say so at the beginning, and so does whoever writes
    UTF-32.
    """
    first = next(blocks, b"")
    for encoding, marks in _MARKED.items():
        if first.startswith(marks):
            decoder = codecs.getincrementaldecoder(encoding)("replace")
            yield from (
                decoder.decode(block).encode("utf-8", "replace") for block in chain([first], blocks)
            )
            return
    if first:
        yield first.removeprefix(codecs.BOM_UTF8)
    yield from blocks


def _of_whole_lines(blocks: Iterable[bytes]) -> Iterator[bytes]:
    """Yield blocks that end where a line does, as far as lines are not longer than a block."""
    rest = b""
    for block in blocks:
        rest += block
        end = rest.rfind(b"\n") + 1 or len(rest)
        yield rest[:end]
        rest = rest[end:]
    if rest:
        yield rest


class _LineFilter:
    """Keeps the lines that hold one of many texts, with their neighbours."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._left = dict.fromkeys((text.encode() for text in sorted(texts)), _OFTEN) | {
            _ENVIRONMENT: 1
        }
        self._parts: list[Part] = []
        self._last: list[Part] = []
        self._size = 0
        self._build()

    def _build(self) -> None:
        """Make the automaton anew without the texts that were met often enough."""
        import ahocorasick_rs  # most commands read no long log

        self._texts = [text for text, left in self._left.items() if left > 0]
        kind = (
            ahocorasick_rs.Implementation.DFA
            if len(self._texts) < _FEW
            else ahocorasick_rs.Implementation.ContiguousNFA
        )
        self._automaton = ahocorasick_rs.BytesAhoCorasick(self._texts, implementation=kind)

    def add(self, block: bytes) -> None:
        """Take the next block of whole lines."""
        before = self._last[-1] if self._last else Part(0, 1, b"")
        text = _ESCAPE.sub(b"", block) if b"\x1b[" in block else block
        here = Part(
            before.start + len(before.content), before.number + before.content.count(b"\n"), text
        )
        head = (text.rfind(b"\n", 0, _HEAD) + 1 or _HEAD) if here.start == 0 else 0
        self._keep(here, 0, head)
        if self._size < _BUDGET:
            self._look(here, head)
        self._last = [*self._last[-1:], here]

    def _look(self, here: Part, done: int) -> None:
        text, number, counted = here.content, here.number, 0
        for which, place, _ in self._automaton.find_matches_as_indexes(text):
            found = self._texts[which]
            self._left[found] -= 1
            if place < done or self._left[found] < 0:
                continue
            start, end = _neighbours(
                text, place, *((_ABOVE, _BELOW) if found == _ENVIRONMENT else (1, 2))
            )
            start = max(start, done)
            number, counted, done = number + text.count(b"\n", counted, start), start, end
            self._keep(Part(here.start, number, here.content), start, end)
        if any(left <= 0 for left in map(self._left.__getitem__, self._texts)):
            self._build()

    def _keep(self, here: Part, start: int, end: int) -> None:
        self._parts.append(Part(here.start + start, here.number, here.content[start:end]))
        self._size += end - start

    def parts(self) -> list[Part]:
        """Return what was kept, and the end of the text, in order and without overlaps."""
        start, number = self._last[0].start, self._last[0].number
        end = b"".join(part.content for part in self._last)
        cut = max(len(end) - _TAIL, 0)
        cut = end.rfind(b"\n", 0, cut) + 1 if cut else 0
        tail = Part(start + cut, number + end.count(b"\n", 0, cut), end[cut:])
        before = [
            part._replace(content=part.content[: tail.start - part.start])
            for part in self._parts
            if part.start < tail.start
        ]
        return [*before, tail]


def _neighbours(text: bytes, place: int, above: int, below: int) -> tuple[int, int]:
    """Return the bounds of the line at a place, with some lines above and below it.

    Of very long lines what is near.
    """
    start = text.rfind(b"\n", 0, place) + 1
    for _ in range(above):
        start = text.rfind(b"\n", 0, max(start - 1, 0)) + 1
    end = place
    for _ in range(below):
        end = text.find(b"\n", end) + 1 or len(text)
    # Half a word may be half a secret, which nobody could tell any more.
    if (near := place - _AROUND) > start:
        start = max(text.find(b" ", near, near + _WORD) + 1, near)
    if (far := place + max(_AROUND, below * 200)) < end:
        end = text.rfind(b" ", far - _WORD, far)
        end = end if end >= 0 else far
    return start, end


def _log(source: str, parts: Iterable[Part]) -> Log:
    lines, numbers = [], []
    for part in parts:
        told, places = [], []
        for number, line in enumerate(
            part.content.decode("utf-8", "replace").split("\n"), part.number
        ):
            for text in (sanitize(line.removesuffix("\r")) if _ODD.search(line) else line).split(
                "\n"
            ):
                told.append(text)
                places.append(number)
        # Before anything is cut, and all lines at once: a private key has many.
        for number, text in zip(places, without_secrets("\n".join(told)).split("\n"), strict=True):
            for piece in _pieces(text):
                lines.append(piece)
                numbers.append(number)
    counted = numbers == list(range(1, len(numbers) + 1))
    # The bar of a quoted line looks like the prefix of a container.
    plain = unwrapped(without_prefixes(without_quotations(lines)))
    return Log(
        source=source,
        lines=without_quotations(plain),
        numbers=() if counted else tuple(numbers),
    )


def _pieces(text: str) -> Iterator[str]:
    """Yield the parts of a line without end."""
    yield from (text[start : start + _LONGEST] for start in range(0, max(len(text), 1), _LONGEST))
