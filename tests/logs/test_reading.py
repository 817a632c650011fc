"""Logs of any size and encoding are read in bounded memory, with line numbers."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import tracemalloc
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from doctor.base.errors import InputError
from doctor.logs import reading
from doctor.model.observation import Log

_NOISE = b"[12/73] nvcc -c flash_bwd.cu -o build/temp -std=c++17 -O3\n"
_TEXTS = ["no kernel image is available", "Failed to find C compiler"]


class _Endless(io.RawIOBase):
    """A stream of one line over and over, with others at places of it, that is never in memory."""

    def __init__(self, lines: int, others: dict[int, bytes]) -> None:
        self._left = self._lines(lines, others)
        self._rest = b""

    @staticmethod
    def _lines(lines: int, others: dict[int, bytes]) -> Iterator[bytes]:
        step = 1000
        for first in range(0, lines, step):
            yield b"".join(others.get(number, _NOISE) for number in range(first, first + step))

    def read(self, size: int = -1) -> bytes:
        while len(self._rest) < size and (more := next(self._left, b"")):
            self._rest += more
        found, self._rest = self._rest[:size], self._rest[size:]
        return found


def _read(content: bytes) -> Log:
    return reading.read(io.BytesIO(content), "log", _TEXTS)


def _line(log: Log, text: str) -> list[int]:
    return [log.number(index) for index, line in enumerate(log.lines) if text in line]


def test_a_short_log_is_kept_whole() -> None:
    assert _read(b"a\nb\n\nc") == Log(source="log", lines=("a", "b", "", "c"))


@pytest.mark.parametrize(
    ("content", "lines", "numbers"),
    [
        (b"a\r\nb\r\n", ("a", "b", ""), ()),
        (b"10%\r50%\rdone\nb", ("10%", "50%", "done", "b"), (1, 1, 1, 2)),
        (b"\x1b]0;a title that never ends\nerror: x\n", ("", "error: x", ""), ()),
        ("\ufeffgr\u00fcn".encode(), ("gr\u00fcn",), ()),
        ("gr\u00fcn\r\nb".encode("utf-16"), ("gr\u00fcn", "b"), ()),
        (b"x" * 4001, ("x" * 4000, "x"), (1, 1)),
        (b"", ("",), ()),
    ],
)
def test_lines_have_the_numbers_that_an_editor_gives_them(
    content: bytes, lines: tuple[str, ...], numbers: tuple[int, ...]
) -> None:
    log = _read(content)
    assert (log.lines, log.numbers) == (lines, numbers)


def test_of_a_long_log_head_tail_and_telling_lines_are_kept() -> None:
    lines = [_NOISE] * 200_000
    lines[0], lines[123_456], lines[-1] = (
        b"begins\n",
        b"RuntimeError: \x1b[31mno kernel\x1b[0m image is available\n",
        b"ends",
    )
    log = _read(b"".join(lines))
    assert _line(log, "begins") == [1]
    assert _line(log, "no kernel image is available") == [123_457]
    assert _line(log, "ends") == [200_000]
    assert len(log.lines) < 20_000


def test_a_long_log_of_utf_16_is_read() -> None:
    text = "noise\r\n" * 200_000 + "Failed to find C compiler\r\n" + "noise\r\n" * 200_000
    assert _line(_read(text.encode("utf-16")), "Failed to find C compiler") == [200_001]


def test_a_line_without_end_is_kept_near_what_tells() -> None:
    log = _read(b"x" * 5_000_000 + b"no kernel image is available" + b"y" * 5_000_000)
    assert _line(log, "no kernel image is available") == [1]
    assert sum(map(len, log.lines)) < 2_000_000


def test_a_pasted_environment_in_the_middle_is_kept() -> None:
    told = (
        b"PyTorch version: 2.5.1+cu124\nIs debug build: False\nCUDA used to build PyTorch: 12.4\n"
        + b"".join(b"Key %d: value\n" % number for number in range(100))
        + b"[pip3] torch==2.5.1\n"
    )
    log = _read(_NOISE * 50_000 + told + _NOISE * 50_000)
    assert _line(log, "[pip3] torch==2.5.1") == [50_104]
    assert _line(log, "PyTorch version: 2.5.1+cu124") == [50_001]


def test_memory_is_bounded_and_what_stands_everywhere_is_given_up() -> None:
    stream = _Endless(
        1_500_000,
        {700_001: b"no kernel image is available\n"}
        | dict.fromkeys(range(100_000, 600_000), b"an error: x\n"),
    )
    tracemalloc.start()
    log = reading.read(stream, "log", _TEXTS)  # type: ignore[arg-type]
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert _line(log, "no kernel image is available") == [700_002]
    assert peak < 64 << 20


_PARTS = {
    "noise": _NOISE * 3000,
    "telling": b"no kernel image is available\n",
    "return": b"\r",
    "end": b"\n",
    "mark": b"\xff\xfe",
    "long": b"x" * 300_000,
    "colour": b"\x1b[0m",
}


@settings(max_examples=30, deadline=None)
@given(st.lists(st.sampled_from(sorted(_PARTS)), max_size=30))
def test_any_text_is_read_and_its_lines_are_in_order(names: list[str]) -> None:
    content = b"".join(_PARTS[name] for name in names)
    log = _read(content)
    assert list(log.numbers) == sorted(log.numbers)
    assert not log.numbers or len(log.numbers) == len(log.lines)
    if "telling" in names and not content.startswith(b"\xff\xfe"):
        assert _line(log, "no kernel image is available")


def _packed(size: int) -> bytes:
    return gzip.compress(
        _NOISE * (size // len(_NOISE)) + b"RuntimeError: no kernel image is available\n"
    )


@pytest.mark.parametrize("size", [1000, 3 << 20])
def test_a_log_that_gzip_packed_is_unpacked(size: int) -> None:
    wanted = _read(gzip.decompress(_packed(size)))
    for content in (_packed(size), _packed(size) + bytes(100), gzip.compress(b"") + _packed(size)):
        assert _read(content).lines == wanted.lines
    two = _read(_packed(1000) + gzip.compress(b"RuntimeError: Failed to find C compiler\n"))
    assert "RuntimeError: Failed to find C compiler" in two.lines


def test_what_gzip_packed_and_somebody_cut_off_is_read_as_far_as_it_goes() -> None:
    content = gzip.compress(b"RuntimeError: no kernel image is available\n" * 1000, compresslevel=0)
    assert "RuntimeError: no kernel image is available" in _read(content[: len(content) // 2]).lines


@pytest.mark.parametrize(
    "content",
    [b"\x1f\x8b\x08" + b"\xff" * 100, gzip.compress(b"")[:10] + b"\x07" * 50],
    ids=["head", "body"],
)
def test_what_only_begins_as_gzip_does_is_told(content: bytes) -> None:
    with pytest.raises(
        InputError, match="log: it begins as what gzip packed and cannot be unpacked"
    ):
        _read(content)


def test_a_small_file_that_unpacks_to_no_end_is_refused_in_little_memory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    content = gzip.compress(bytes(64 << 20))
    monkeypatch.setattr(reading, "_UNPACKED", 16 << 20)
    tracemalloc.start()
    with pytest.raises(InputError, match="log: gzip packed more than"):
        _read(content)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 40 << 20


@pytest.mark.parametrize(
    ("content", "packer"),
    [
        (lzma.compress(b"x"), "xz"),
        (bz2.compress(b"x"), "bzip2"),
        (b"PK\x03\x04rest", "zip"),
        (b"\x28\xb5\x2f\xfdrest", "zstd"),
    ],
    ids=["xz", "bzip2", "zip", "zstd"],
)
def test_what_another_program_packed_is_told(content: bytes, packer: str) -> None:
    with pytest.raises(InputError, match=f"log: {packer} packed it; unpack it"):
        _read(content)


@pytest.mark.parametrize("encoding", ["utf-32", "utf-32-be", "utf-16", "utf-8-sig"])
def test_texts_of_other_widths_are_read(encoding: str) -> None:
    mark = "" if encoding in ("utf-32", "utf-16", "utf-8-sig") else "\ufeff"
    for lines in (3, 40_000):
        text = "".join(["grün\n"] * lines) + "RuntimeError: no kernel image is available\n"
        assert _read((mark + text).encode(encoding)).lines == _read(text.encode()).lines
