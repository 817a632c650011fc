"""The ELF reader: real libraries, a small one made here, and hostile bytes."""

from __future__ import annotations

import shutil
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from doctor.observe.binaries.elf import Elf, ElfError, opened

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="ELF files are Linux's"
)

_SHELL = Path(shutil.which("ls") or "/bin/ls")


def _libc() -> Path:
    maps = Path("/proc/self/maps").read_text(encoding="utf-8")
    return Path(
        next(
            line.split()[-1]
            for line in maps.splitlines()
            if "libc.so.6" in line or "libc-2" in line
        )
    )


def _everything(elf: Elf) -> None:
    """Ask for all there is."""
    list(elf.symbols())
    assert isinstance((elf.soname, elf.needed, elf.rpath, elf.runpath, elf.cut_off), tuple)
    elf.needed_versions()
    elf.defined_versions()
    elf.section(".rodata")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a library that this test compiled and linked itself."""
    compiler = shutil.which("gcc")
    if compiler is None:
        pytest.skip("needs gcc")
    folder = tmp_path_factory.mktemp("made")
    source, library, script = folder / "one.c", folder / "libone.so.1.2", folder / "one.map"
    source.write_text(
        '#include <stdio.h>\nint one(void) { return puts("sm_75 sm_90"); }\n', encoding="utf-8"
    )
    script.write_text("ONE_1.0 { global: one; local: *; };\n", encoding="utf-8")
    linker = (
        f"-Wl,-soname,libone.so.1,--version-script={script}"
        ",--enable-new-dtags,-rpath,$ORIGIN/../x:/opt/y"
    )
    argv = [
        compiler,
        "-shared",
        "-fPIC",
        "-Wl,--no-as-needed",
        linker,
        str(source),
        "-lm",
        "-o",
        str(library),
    ]
    subprocess.run(argv, check=True, timeout=60)
    return library


def test_a_program_needs_the_c_library() -> None:
    with opened(_SHELL) as elf:
        assert "libc.so.6" in elf.needed
        assert any(version.startswith("GLIBC_2.") for version in elf.needed_versions()["libc.so.6"])
        assert not elf.cut_off
        assert elf.soname is None


def test_the_c_library_defines_its_versions() -> None:
    with opened(_libc()) as elf:
        assert elf.soname == "libc.so.6"
        assert "GLIBC_2.14" in elf.defined_versions()
        assert any(symbol.name == b"memcpy" and symbol.defined for symbol in elf.symbols())


def test_names_paths_and_symbols_of_a_made_library(made: Path) -> None:
    with opened(made) as elf:
        assert elf.soname == "libone.so.1"
        assert {"libm.so.6", "libc.so.6"} <= set(elf.needed)
        assert (elf.rpath, elf.runpath) == ((), ("$ORIGIN/../x", "/opt/y"))
        assert elf.defined_versions()[1:] == ("ONE_1.0",)
        symbols = {symbol.name: symbol.defined for symbol in elf.symbols()}
        assert symbols[b"one"] is True
        assert symbols[b"puts"] is False
        assert b"sm_75 sm_90\0" in elf.section(".rodata")
        assert elf.section(".nowhere") == b""


def test_an_old_search_path_is_told_from_a_new_one(made: Path) -> None:
    old = made.with_name("libold.so")
    linker = "-Wl,--no-as-needed,--disable-new-dtags,-rpath,$ORIGIN"
    subprocess.run(["gcc", "-shared", linker, "-o", str(old), str(made)], check=True, timeout=60)
    with opened(old) as elf:
        assert (elf.rpath, elf.runpath) == (("$ORIGIN",), ())
        assert elf.needed[0] == "libone.so.1"


def test_a_library_cut_in_half_says_so(made: Path, tmp_path: Path) -> None:
    data = _libc().read_bytes()
    half = tmp_path / "half.so"
    half.write_bytes(data[: len(data) // 2])
    with opened(half) as elf:
        assert elf.cut_off
        with pytest.raises(ElfError):
            _everything(elf)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "an empty file"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 5\n", "not a 64-bit ELF"),
        (b"\x7fELF\x01\x01" + bytes(80), "not a 64-bit ELF"),
        (b"\x7fELF\x02\x01", "a table of"),
    ],
)
def test_what_is_no_library_is_refused_with_its_path(
    tmp_path: Path, content: bytes, says: str
) -> None:
    path = tmp_path / "lib.so"
    path.write_bytes(content)
    with pytest.raises(ElfError, match=says) as caught, opened(path):
        pass
    assert str(path) in str(caught.value)


def test_a_folder_and_a_missing_file_are_refused(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "none.so"):
        with pytest.raises(ElfError), opened(path):
            pass


@settings(max_examples=150, deadline=1000)
@given(st.data())
def test_mutations_raise_nothing_but_the_declared_error(made: Path, data: st.DataObject) -> None:
    body = bytearray(made.read_bytes())
    for _ in range(data.draw(st.integers(1, 12))):
        at = data.draw(st.one_of(st.integers(0, 1200), st.integers(0, len(body) - 9)))
        body[at : at + 8] = data.draw(st.binary(min_size=8, max_size=8))
    body = body[: data.draw(st.one_of(st.just(len(body)), st.integers(0, len(body))))]
    with suppress(ElfError):
        _everything(Elf(bytes(body)))


@settings(max_examples=200, deadline=1000)
@given(st.binary(max_size=400))
def test_garbage_behind_the_magic_raises_nothing_but_the_declared_error(garbage: bytes) -> None:
    with suppress(ElfError):
        _everything(Elf(b"\x7fELF\x02\x01" + garbage))
