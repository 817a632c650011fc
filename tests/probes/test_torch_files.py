"""torch as its files show it: made-up packages with small libraries, and a real one."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from doctor.model.facts import Fact, State
from doctor.model.vocabulary import is_known
from doctor.observe.probes import torch
from tests.hosts import facts_of, put, values
from tests.sites import install, seen_at, seen_of, site_of

_VERSION = (
    "__version__ = '2.5.1+cu124'\ndebug = False\ncuda: Optional[str] = '12.4'\ngit_version = "
    "'abc'\nhip: Optional[str] = None\n"
)
_NEW = "_ZN3c105ErrorC2ENS_14SourceLocationENSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE"
_OLD = "_ZN3c105ErrorC2ENS_14SourceLocationESs"

Link = Callable[[Path, str], Path]


@pytest.fixture
def link(needs: Callable[[str], str]) -> Link:
    """Return a function that compiles C into a library."""
    compiler = needs("gcc")

    def make(library: Path, source: str) -> Path:
        code = put(library.with_suffix(".c"), source)
        subprocess.run(
            [compiler, "-shared", "-fPIC", "-w", str(code), "-o", str(library)],
            check=True,
            timeout=60,
        )
        return library

    return make


def _facts(prefix: Path) -> dict[str, Fact]:
    facts = facts_of(torch.probe(seen_at(prefix)))
    assert not [name for name in facts if not is_known(name)]
    return facts


def _torch(prefix: Path, version: str = _VERSION, files: Mapping[str, str] | None = None) -> Path:
    content = {"torch/__init__.py": "", "torch/version.py": version, **(files or {})}
    install(prefix, "torch", "2.5.1", files=content)
    return site_of(prefix) / "torch"


@pytest.mark.parametrize(
    ("version", "metadata"),
    [("2.13.0+cu130", "2.5.1"), ("2.5.1+cu124", None), ("2.5.1.post2", None), ("main", None)],
)
def test_the_files_and_the_metadata_name_two_releases(
    tmp_path: Path, version: str, metadata: str | None
) -> None:
    _torch(tmp_path, f"__version__ = '{version}'\ncuda = None\n")
    assert values(_facts(tmp_path)).get("torch.metadata_version") == metadata


def _function(symbol: str) -> str:
    return f'void f(void) __asm__("{symbol}");\nvoid f(void) {{}}\n'


def _strings(*texts: str) -> str:
    return "\n".join(
        f'const char *s{number}(void) {{ return "{text}"; }}' for number, text in enumerate(texts)
    )


def test_without_torch_all_is_absent(tmp_path: Path) -> None:
    facts = _facts(tmp_path)
    assert {fact.state for fact in facts.values()} == {State.ABSENT}
    assert {"torch.version", "torch.build", "torch.arch_list"} <= set(facts)


def test_torch_that_is_installed_but_not_there_is_unknown(tmp_path: Path) -> None:
    install(tmp_path, "torch", "2.5.1")
    assert {fact.state for fact in _facts(tmp_path).values()} == {State.UNKNOWN}


@pytest.mark.parametrize(
    "line",
    [
        "",
        "from .other import cuda",
        "cuda: str = (lambda: '13.0')()",
        "if 1:\n    cuda = '13.0'\nelse:\n    cuda = None",
    ],
)
def test_a_build_that_cannot_be_read_is_unknown(tmp_path: Path, line: str) -> None:
    _torch(tmp_path, f"__version__ = '2.13.0'\n{line}\n")
    facts = _facts(tmp_path)
    assert facts["torch.version"].value == "2.13.0"
    for name in ("build", "cuda_version", "cuda_tag"):
        assert facts[f"torch.{name}"].state is State.UNKNOWN
        assert "cuda" in facts[f"torch.{name}"].why


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (
            _VERSION,
            {
                "build": "cuda",
                "cuda_version": "12.4",
                "cuda_major": "12",
                "cuda_tag": "cu124",
                "local": "cu124",
            },
        ),
        (
            "__version__ = '2.5.1'\ncuda = None\nhip = '6.2.41133'\n",
            {"build": "rocm", "hip_version": "6.2.41133"},
        ),
        (
            "__version__ = '2.8.0+xpu'\ncuda = None\nxpu = '20250101'\n",
            {"build": "xpu", "xpu_version": "20250101"},
        ),
        ("__version__ = '2.5.1+cpu'\ncuda = None\nhip = None\n", {"build": "cpu", "local": "cpu"}),
        (
            "__version__ = '2.5.0a0+872d.nv24.08'\ncuda = '12.6'",
            {"release": "2.5.0a0", "minor": "2.5", "cuda_tag": "cu126"},
        ),
    ],
)
def test_the_build_is_read_from_version_py(
    tmp_path: Path, source: str, expected: dict[str, object]
) -> None:
    _torch(tmp_path, source)
    facts = _facts(tmp_path)
    assert {name: facts[f"torch.{name}"].value for name in expected} == expected
    assert facts["torch.cuda_version"].state is (
        State.PRESENT if "cuda_tag" in expected else State.ABSENT
    )


@pytest.mark.parametrize(
    "source", ["", "__version__ = '2.5.1", "\0\0\0", "__version__ = read()", "(" * 5000]
)
def test_a_garbled_version_py_is_unknown(tmp_path: Path, source: str) -> None:
    _torch(tmp_path, source)
    facts = _facts(tmp_path)
    for name in ("version", "build", "cuda_version"):
        assert facts[f"torch.{name}"].state is State.UNKNOWN
        assert "version.py" in facts[f"torch.{name}"].why


@pytest.mark.parametrize(
    ("line", "standard"),
    [
        ("    common_cflags += ['-std=c++20', '-fPIC']", 20),
        ("    cflags = common_cflags + ['-fPIC', '-std=c++17'] + extra_cflags", 17),
        ("        cuda_cflags = ['-std=c++14']", 14),
        ("nothing", None),
    ],
)
def test_the_standard_that_builds_ask_for(tmp_path: Path, line: str, standard: int | None) -> None:
    _torch(
        tmp_path,
        files={"torch/utils/cpp_extension.py": f"'''flags such as -std=c++11'''\n{line}\n"},
    )
    assert _facts(tmp_path)["torch.cxx_standard"].value == standard


def test_a_source_of_one_line_costs_its_length(tmp_path: Path) -> None:
    _torch(tmp_path, files={"torch/utils/cpp_extension.py": "common_cflags" * 80_000})
    begun = time.process_time()
    assert _facts(tmp_path)["torch.cxx_standard"].value is None
    assert (
        time.process_time() - begun < 5
    )  # half a minute where each mention of the flags was followed to the end of the line


def test_whether_a_source_file_holds_the_cure(tmp_path: Path) -> None:
    wrap = "torch/_higher_order_ops/triton_kernel_wrap.py"
    for prefix, content in (("old", "pass"), ("new", "def specialize_symbolic(arg): ...")):
        _torch(tmp_path / prefix, files={wrap: content})
    _torch(tmp_path / "older")
    assert _facts(tmp_path / "old")["torch.specializes_symbolic"].value is False
    assert _facts(tmp_path / "new")["torch.specializes_symbolic"].value is True
    assert _facts(tmp_path / "older")["torch.specializes_symbolic"].state is State.ABSENT


@pytest.mark.parametrize(("symbol", "abi"), [(_NEW, True), (_OLD, False), ("unrelated", None)])
def test_the_abi_is_told_by_a_constructor(
    tmp_path: Path, link: Link, symbol: str, abi: bool | None
) -> None:
    link(_torch(tmp_path) / "lib/libc10.so", _function(symbol))
    facts = _facts(tmp_path)
    assert facts["torch.cxx11_abi"].value is abi
    assert facts["torch.cxx11_abi_tag"].value == (None if abi is None else str(abi).upper())


def test_what_is_compiled_into_the_libraries(tmp_path: Path, link: Link) -> None:
    library = _torch(tmp_path) / "lib"
    strings = ("sm_75 sm_90 sm_90a compute_120", "numpy._core._multiarray_umath", "sm_75")
    link(library / "libtorch_python.so", _strings(*strings))
    put(library / "libtorch_cuda.so")
    facts = _facts(tmp_path)
    assert facts["torch.arch_list"].value == ["sm_75", "sm_90", "sm_90a", "compute_120"]
    assert facts["torch.numpy_abi"].value == 2
    assert facts["torch.glibc_min"].state is State.UNKNOWN
    assert "empty" in facts["torch.glibc_min"].why


def test_a_build_for_one_architecture_and_the_older_numpy(tmp_path: Path, link: Link) -> None:
    library = _torch(tmp_path) / "lib"
    text = _strings("sm_90", "numpy.core._multiarray_umath")
    link(
        library / "libtorch_python.so",
        f"#include <stdio.h>\n{text}\nint p(void) {{ return puts(s0()); }}",
    )
    (library / "libtorch_cuda.so").symlink_to("libtorch_python.so")
    facts = _facts(tmp_path)
    assert facts["torch.arch_list"].value == ["sm_90"]
    assert facts["torch.numpy_abi"].value == 1
    assert str(facts["torch.glibc_min"].value).startswith("2.")


def test_a_build_without_cuda_has_no_architectures(tmp_path: Path, link: Link) -> None:
    link(_torch(tmp_path) / "lib/libtorch_python.so", _strings("sm_90 sm_100"))
    assert _facts(tmp_path)["torch.arch_list"].state is State.ABSENT


@pytest.mark.parametrize(
    "content",
    [b"", b"version https://git-lfs.github.com/spec/v1\n", b"\x7fELF\x02\x01" + bytes(99)],
)
def test_damaged_libraries_are_unknown(tmp_path: Path, content: bytes) -> None:
    library = _torch(tmp_path) / "lib"
    for name in ("libc10.so", "libtorch_python.so", "libtorch_cuda.so"):
        put(library / name, content)
    facts = _facts(tmp_path)
    for name in ("cxx11_abi", "arch_list", "numpy_abi", "glibc_min"):
        assert facts[f"torch.{name}"].state is State.UNKNOWN
    assert facts["torch.version"].value == "2.5.1+cu124"


@pytest.mark.patient
def test_a_real_torch(torch_python: Path) -> None:
    seen = values(facts_of(torch.probe(seen_of(torch_python))))
    assert seen["torch.version"] == "2.13.0+cu130"
    assert (seen["torch.build"], seen["torch.cuda_major"], seen["torch.cxx_standard"]) == (
        "cuda",
        "13",
        20,
    )
    assert (seen["torch.cxx11_abi"], seen["torch.numpy_abi"], seen["torch.glibc_min"]) == (
        True,
        2,
        "2.28",
    )
    assert seen["torch.specializes_symbolic"] is True


@pytest.mark.patient
def test_the_architectures_are_those_that_torch_itself_tells(torch_python: Path) -> None:
    seen = values(facts_of(torch.probe(seen_of(torch_python))))
    command = [str(torch_python), "-c", "import torch; print(torch._C._cuda_getArchFlags())"]
    told = subprocess.run(command, check=True, capture_output=True, text=True, timeout=120).stdout
    assert seen["torch.arch_list"] == told.split()
