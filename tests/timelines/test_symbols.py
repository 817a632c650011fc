"""Which release exports a symbol, and whose a symbol is."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doctor.timelines import symbol_data
from doctor.timelines.build.encoding import Library, encoded
from doctor.timelines.build.wheel_symbols import Exported
from doctor.timelines.symbol_data import Data, key_of
from doctor.timelines.symbols import built_for, exporters, owner_of, readable

STRING = "NSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE"
NEW_ERROR = f"_ZN3c105ErrorC2ENS_14SourceLocationE{STRING}"
OLD_ERROR = "_ZN3c105ErrorC2ENS_14SourceLocationESs"
SET_DEVICE = "_ZN3c104cuda9SetDeviceEa"


@pytest.mark.parametrize(
    ("symbol", "library", "text"),
    [
        ("_ZN3c104cuda9SetDeviceEi", "libc10_cuda.so", "2.1.0 to 2.2.2"),
        (SET_DEVICE, "libc10_cuda.so", "2.3.0 to 2.7.1"),
        ("_ZN3c104cuda9SetDeviceEab", "libc10_cuda.so", "2.8.0 or later"),
        ("_ZNK3c1011StorageImpl27throw_data_ptr_access_errorEv", "libc10.so", "2.6.0 or later"),
        (
            "_ZN3c104cuda29c10_cuda_check_implementationEiPKcS2_jb",
            "libc10_cuda.so",
            "2.10.0 to 2.13.0",
        ),
        (OLD_ERROR, "libc10.so", "2.6.0 or earlier"),
        (NEW_ERROR, "libc10.so", "2.7.0 or later"),
    ],
)
def test_the_releases_of_torch_that_export_a_symbol(symbol: str, library: str, text: str) -> None:
    found = exporters(symbol)
    assert found is not None
    assert (found.package, found.library, found.text) == ("torch", library, text)
    assert not found.other_abi


@pytest.mark.parametrize(
    ("symbol", "package", "library", "text"),
    [
        (
            "__nvJitLinkAddData_12_1, version libnvJitLink.so.12",
            "nvjitlink",
            "libnvJitLink.so",
            "12.1 to 12.9",
        ),
        (
            "__nvJitLinkComplete_12_4, version libnvJitLink.so.12",
            "nvjitlink",
            "libnvJitLink.so",
            "12.4 to 12.9",
        ),
        ("cudaLaunchKernelExC, version libcudart.so.12", "cudart", "libcudart.so", "12.0 to 12.9"),
        ("cudaLaunchKernelExC", "cudart", "libcudart.so", "11.8 or later"),
        ("ncclCommRegister", "nccl", "libnccl.so", "2.19 or later"),
        ("ncclCommWindowRegister", "nccl", "libnccl.so", "2.27 or later"),
    ],
)
def test_the_releases_of_cuda_libraries(symbol: str, package: str, library: str, text: str) -> None:
    found = exporters(symbol)
    assert found is not None
    assert (found.package, found.library, found.text) == (package, library, text)


def test_every_release_is_listed() -> None:
    found = exporters(SET_DEVICE)
    assert found is not None
    assert found.releases == (
        *("2.3.0", "2.3.1", "2.4.0", "2.4.1", "2.5.0", "2.5.1", "2.6.0", "2.7.0", "2.7.1"),
    )


def test_a_name_that_only_releases_of_the_other_abi_export() -> None:
    # torch::jit::parseSchemaOrName(std::string const&) has another parameter since 2.4, before the
    # releases on PyPI took the new ABI.
    found = exporters(f"_ZN5torch3jit17parseSchemaOrNameERK{STRING}")
    assert found is not None
    assert found.other_abi
    assert (found.first, found.last) == ("1.13.0", "2.3.1")


def test_the_releases_of_the_other_abi_stand_beside() -> None:
    found = exporters(NEW_ERROR)
    assert found is not None
    assert (found.other_releases[0], found.other_releases[-1]) == ("1.13.0", "2.6.0")


def test_a_tag_of_the_abi_counts_as_the_abi() -> None:
    """A function that returns a string has a tag in the new ABI, and none in the old one."""
    old, new = (
        exporters("_ZNK2at10TensorBase8toStringEv"),
        exporters("_ZNK2at10TensorBase8toStringB5cxx11Ev"),
    )
    assert old is not None
    assert new is not None
    assert (old.last, new.first) == ("2.6.0", "2.7.0")


@pytest.mark.parametrize(
    "symbol",
    ["_Z8nms_cudaRKN2at6TensorES2_f", "_Z17cutlass_moe_mm_sm100RN2at6TensorE", "my_kernel"],
)
def test_a_symbol_of_the_package_itself(symbol: str) -> None:
    assert exporters(symbol) is None
    assert owner_of(symbol) == ""


@pytest.mark.parametrize(
    ("symbol", "owner"),
    [
        ("_ZN2at4_ops5zeros4callEN3c108ArrayRefINS2_6SymIntEEE", "torch"),
        ("_ZNK5torch8autograd4Node4nameEv", "torch"),
        ("_ZTVN5torch8autograd4NodeE", "torch"),
        ("_ZTIN3c105ErrorE", "torch"),
        ("_ZN3c10plERKNS_6SymIntEl", "torch"),
        ("aoti_torch_no_such_function", "torch"),
        ("THPNoSuchClass", "torch"),
        ("cudaNoSuchFunction", "cudart"),
        ("cudaGetDriverEntryPointByVersion, version libcudart.so.12", "cudart"),
        ("cuNoSuchFunction", "nvidia driver"),
        ("cublasLtNoSuch", "cublas"),
        ("cusparseLtNoSuch", "cusparselt"),
        ("cusparseNoSuch", "cusparse"),
        ("ncclNoSuch", "nccl"),
        ("__nvJitLinkNoSuch_99_9", "nvjitlink"),
        ("PyNoSuch_Type", "python"),
        ("_PyNoSuch", "python"),
        ("_ZNSt15__exception_ptr13exception_ptr9_M_addrefEv", "c++ standard library"),
        ("_ZdlPvm", "c++ standard library"),
        ("anything, version GLIBCXX_3.4.32", "c++ standard library"),
        ("anything@GLIBC_2.38", "glibc"),
        ("_ZN4mlir9MLIRContextC1ENS0_9ThreadingE", "triton"),
        ("GOMP_parallel", "openmp"),
        ("_ZN6vision3ops3nmsERKN2at6TensorES4_d", ""),
        ("__cudaRegisterLinkedBinary_ba346c27_12_intranode_cu_6b1dae6a", ""),
        ("mkl_sparse_optimize_bsr_trsm_i8", "mkl"),
        ("custom", ""),
        ("currentTime", ""),
    ],
)
def test_the_owner_of_a_name_that_nothing_exports(symbol: str, owner: str) -> None:
    assert owner_of(symbol) == owner


def test_several_symbols_narrow_the_releases() -> None:
    found = built_for([SET_DEVICE, "_ZNK3c1011StorageImpl27throw_data_ptr_access_errorEv"])
    assert found is not None
    assert found.text == "2.6.0 to 2.7.1"


def test_the_release_that_is_installed_is_left_out() -> None:
    found = built_for([SET_DEVICE, "_Z8nms_cudaRKN2at6TensorES2_f"], installed="2.3.0")
    assert found is not None
    assert found.first == "2.3.1"


def test_symbols_that_exclude_each_other() -> None:
    assert built_for([SET_DEVICE, "_ZN3c104cuda9SetDeviceEi"]) is None
    assert built_for([]) is None
    assert built_for(["_Z8nms_cudaRKN2at6TensorES2_f"]) is None


def test_readable_names() -> None:
    assert readable(SET_DEVICE) == "c10::cuda::SetDevice(signed char)"
    assert readable(OLD_ERROR) == "c10::Error::Error(c10::SourceLocation, std::string)"
    assert readable(NEW_ERROR) == "c10::Error::Error(c10::SourceLocation, std::__cxx11::string)"
    assert readable("cudaMalloc, version libcudart.so.12") == "cudaMalloc"
    assert readable("_ZN3not-mangled") == "_ZN3not-mangled"


def test_the_same_function_has_one_key_in_both_abis() -> None:
    assert key_of(NEW_ERROR) == key_of(OLD_ERROR)
    assert key_of(SET_DEVICE) != key_of("_ZN3c104cuda9SetDeviceEi")


@pytest.mark.parametrize(
    "content",
    [None, b"", b"DOCTSYM\n", "cut", "longer", "other layout", b"\0" * 1000],
)
def test_a_missing_or_damaged_file_answers_nothing(
    content: bytes | str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = _small()
    changed = {
        "cut": whole[:-3],
        "longer": whole + b"\0",
        "other layout": whole[:8] + b"\xff" + whole[9:],
    }
    path = tmp_path / "symbols.bin"
    if content is not None:
        path.write_bytes(changed[content] if isinstance(content, str) else content)
    monkeypatch.setattr(symbol_data, "_PATH", path)
    symbol_data.data.cache_clear()
    try:
        assert exporters(SET_DEVICE) is None
        assert built_for([SET_DEVICE]) is None
        assert owner_of(SET_DEVICE) == "torch"
    finally:
        symbol_data.data.cache_clear()


def _small() -> bytes:
    old, new = Exported(("f", OLD_ERROR), ()), Exported(("g", NEW_ERROR), ())
    return encoded(
        [
            Library("torch", "2.6.0", "torch 2.6.0", "libc10.so", old),
            Library("torch", "2.7.0", "torch 2.7.0", "libc10.so", new),
            Library(
                "cudart",
                "12.4",
                "nvidia 12.4",
                "libcudart.so.12",
                Exported(("f",), ("libcudart.so.12",)),
            ),
        ],
        "2026-01-01",
    )


def test_what_is_encoded_can_be_looked_up() -> None:
    data = Data(_small())
    assert [package.releases for package in data.packages] == [("2.6.0", "2.7.0"), ("12.4",)]
    assert [(entry.package, entry.old, entry.new) for entry in data.entries("f")] == [
        (0, 1, 0),
        (1, 1, 0),
    ]
    assert [(entry.old, entry.new) for entry in data.entries(NEW_ERROR)] == [(1, 2)]
    assert not [*data.entries("h")]


_NAMES = st.text(alphabet="_ZNS0123456789EIabcstKR", min_size=1, max_size=40)


@given(st.lists(st.frozensets(_NAMES, max_size=20), min_size=1, max_size=5))
def test_the_reader_finds_what_was_encoded(releases: list[frozenset[str]]) -> None:
    data = Data(
        encoded(
            [
                Library("cudnn", str(place), "", "lib.so", Exported(tuple(sorted(names)), ()))
                for place, names in enumerate(releases)
            ],
            "2026-01-01",
        )
    )
    for name in frozenset().union(*releases):
        entries = [*data.entries(name)]
        expected = sum(1 << place for place, names in enumerate(releases) if name in names)
        assert len(entries) == 1
        assert entries[0].old | entries[0].new == expected


@given(st.binary(max_size=300), st.integers(min_value=0, max_value=400), _NAMES)
def test_a_damaged_file_is_refused_or_answers(noise: bytes, at: int, name: str) -> None:
    content = bytearray(_small())
    content[at : at + len(noise)] = noise
    try:
        data = Data(bytes(content))
    except ValueError:
        return
    assert len([*data.entries(name)]) <= 5


def test_nothing_is_read_before_it_is_asked_for() -> None:
    program = (
        "import sys, doctor.timelines.symbols\n"
        "assert not any(name in sys.modules for name in ('elftools', 'remotezip', 'packaging', "
        "'requests'))\n"
        "from doctor.timelines.symbol_data import data\n"
        "assert data.cache_info().currsize == 0\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)


def test_a_lookup_takes_milliseconds() -> None:
    exporters(SET_DEVICE)
    start = time.process_time()
    for number in range(1000):
        exporters(f"_ZN3c104cuda9SetDevice{number}Ea")
    assert time.process_time() - start < 2
