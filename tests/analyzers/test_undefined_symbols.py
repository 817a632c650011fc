"""Missing symbols are explained by their owner and by the releases that export them."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from doctor.analyzers.case import Explanation, Precision
from doctor.analyzers.undefined_symbols import explain
from doctor.base.globs import matches_any
from doctor.model.scales import Severity
from tests.analyzers.logs import case_of
from tests.each import each

PACKAGES = "/venv/lib/python3.12/site-packages"


def first(text: str, facts: Mapping[str, object] | None = None) -> Explanation:
    """Return the first explanation of a log."""
    return next(iter(explain(case_of(text, facts))))


def loading(file: str, symbol: str) -> str:
    """Return what Python prints of a file that lacks a symbol."""
    return f"ImportError: {file}: undefined symbol: {symbol}"


def test_the_release_that_a_file_was_built_for() -> None:
    """c10::cuda::SetDevice(int) is there in torch 2.1 and 2.2 only."""
    text = loading(f"{PACKAGES}/x_cuda.cpython-312-x86_64-linux-gnu.so", "_ZN3c104cuda9SetDeviceEi")
    found = first(text, {"torch.release": "2.6.0"})
    assert found.precision is Precision.EXACT
    assert "was built for torch 2.1.0 to 2.2.2, and torch 2.6.0 is here" in found.detection.title
    assert "c10::cuda::SetDevice(int)" in found.detection.message


def test_an_extension_for_a_newer_torch_wants_a_newer_torch() -> None:
    """The first fix follows from the direction; companions come from the tables."""
    text = loading(f"{PACKAGES}/x.so", "_ZN3c104cuda9SetDeviceEa")
    newer, older = (
        first(text, {"torch.release": release}).detection.recipes[0].title
        for release in ("2.1.0", "2.12.0")
    )
    assert newer.startswith("Install torch 2.7.1")
    assert older.startswith("Install the package of this file again")


@pytest.mark.parametrize("release", ["2.7.0", "2.6.0"])
def test_the_abi_where_the_release_has_the_name(release: str) -> None:
    """PyPI's torch has the new C++ ABI from 2.7 on.

    A 2.6 that lacks the old name is another build.
    """
    text = loading(f"{PACKAGES}/x.so", "_ZN3c105ErrorC2ENS_14SourceLocationESs")
    found = first(text, {"torch.release": release})
    assert "compiled with the old C++ ABI" in found.detection.title


def test_no_torch_is_installed_without_knowing_the_present_one() -> None:
    """A range without an end says nothing about which release is meant."""
    text = loading(f"{PACKAGES}/x.so", "_ZN3c104cuda9SetDeviceEab")
    titles = [recipe.title for recipe in first(text).detection.recipes]
    assert not any(title.startswith("Install torch") for title in titles)
    older = first(text, {"torch.release": "2.6.0"}).detection.recipes[0]
    assert older.steps[0].install == ("torch==2.8.0",)


def test_a_name_that_every_torch_has() -> None:
    """No release explains it: torch was not imported before the extension."""
    (found,) = explain(case_of(loading("./smtl_cuda.so", "THPVariableClass")))
    assert found.detection.id == "failure/torch-not-loaded"
    assert found.detection.recipes[0].title == "Import torch before the extension"


_LISTING = f"""\
<ipython-input-1-1> in <module>
      1 import torch
----> 2 import flash_attn

{PACKAGES}/flash_attn/interface.py in <module>
      4
----> 5 import flash_attn_cuda
"""
_CALL = f"""\
  File "{PACKAGES}/torch/nn/modules/module.py", line 1511, in _call_impl
  File "/w/model.py", line 7, in forward
"""
_AFTER_TORCH = [
    ("a listing of IPython", _LISTING, "Install flash-attn again"),
    ("a frame of torch", _CALL, "Install the package of this file again"),
]


def test_a_name_of_each_known_torch_where_torch_was_imported_before() -> None:
    """Then the torch that is here is older than all known ones, or an own build."""

    def look(case: tuple[str, str]) -> None:
        above, title = case
        (found,) = explain(case_of(above + loading("/v/smtl_cuda.so", "THPVariableClass")))
        assert found.detection.id == "failure/built-for-other-torch"
        assert "torch/extension-built-for-other-torch" not in found.contradicts
        assert found.detection.recipes[0].title.startswith(title)

    each(((name, (above, title)) for name, above, title in _AFTER_TORCH), look)
    older = first(loading("/v/smtl_cuda.so", "THPVariableClass"), {"torch.release": "1.12.1"})
    assert "another torch than 1.12.1" in older.detection.title


def test_a_driver_without_a_function_is_too_old_by_its_own_number() -> None:
    text = loading("/usr/lib64/libcuda.so.418.87.00", "cuCtxCreate_v3")
    found = first(text)
    assert found.detection.title.startswith("The NVIDIA driver 418.87.00 is too old")
    assert found.detection.recipes[0].title.startswith("Install a newer NVIDIA driver")
    unnumbered = first(loading("/v/own_cuda.so", "cuCtxCreate_v3"))
    assert unnumbered.detection.recipes[0].title.startswith("See which driver runs")


def test_a_name_of_the_old_backend_is_not_the_packages_own() -> None:
    found = first(loading("/x/dist-packages/my_conv.cpython-36m-x86_64-linux-gnu.so", "_THError"))
    assert "torch before 1.11" in found.detection.title


def test_a_list_of_what_a_library_gets_from_python_is_no_failure() -> None:
    text = "undefined symbol: PyObject_Call (/envs/x/torch/lib/libtorch_python.so)"
    assert not list(explain(case_of(text)))


def test_a_title_of_a_thread_is_no_second_file() -> None:
    symbol = "_ZN3c104cuda9SetDeviceEi"
    text = f"# undefined symbol: {symbol}\n{loading(f'{PACKAGES}/x.so', symbol)}"
    assert len(list(explain(case_of(text)))) == 1


def test_several_symbols_narrow_the_releases() -> None:
    text = "\n".join(
        loading(f"{PACKAGES}/x.so", symbol)
        for symbol in (
            "_ZN3c104cuda9SetDeviceEa",
            "_ZNK3c1011StorageImpl27throw_data_ptr_access_errorEv",
        )
    )
    (found,) = explain(case_of(text))
    assert "torch 2.6.0 to 2.7.1" in found.detection.title


@pytest.mark.parametrize(
    ("file", "symbol", "readable"),
    [
        (
            f"{PACKAGES}/vllm/_C.abi3.so",
            "_Z20cutlass_moe_mm_sm100RN2at6TensorERKS0_S3_S3_S3_S3_S3_S3_S3_S3_S3_bb",
            "vllm/_C.abi3.so lacks cutlass_moe_mm_sm100",
        ),
        ("/tmp/e5/mun/mun.so", "_Z6g_cudaN2at6TensorE", "mun.so lacks g_cuda(at::Tensor)"),
        ("./libown.so", "own_kernel_launch", "libown.so lacks own_kernel_launch"),
    ],
)
def test_a_symbol_of_the_package_itself(file: str, symbol: str, readable: str) -> None:
    """No torch has it, so the known issues that speak of another torch are ruled out."""
    found = first(loading(file, symbol))
    assert found.detection.id == "failure/own-symbol-missing"
    assert readable in found.detection.title
    assert "without its GPU code" in found.detection.title
    for issue in ("vllm/built-for-other-torch", "torch/extension-built-for-other-torch"):
        assert matches_any(issue, found.contradicts)


@pytest.mark.parametrize(
    ("file", "symbol", "title", "fix"),
    [
        (
            "/home/u/ext/ascend_ops.so",
            "_ZN7c10_npu3acl15AclrtPeekAtErrEv",
            "was built for another torch_npu",
            "Install the torch-npu that the file was built against",
        ),
        (
            f"{PACKAGES}/torch_npu/lib/libtorch_npu.so",
            "_ZN3atb15CreateOperationINS_5infer9SomeParamEEEiRKT_PPNS_9OperationE",
            "was built for another ATB of nnal",
            "Install the nnal of the CANN",
        ),
        (
            f"{PACKAGES}/torch_npu/lib/libtorch_npu.so",
            "aclrtSomeNewCall",
            "was built for another CANN",
            "Install the CANN",
        ),
    ],
)
def test_a_symbol_of_a_backend_is_not_the_files_own(
    file: str, symbol: str, title: str, fix: str
) -> None:
    """A namespace of another vendor's library says that the file was built for another release."""
    found = first(loading(file, symbol))
    assert found.detection.id == "failure/symbol-of-another-backend"
    assert title in found.detection.title
    assert found.detection.recipes[0].title.startswith(fix)


def test_a_symbol_of_the_backend_itself() -> None:
    """What torch_npu's own library lacks of its own namespace is its own."""
    found = first(
        loading(f"{PACKAGES}/torch_npu/lib/libtorch_npu.so", "_ZN7c10_npu3acl15AclrtPeekAtErrEv")
    )
    assert found.detection.id == "failure/own-symbol-missing"


@pytest.mark.parametrize(
    ("text", "id_", "words"),
    [
        pytest.param(
            f"ImportError: {PACKAGES}/torch/lib/../../nvidia/cusparse/lib/libcusparse.so.12: "
            "undefined symbol: __nvJitLinkComplete_12_4, version libnvJitLink.so.12",
            "cuda-libraries-mixed",
            "needs nvJitLink of CUDA 12.4 or newer",
            id="nvJitLink",
        ),
        pytest.param(
            f"ImportError: {PACKAGES}/torch/lib/libtorch_cuda.so: undefined symbol: "
            "ncclCommRegister",
            "cuda-libraries-mixed",
            "NCCL",
            id="NCCL",
        ),
        pytest.param(
            "Could not load library libcudnn_cnn_infer.so.8. Error: "
            "/lib/x86_64-linux-gnu/libcudnn_cnn_infer.so.8: undefined symbol: "
            "_ZN5cudnn3cnn34layerNormFwd_execute_internal_implEP11CUstream_st, "
            "version libcudnn_ops_infer.so.8",
            "cuda-libraries-mixed",
            "cuDNN",
            id="two cuDNN",
        ),
        pytest.param(
            "ImportError: /x/lib/python3.11/site-packages/sp.cpython-310-x86_64-linux-gnu.so: "
            "undefined symbol: _PyThreadState_UncheckedGet",
            "built-for-other-python",
            "was built for Python 3.10, and Python 3.11 runs",
            id="Python",
        ),
        pytest.param(
            "ImportError: /x/site-packages/a/_b.so: undefined symbol: __isoc23_strtol",
            "c-library-too-old",
            "needs glibc 2.38",
            id="glibc 2.38",
        ),
        pytest.param(
            "x: relocation error: /opt/lib/libpthread.so.0: symbol __libc_vfork, version "
            "GLIBC_PRIVATE not defined in file libc.so.6 with link time reference",
            "two-c-libraries",
            "Two C libraries",
            id="two glibc",
        ),
        pytest.param(
            "ImportError: /opt/conda/lib/python3.11/lib-dynload/_ctypes.so: undefined symbol: "
            "ffi_type_uint32",
            "symbol-of-another-library",
            "libffi",
            id="libffi",
        ),
        pytest.param(
            "OSError: /x/torch/lib/libtorch_cpu.so: undefined symbol: iJIT_NotifyEvent",
            "symbol-of-another-library",
            "MKL",
            id="MKL 2024.1",
        ),
        pytest.param(
            "ImportError: dlopen(/a/_m.so, 2): Symbol not found: (_cblas_caxpy$NEWLAPACK)\n"
            "  Referenced from: /a/site-packages/numpy/_m.so\n"
            "  Expected in: /System/Library/Frameworks/Accelerate.framework/Versions/A/Accelerate",
            "macos-too-old",
            "_m.so needs macOS 13.3 or newer",
            id="Accelerate",
        ),
    ],
)
def test_the_owner_of_a_symbol(text: str, id_: str, words: str) -> None:
    found = first(text)
    assert found.detection.id == f"failure/{id_}"
    assert words in found.detection.title


def test_a_function_asked_through_ctypes_is_a_note() -> None:
    """The library was loaded: it is the one that lacks the function, not the one that asks."""
    found = first(
        "AttributeError: /env/lib/libllama.so: undefined symbol: llama_n_ctx_train",
    )
    assert found.detection.id == "failure/library-of-another-release"
    assert found.detection.severity is Severity.NOTE


@pytest.mark.parametrize(
    ("text", "id_", "words"),
    [
        pytest.param(
            "/usr/bin/ld: /tmp/tmpxft_0-11_a.o: in function `main':\n"
            "tmpxft_0-6_a.cudafe1.cpp:(.text+0x6b): undefined reference to `cublasCreate_v2'\n"
            "collect2: error: ld returned 1 exit status",
            "library-not-linked",
            "libcublas, which has cublasCreate_v2",
            id="cuBLAS",
        ),
        pytest.param(
            "a.cpp:(.text+0x5): undefined reference to `f()'",
            "name-not-linked",
            "f()",
            id="an own name",
        ),
        pytest.param(
            "ld: /x/libfoo.so: undefined reference to `memcpy@GLIBC_2.34'",
            "linker-c-library-too-old",
            "GLIBC_2.34",
            id="conda's sysroot",
        ),
        pytest.param(
            "main.o: undefined reference to `c10::Error::Error(c10::SourceLocation, "
            "std::__cxx11::basic_string<char, std::char_traits<char> >)'",
            "torch-not-linked",
            "c10::Error::Error",
            id="torch",
        ),
        pytest.param(
            'a.obj : error LNK2019: unresolved external symbol "void __cdecl f(int)" (?f@@YAXH@Z) '
            "referenced in function main",
            "name-not-linked",
            "void __cdecl f(int)",
            id="Visual C++",
        ),
        pytest.param(
            "a.obj : error LNK2001: unresolved external symbol cudaLaunchKernel",
            "library-not-linked",
            "cudart.lib",
            id="Visual C++ without cudart",
        ),
    ],
)
def test_a_name_that_a_linker_does_not_find(text: str, id_: str, words: str) -> None:
    found = first(text)
    assert found.detection.id == f"failure/{id_}"
    assert words in found.detection.title


def test_nobody_asks() -> None:
    """A symbol without a file, which no library owns, says nothing."""
    assert not list(explain(case_of("undefined symbol: something_else")))


def test_a_library_of_torch_lacks_a_name_of_an_older_torch() -> None:
    (found,) = explain(
        case_of(
            "ImportError: /home/ada/lib/python3.6/site-packages/torch/lib/libshm.so: undefined "
            "symbol: _ZTI24THRefcountedMapAllocator"
        )
    )
    assert found.detection.id == "failure/torch-files-mixed"
    assert "libraries of two torch releases are mixed" in found.detection.title
