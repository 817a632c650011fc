"""Symbols one by one: defined, required, and tables that make no sense."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from doctor.observe.binaries.elf import Elf, ElfError, opened
from doctor.observe.binaries.fatbins import architectures
from doctor.observe.binaries.symbols import Exports, required_symbols
from tests.compiled import Build, builder

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="ELF files are Linux's"
)

_FATBIN = """
__asm__(".section .nv_fatbin,\\"a\\"\\n .balign 8\\n"
  ".long 0xba55ed50\\n .short 1, 16\\n .quad 160\\n"
  ".short 2, 0x101\\n .long 64\\n .quad 16\\n .quad 0\\n .long 0\\n .long 90\\n .fill 32\\n .fill "
  "16\\n"
  ".short 1, 0x101\\n .long 64\\n .quad 16\\n .quad 0\\n .long 0\\n .long 90\\n .fill 32\\n .fill "
  "16\\n"
  ".fill 24\\n"
  ".long 0xba55ed50\\n .short 1, 16\\n .quad 80\\n"
  ".short 2, 0x101\\n .long 64\\n .quad 16\\n .quad 0\\n .long 0\\n .long 120\\n .fill 32\\n"
  ".fill 16\\n .previous");
"""


@pytest.fixture(scope="module")
def build(needs: Callable[[str], str]) -> Build:
    return builder(needs("gcc"))


@pytest.fixture(scope="module")
def made(build: Build, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a library with some of everything."""
    names = [f"_ZN3c10{len(str(n)) + 4}name{n}Ev" for n in range(40)]
    path = tmp_path_factory.mktemp("made") / "libmade.so"
    return build(
        path, gives=names, asks=["nobody_gives_this", "memcpy"], weak=["nor_this"], code=_FATBIN
    )


def test_every_symbol_that_it_gives_is_found_and_no_other(made: Path) -> None:
    with opened(made) as elf:
        exports = Exports(elf)
        symbols = list(elf.symbols())
        assert len([one for one in symbols if one.defined]) >= 40
        assert not [one.name for one in symbols if exports.has(one.name) is not one.defined]
        assert not exports.has(b"_ZN3c105name0Ev_and_more")


def test_the_older_hash_table_gives_the_same_answers(build: Build, tmp_path: Path) -> None:
    names = [
        f"__nvJitLink{what}_12_{minor}"
        for what in ("Create", "Complete", "AddData")
        for minor in range(9)
    ]
    with opened(
        build(
            tmp_path / "libold.so",
            gives=names,
            asks=["nobody_gives_this"],
            flags=["-Wl,--hash-style=sysv"],
        )
    ) as elf:
        exports = Exports(elf)
        symbols = list(elf.symbols())
        assert {name.encode() for name in names} <= {one.name for one in symbols if one.defined}
        assert not [one.name for one in symbols if exports.has(one.name) is not one.defined]
        assert b"nobody_gives_this" in {one.name for one in required_symbols(elf)}


def test_weak_symbols_are_not_wanted(made: Path) -> None:
    with opened(made) as elf:
        names = {one.name for one in required_symbols(elf)}
        assert {b"nobody_gives_this", b"memcpy"} <= names
        assert b"nor_this" not in names
        owners = elf.version_owners()
        assert {owners.get(one.version) for one in required_symbols(elf)} == {None, "libc.so.6"}


def test_a_library_that_gives_nothing_still_asks(build: Build, tmp_path: Path) -> None:
    code = (
        "__attribute__((constructor)) static void begin(void) { extern int asked(void) "
        '__asm__("asked_for"); asked(); }'
    )
    with opened(build(tmp_path / "silent.so", code=code, flags=["-fvisibility=hidden"])) as elf:
        assert not Exports(elf).tells_where_its_own_begin
        assert b"asked_for" in {one.name for one in required_symbols(elf)}


def test_code_for_gpus_is_read_from_headers(made: Path) -> None:
    with opened(made) as elf:
        assert architectures(elf) == {"sm_90", "compute_90", "sm_120"}


def test_a_library_without_code_for_gpus_has_none(build: Build, tmp_path: Path) -> None:
    with opened(build(tmp_path / "plain.so")) as elf:
        assert architectures(elf) == frozenset()


@settings(max_examples=200, deadline=2000)
@given(st.data())
def test_mutations_raise_nothing_but_the_declared_error(made: Path, data: st.DataObject) -> None:
    body = bytearray(made.read_bytes())
    with opened(made) as elf:
        at, size = elf.span(".gnu.hash")
        fat, length = elf.span(".nv_fatbin")
    starts, ends = (0, at, fat, 0), (1200, at + size - 8, fat + length - 8, len(body) - 9)
    places = st.one_of(*(st.integers(*span) for span in zip(starts, ends, strict=True)))
    for _ in range(data.draw(st.integers(1, 12))):
        place = data.draw(places)
        body[place : place + 8] = data.draw(st.binary(min_size=8, max_size=8))
    cut = data.draw(st.one_of(st.just(len(body)), st.integers(0, len(body))))
    for ask in (
        lambda elf: list(required_symbols(elf)),
        lambda elf: Exports(elf).has(b"_ZN3c105name7Ev"),
        architectures,
        Elf.version_owners,
    ):
        with suppress(ElfError):
            ask(Elf(bytes(body[:cut])))
