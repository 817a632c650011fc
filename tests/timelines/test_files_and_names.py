"""Libraries, headers, names of C++ and versions of the C library are known from their tables."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doctor.catalog.reference import FAMILIES, load_tables
from doctor.lint.reference import lint_reference
from doctor.model.reference import (
    HeaderRow,
    HeaderTable,
    LibraryRow,
    LibraryTable,
    NameRow,
    NameTable,
    Packages,
    SymbolVersionRow,
    SymbolVersionTable,
)
from doctor.timelines.c_library import symbol_version
from doctor.timelines.cpp_names import gone_name
from doctor.timelines.headers import header, torch_releases
from doctor.timelines.libraries import library


@pytest.mark.parametrize(
    ("name", "what", "generation", "package"),
    [
        ("libcudart.so.11.0", "the CUDA runtime", "11", "nvidia-cuda-runtime-cu11"),
        (
            "/usr/local/cuda/lib64/libcudart.so.11.8.89",
            "the CUDA runtime",
            "11",
            "nvidia-cuda-runtime-cu11",
        ),
        ("libcudart-d0da41ae.so.11.0", "the CUDA runtime", "11", "nvidia-cuda-runtime-cu11"),
        ("cudart64_12.dll", "the CUDA runtime", "12", "nvidia-cuda-runtime-cu12"),
        ("CUDART64_12.DLL", "the CUDA runtime", "12", "nvidia-cuda-runtime-cu12"),
        ("libcudnn.so.8", "cuDNN", "8", "nvidia-cudnn-cu11"),
        ("libcublas.so.12", "cuBLAS", "12", "nvidia-cublas-cu12"),
        (r"C:\venv\Lib\site-packages\torch\lib\c10.dll", "a part of torch", "", "torch"),
        ("'libnccl.so.2':", "NCCL", "2", "nvidia-nccl-cu12"),
        ("libnvrtc-builtins.so.12.1", "the second library of NVRTC", "", "nvidia-cuda-nvrtc-cu12"),
    ],
)
def test_a_library_is_known_by_its_name(
    name: str, what: str, generation: str, package: str
) -> None:
    found = library(name)
    assert found is not None
    assert (found.what, found.generation) == (what, generation)
    assert package in found.packages.pip


def test_a_version_that_is_not_in_the_table_brings_no_package() -> None:
    found = library("libcudart.so.99")
    assert found is not None
    assert (found.what, found.exact, found.generation) == ("the CUDA runtime", False, "")
    assert found.packages == Packages()


@pytest.mark.parametrize("name", ["libcuda.so.1", "nvcuda.dll", "libnvidia-ml.so.1"])
def test_a_library_of_the_driver_is_in_no_package(name: str) -> None:
    found = library(name)
    assert found is not None
    assert found.generation == "driver"
    assert not found.packages.pip
    assert "driver" in found.packages.bundle


@pytest.mark.parametrize("name", ["libfoo.so.1", "hello", "", ".so", "so.dll.so", "x" * 100_000])
def test_an_unknown_library_is_none(name: str) -> None:
    assert library(name) is None


@pytest.mark.parametrize(
    ("name", "first", "last"),
    [
        ("THC/THC.h", "1.0", "1.10"),
        ("ATen/ATen.h", "1.0", None),
        ("ATen/ops/add.h", "1.11", None),
        ("torch/csrc/stable/library.h", "2.7", None),
        ("/x/site-packages/torch/include/c10/cuda/CUDAGuard.h", "1.1", None),
    ],
)
def test_a_header_of_torch_has_its_releases(name: str, first: str, last: str | None) -> None:
    found = header(name)
    assert found is not None
    assert found.torch[0] == first
    assert found.torch[-1] == (last or torch_releases()[-1])
    assert found.gone_from_torch is (last is not None)


@pytest.mark.parametrize(
    ("name", "package"),
    [
        ("Python.h", "python3-dev"),
        ("<cub/device/device_scan.cuh>", "cuda-cccl-12-8"),
        ("GL/gl.h", "libgl-dev"),
        ("numa.h", "libnuma-dev"),
    ],
)
def test_a_header_has_a_package(name: str, package: str) -> None:
    found = header(name)
    assert found is not None
    assert found.row is not None
    assert package in found.row.packages.apt
    assert not found.torch


@pytest.mark.parametrize("name", ["nope.h", "", "../" * 500, "torch", "*", "THC/nope.h.h" * 99])
def test_an_unknown_header_is_none(name: str) -> None:
    found = header(name)
    assert found is None or found.row is None or name.startswith("THC/")


@pytest.mark.parametrize(
    ("name", "since", "until"),
    [
        ("AT_CHECK", "", "1.4"),
        ("AT_DISPATCH_CASE", "1.13", ""),
        ("THCState_getCurrentStream", "", "1.4"),
        ("THCudaCheck", "", "1.10"),
        ("cub::Max", "", "12.9"),
        ("cub::Max()", "", "12.9"),
        ("cusparseDcsrmm", "", "10.2"),
        ("‘textureReference’", "", "11.8"),
        ("cudaDeviceProp::clockRate", "", "12.9"),
        ("thrust::unary_function<int, int>", "", "12.6"),
        ("CUtensorMap", "12.0", ""),
    ],
)
def test_a_name_that_went_or_came_has_its_releases(name: str, since: str, until: str) -> None:
    row = gone_name(name)
    assert row is not None
    assert (row.since, row.until) == (since, until)
    assert row.instead


@pytest.mark.parametrize("name", ["vector", "Max", "std::max", "", "<", "::", "(" * 9999])
def test_any_other_name_is_none(name: str) -> None:
    assert gone_name(name) is None


@pytest.mark.parametrize(
    ("name", "system", "compiler", "conda"),
    [
        ("GLIBC_2.34", "Ubuntu 22.04", "", "sysroot_linux-64=2.34"),
        ("version `GLIBCXX_3.4.29' not found", "RHEL 9", "11.1.0", "libstdcxx-ng>=11"),
        ("CXXABI_1.3.15", "Ubuntu 24.04", "14.1.0", "libstdcxx>=14"),
        (
            "torch-2.9.1-cp310-cp310-manylinux_2_28_x86_64.whl",
            "RHEL 8",
            "",
            "sysroot_linux-64=2.28",
        ),
        ("manylinux2014_x86_64", "RHEL 7", "", "sysroot_linux-64=2.17"),
    ],
)
def test_a_version_of_the_c_library_has_its_systems(
    name: str, system: str, compiler: str, conda: str
) -> None:
    found = symbol_version(name)
    assert found is not None
    assert system in found.row.systems
    assert found.row.compiler == compiler
    assert conda in found.row.conda


def test_a_version_between_two_rows_is_that_of_the_newer_one() -> None:
    found = symbol_version("GLIBC_2.20")
    assert found is not None
    assert (found.name, found.row.version) == ("GLIBC_2.20", "2.23")


@pytest.mark.parametrize(
    "name", ["GLIBC_9.99", "GLIBC_PRIVATE", "", "GLIBC_", "musllinux_1_2", "3.4.29"]
)
def test_no_row_for_other_versions(name: str) -> None:
    assert symbol_version(name) is None


@given(st.text(max_size=200))
def test_no_text_raises(text: str) -> None:
    library(text)
    library(f"{text}.so.1")
    header(text)
    gone_name(text)
    symbol_version(text)


def test_hostile_names_cost_little() -> None:
    texts = ["libx.so" + ".1" * 100_000, "a/" * 200_000, "GLIBC_" * 100_000, "f<" * 100_000]
    start = time.process_time()
    for text in texts:
        for read in (library, header, gone_name, symbol_version):
            read(text)
    assert time.process_time() - start < 5


@pytest.mark.parametrize("family", list(FAMILIES))
def test_no_table_has_a_fault(family: str) -> None:
    tables = load_tables(family, FAMILIES[family])
    assert tables
    assert not [fault for table in tables.values() for fault in lint_reference(table)]


def test_no_library_and_no_name_stands_in_two_tables() -> None:
    libraries = [
        name
        for table in load_tables("libraries", LibraryTable).values()
        for row in table.rows
        for name in row.names
    ]
    names = [
        row.name for table in load_tables("cpp-names", NameTable).values() for row in table.rows
    ]
    assert len(libraries) == len(set(libraries)) >= 600
    assert len(names) == len(set(names)) >= 110


def test_the_lint_finds_faults_of_a_table() -> None:
    bad: list[LibraryTable | HeaderTable | NameTable | SymbolVersionTable] = [
        LibraryTable(title="t", sources={}, rows=(LibraryRow(names=("a.so",), what="x"),)),
        HeaderTable(
            title="t",
            sources={},
            rows=(HeaderRow(names=("a.h", "a.h"), what="x", packages=Packages(apt=("a b",))),),
        ),
        NameTable(title="t", sources={}, rows=(NameRow(name="x", product="torch"),)),
        SymbolVersionTable(
            title="t",
            prefix="GLIBC",
            library="libc.so.6",
            sources={},
            rows=(SymbolVersionRow(version="2.5"), SymbolVersionRow(version="2.4")),
        ),
    ]
    assert [len([*lint_reference(table)]) for table in bad] == [2, 3, 3, 2]
