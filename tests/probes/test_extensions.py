"""Compiled files lack libraries and symbols; the real loader is the oracle."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from doctor.model.facts import Fact
from doctor.model.vocabulary import is_known
from doctor.observe.probes import extensions
from doctor.timelines import symbol_data
from tests.compiled import RPATH, RUNPATH, Build, builder
from tests.hosts import facts_of, put, values
from tests.sites import install, seen_at, site_of

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="ELF files are Linux's"
)

_NEW = "_ZN3c105ErrorC2ENS_14SourceLocationENSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE"
_OLD = "_ZN3c105ErrorC2ENS_14SourceLocationESs"
_DEVICE, _GONE = "_ZN3c104cuda9SetDeviceEab", "_ZN3c104cuda9SetDeviceEi"
_PYTHON = "_ZN5torch14PyWarningHandlerC1Ev"
_LOAD = """
import ctypes, sys
for path in sys.argv[1:]:
    ctypes.CDLL(path)
"""


@pytest.fixture(scope="module")
def build(needs: Callable[[str], str]) -> Build:
    return builder(needs("gcc"))


@pytest.fixture
def torch(tmp_path: Path, build: Build) -> Path:
    """Return an environment with a torch for CUDA 13 that was compiled with the new C++ ABI."""
    files = {
        "torch/__init__.py": "",
        "torch/version.py": "__version__ = '2.13.0+cu130'\ncuda: str = '13.0'\n",
    }
    install(tmp_path, "torch", "2.13.0", files=files)
    lib = site_of(tmp_path) / "torch/lib"
    runtime = build(site_of(tmp_path) / "nvidia/cu13/lib/libcudart.so.13", gives=["cudaMalloc"])
    c10 = build(
        lib / "libc10.so",
        runtime,
        gives=[_NEW, _DEVICE],
        search="$ORIGIN/../../nvidia/cu13/lib",
        kind=RPATH,
    )
    build(lib / "libtorch_python.so", c10, gives=[_PYTHON], search="$ORIGIN", kind=RPATH)
    return tmp_path


def _lib(prefix: Path, name: str = "libc10.so") -> Path:
    return site_of(prefix) / "torch/lib" / name


def _add(prefix: Path, package: str, *paths: Path) -> None:
    site = site_of(prefix)
    install(
        prefix,
        package,
        "1.0",
        files={str(path.relative_to(site)): path.read_bytes() for path in paths},
    )


def _facts(prefix: Path, **env: str) -> dict[str, Fact]:
    facts = facts_of(extensions.probe(seen_at(prefix, env=env)))
    assert not [name for name in facts if not is_known(name)]
    return facts


def _told(prefix: Path, **env: str) -> dict[str, Any]:
    return {
        name: value
        for name, value in values(_facts(prefix, **env)).items()
        if name != "extensions.files"
    }


def _loads(*paths: Path, **env: str) -> str:
    """Return what the real loader says to these libraries, one after the other.

    Nothing where it takes them all.
    """
    ran = subprocess.run(
        [sys.executable, "-c", _LOAD, *map(str, paths)],
        env={**os.environ, **env},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return "" if ran.returncode == 0 else ran.stderr.strip().splitlines()[-1]


def test_an_extension_that_fits_is_named_and_nothing_else_is_said(
    torch: Path, build: Build
) -> None:
    needed = (_lib(torch), _lib(torch, "libtorch_python.so"))
    path = build(
        site_of(torch) / "fine/_C.so",
        *needed,
        asks=[_NEW, _DEVICE, _PYTHON, "puts"],
        weak=["_ZN3c103oldEv"],
    )
    _add(torch, "fine", path)
    facts = _facts(torch)
    assert facts["extensions.files"].value == [str(path)]
    assert _told(torch) == {}
    assert _loads(_lib(torch, "libtorch_python.so"), path) == ""


def test_what_only_torchs_python_part_has_is_looked_for_there(torch: Path, build: Build) -> None:
    stub = build(torch / "build/libtorch_python.so", gives=["_ZN5torch4goneEv"])
    _add(
        torch,
        "bound",
        build(site_of(torch) / "bound/_C.so", stub, asks=["_ZN5torch4goneEv", _PYTHON]),
    )
    assert _told(torch)["extension.bound.undefined_symbols"] == ["_ZN5torch4goneEv"]


@pytest.mark.parametrize(("symbol", "means"), [(_GONE, "torch"), (_OLD, "cxx11-abi")])
def test_a_symbol_that_torch_no_longer_has_is_named(
    torch: Path, build: Build, symbol: str, means: str
) -> None:
    stub = build(torch / "build/libc10.so", gives=[symbol])
    path = build(
        site_of(torch) / "flash_attn_2_cuda.cpython-312-x86_64-linux-gnu.so",
        stub,
        asks=[symbol, "puts"],
    )
    _add(torch, "flash-attn", path)
    assert _told(torch) == {
        "extension.flash-attn.undefined_symbols": [symbol],
        "extension.flash-attn.undefined_means": means,
        **({"extension.flash-attn.built_for": "torch 2.1.0 to 2.2.2"} if symbol == _GONE else {}),
    }
    assert f"undefined symbol: {symbol}" in _loads(_lib(torch, "libtorch_python.so"), path)


def test_an_older_torch_lacks_what_the_new_abi_asks_for(torch: Path, build: Build) -> None:
    stub = build(torch / "build/libc10.so", gives=[_NEW])
    path = build(site_of(torch) / "new/_C.so", stub, asks=[_NEW])
    build(_lib(torch), gives=[_OLD])
    _add(torch, "new", path)
    assert _told(torch)["extension.new.undefined_means"] == "cxx11-abi"


def test_a_symbol_of_the_packages_own_is_nobody_elses_fault(torch: Path, build: Build) -> None:
    # A function that merely takes a tensor may stand in a file that the package loads first.
    path = build(
        site_of(torch) / "own/_C.so",
        _lib(torch),
        asks=["_Z24silu_and_mul_nvfp4_quantRN2at6TensorE", "PyList_New"],
    )
    _add(torch, "own", path)
    assert _told(torch) == {}


def test_what_the_package_loads_first_may_define_anything(torch: Path, build: Build) -> None:
    own = build(site_of(torch) / "own/libown.so", _lib(torch), gives=["_ZN2at3ownEv"])
    path = build(site_of(torch) / "own/_C.so", _lib(torch), own, asks=["_ZN2at3ownEv"])
    _add(torch, "own", own, path)
    assert _told(torch) == {}
    assert "libown.so: cannot open shared object file" in _loads(
        _lib(torch, "libtorch_python.so"), path
    )
    assert _loads(_lib(torch, "libtorch_python.so"), own, path) == ""


def test_a_library_of_another_cuda_is_missed_by_name(torch: Path, build: Build) -> None:
    stub = build(torch / "build/libcudart.so.12", gives=["cudaMalloc"])
    path = build(site_of(torch) / "older/_C.so", _lib(torch), stub, asks=["cudaMalloc"])
    _add(torch, "older", path)
    facts = _facts(torch)
    assert facts["extension.older.missing_libraries"].value == ["libcudart.so.12"]
    assert facts["extension.older.missing_libraries"].source == str(path)
    assert "libcudart.so.12: cannot open shared object file" in _loads(
        _lib(torch, "libtorch_python.so"), path
    )


def test_a_library_that_some_package_brings_is_not_missed(torch: Path, build: Build) -> None:
    runtime = build(
        site_of(torch) / "nvidia/cuda_runtime/lib/libcudart.so.12", gives=["cudaMalloc"]
    )
    _add(torch, "nvidia-cuda-runtime-cu12", runtime)
    _add(
        torch,
        "cupy-cuda12x",
        build(
            site_of(torch) / "cupy/core.cpython-312-x86_64-linux-gnu.so",
            runtime,
            asks=["cudaMalloc"],
        ),
    )
    assert _told(torch) == {}


@pytest.mark.parametrize(
    "name",
    ["libcuda.so.1", "libnvidia-ml.so.1", "libnvcuvid.so.1", "libsox.so.3", "libavutil.so.56"],
)
def test_the_drivers_libraries_and_strangers_are_not_missed(
    torch: Path, build: Build, name: str
) -> None:
    stub = build(torch / "build" / name, gives=["cuInit"])
    path = build(site_of(torch) / "video/_C.so", _lib(torch), stub, asks=["cuInit", _DEVICE])
    _add(torch, "video", path)
    assert "cannot open shared object file" in _loads(_lib(torch, "libtorch_python.so"), path)
    assert _told(torch) == {}


@pytest.mark.parametrize(
    "name",
    [
        "bitsandbytes/libbitsandbytes_cuda118.so",
        "bitsandbytes/libbitsandbytes_rocm64.so",
        "nccl/cu12/libnccl_ep.so",
        "dlpack/libaddon_torch24-cpu.so",
        "flash_attn_2_cuda.cpython-311-x86_64-linux-gnu.so",
        "torchvision.libs/libother.so",
    ],
)
def test_builds_for_others_that_lie_beside_are_passed_over(
    torch: Path, build: Build, name: str
) -> None:
    stub = build(torch / "build/libcudart.so.11.0", gives=["cudaMalloc"])
    _add(torch, "several", build(site_of(torch) / name, stub, asks=["cudaMalloc"]))
    assert _facts(torch)["extensions.files"].value == []


def test_the_build_for_this_cuda_is_looked_at(torch: Path, build: Build) -> None:
    stub = build(torch / "build/libcublas.so.13", gives=["cublasCreate_v2"])
    _add(
        torch,
        "bitsandbytes",
        build(
            site_of(torch) / "bitsandbytes/libbitsandbytes_cuda130.so",
            stub,
            asks=["cublasCreate_v2"],
        ),
    )
    assert _told(torch) == {"extension.bitsandbytes.missing_libraries": ["libcublas.so.13"]}


@pytest.mark.parametrize("place", ["rpath", "runpath", "environment", "nowhere"])
@pytest.mark.parametrize("given", [True, False])
@pytest.mark.parametrize("kind", [RPATH, RUNPATH])
def test_the_loader_comes_to_the_same_end(
    torch: Path, build: Build, place: str, kind: str, *, given: bool
) -> None:
    far = torch / "far" / place / "libcufft.so.11"
    stub = build(
        torch / "build/libcufft.so.11",
        gives=["cufftPlan1d"],
        flags=[_versions(torch, "libcufft.so.11", "cufftPlan1d")],
    )
    held = ["cufftPlan1d"] if given else ["cufftSomethingElse"]
    build(far, gives=held, flags=[_versions(torch, "libcufft.so.11", *held)])
    search = str(far.parent) if place.endswith("path") else ""
    path = build(
        site_of(torch) / "fft/_C.so",
        _lib(torch),
        stub,
        asks=["cufftPlan1d"],
        search=search,
        kind=kind,
    )
    _add(torch, "fft", path)
    env = {"LD_LIBRARY_PATH": str(far.parent)} if place == "environment" else {}
    said, told = _loads(_lib(torch, "libtorch_python.so"), path, **env), _told(torch, **env)
    assert bool(said) is bool(told), (said, told)
    if place == "nowhere":
        assert told == {"extension.fft.missing_libraries": ["libcufft.so.11"]}
    elif not given:
        assert told == {
            "extension.fft.undefined_symbols": ["cufftPlan1d"],
            "extension.fft.undefined_means": "cuda",
        }


def _versions(folder: Path, version: str, *names: str) -> str:
    """Give symbols a version, as NVIDIA does, named after the library."""
    script = put(folder / "build/map", version + " { global: " + "; ".join(names) + "; };")
    return f"-Wl,--version-script={script}"


def test_a_newer_c_library_is_asked_for_by_version(torch: Path, build: Build) -> None:
    path = build(
        site_of(torch) / "newer/_C.so",
        _lib(torch),
        code="#include <string.h>\nvoid copy(void *a, void *b, long n) { memcpy(a, b, n); }",
    )
    assert b"GLIBC_2.14\0" in path.read_bytes()
    _rename(path, b"GLIBC_2.14", b"GLIBC_9.14")
    _add(torch, "newer", path)
    assert _told(torch) == {
        "extension.newer.system_versions": ["GLIBC_9.14"],
        "extension.newer.glibc_wanted": "9.14",
    }
    assert "version `GLIBC_9.14' not found" in _loads(_lib(torch, "libtorch_python.so"), path)


def test_a_newer_cxx_library_is_asked_for_by_version_even_without_torch(
    tmp_path: Path, build: Build, needs: Callable[[str], str]
) -> None:
    source = put(
        tmp_path / "one.cc",
        "#include <string>\n#include <iostream>\nvoid say(std::string text) { std::cout << text; "
        "}\n",
    )
    path = put(site_of(tmp_path) / "words/_words.cpython-312-x86_64-linux-gnu.so")
    subprocess.run(
        [needs("g++"), "-shared", "-fPIC", str(source), "-o", str(path)], check=True, timeout=60
    )
    known = next(
        version
        for version in (b"GLIBCXX_3.4.21", b"GLIBCXX_3.4.11")
        if version + b"\0" in path.read_bytes()
    )
    _add(tmp_path, "words", path)
    assert _told(tmp_path) == {}
    _rename(path, known, b"GLIBCXX_3.4.99")
    assert _told(tmp_path) == {
        "extension.words.system_versions": ["GLIBCXX_3.4.99"],
        "extension.words.glibcxx_wanted": "3.4.99",
    }
    assert "version `GLIBCXX_3.4.99' not found" in _loads(path)


def _rename(path: Path, old: bytes, new: bytes) -> None:
    """Require another version: its name in the string table, and the hash beside it."""
    body = path.read_bytes()
    assert body.count(old + b"\0") >= 1
    path.write_bytes(body.replace(old + b"\0", new + b"\0").replace(_elf_hash(old), _elf_hash(new)))


def _elf_hash(name: bytes) -> bytes:
    value = 0
    for byte in name:
        value = (value << 4) + byte
        value = (value ^ (value >> 24 & 0xF0)) & 0x0FFFFFFF
    return value.to_bytes(4, "little")


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\x7fELF\x02\x01",
        b"version https://git-lfs.github.com/spec/v1\n",
        b"\x7fELF\x02\x01" + b"\xff" * 4000,
    ],
)
def test_what_is_no_library_is_passed_over(torch: Path, content: bytes) -> None:
    install(torch, "odd", "1.0", files={"odd/_C.so": content})
    assert _facts(torch)["extensions.files"].value == []


def test_a_library_cut_in_half_is_passed_over(torch: Path, build: Build) -> None:
    path = build(site_of(torch) / "half/_C.so", _lib(torch), asks=[_GONE])
    body = path.read_bytes()
    for size in range(0, len(body), 257):
        path.write_bytes(body[:size])
        _add(torch, "half", path)
        assert "extension.half.missing_libraries" not in _told(torch)


def test_torch_itself_cut_short_lets_nobody_else_be_blamed(torch: Path, build: Build) -> None:
    path = build(site_of(torch) / "fine/_C.so", _lib(torch), asks=[_DEVICE])
    _add(torch, "fine", path)
    body = _lib(torch).read_bytes()
    for size in range(0, len(body), 257):
        _lib(torch).write_bytes(body[:size])
        assert _told(torch) == {}


def test_without_torch_its_libraries_are_missing(tmp_path: Path, build: Build) -> None:
    stub = build(tmp_path / "build/libc10.so", gives=[_DEVICE])
    _add(tmp_path, "lonely", build(site_of(tmp_path) / "lonely/_C.so", stub, asks=[_DEVICE]))
    assert _told(tmp_path) == {"extension.lonely.missing_libraries": ["libc10.so"]}


def _rows(paths: Sequence[str]) -> str:
    return "".join(f"{path},sha256=x,1\n" for path in paths)


@pytest.mark.parametrize(
    "record",
    [
        _rows(["../../../etc/passwd.so", "/etc/x.so"]),
        _rows(['"odd, name.so"', "a\x00b.so"]),
        "\n\n,,\n.so",
        ".so" * 5000,
    ],
)
def test_odd_lines_of_record_harm_nobody(torch: Path, record: str) -> None:
    folder = install(torch, "odd", "1.0")
    put(folder / "RECORD", record)
    assert _facts(torch)["extensions.files"].value == []


def test_all_that_a_file_asks_for_names_the_torch_that_it_was_built_for(
    torch: Path, build: Build
) -> None:
    # The one that is undefined here is of 2.3.0 to 2.7.1, the one that is not of 2.6.0 and later.
    gone, there = (
        "_ZN3c104cuda9SetDeviceEa",
        "_ZNK3c1011StorageImpl27throw_data_ptr_access_errorEv",
    )
    stub = build(torch / "build/libc10.so", gives=[gone, there])
    path = build(site_of(torch) / "scan/_C.so", stub, asks=[gone, there])
    build(_lib(torch), gives=[_NEW, there])
    _add(torch, "scan", path)
    facts = _told(torch)
    assert facts["extension.scan.undefined_symbols"] == [gone]
    assert facts["extension.scan.built_for"] == "torch 2.6.0 to 2.7.1"


def test_nothing_is_looked_up_for_files_that_fit(
    torch: Path, build: Build, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = build(site_of(torch) / "fine/_C.so", _lib(torch), asks=[_NEW, _DEVICE])
    _add(torch, "fine", path)
    symbol_data.data.cache_clear()
    assert _told(torch) == {}
    assert symbol_data.data.cache_info().currsize == 0
