"""Compiler errors are explained by their first cause; the texts are those of real compilers."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from doctor.analyzers.case import Explanation, Precision
from doctor.analyzers.compilers import explain
from doctor.model.scales import Severity
from tests.analyzers.logs import case_of

TORCH = "/venv/lib/python3.12/site-packages/torch/include"


def first(text: str, facts: Mapping[str, object] | None = None) -> Explanation:
    """Return the first explanation of a log."""
    return next(iter(explain(case_of(text, facts))))


@pytest.mark.parametrize(
    ("text", "id_", "words"),
    [
        pytest.param(
            "g++ -std=c++14 -c opt.cpp\n"
            "opt.cpp:2:6: error: ‘optional’ in namespace ‘std’ does not name a template type\n"
            "opt.cpp:3:24: error: ‘is_same_v’ is not a member of ‘std’",
            "cxx-standard",
            "compiles as C++14, and the sources need C++17",
            id="std::optional with C++14",
        ),
        pytest.param(
            f"/usr/bin/g++ -isystem {TORCH} -std=c++14 -c main.cpp -o main.o\n"
            f"{TORCH}/c10/util/C++17.h:25:2: error: #error You need C++17 to compile PyTorch",
            "cxx-standard",
            "compiles as C++14, and the headers of torch need C++17",
            id="torch's own check",
        ),
        pytest.param(
            "/usr/local/cuda-13.0/targets/x86_64-linux/include/cccl/cub/util_cpp_dialect.cuh:88:8: "
            "error: #error CUB requires at least C++17. Define "
            "CCCL_IGNORE_DEPRECATED_CPP_DIALECT to suppress this message.",
            "cxx-standard",
            "CCCL",
            id="CUB of CUDA 13",
        ),
        pytest.param(
            f"{TORCH}/c10/util/C++17.h:13:2: error: #error \"You're trying to build PyTorch with a "
            'too old version of GCC. We need GCC 9 or later."',
            "compiler-too-old",
            "gcc 9 or later",
            id="gcc before 9",
        ),
        pytest.param(
            "nvcc fatal   : Value 'c++17' is not defined for option 'std'",
            "compiler-too-old",
            "nvcc does not know C++17",
            id="nvcc of CUDA 10 with C++17",
        ),
        pytest.param(
            "g++: error: unrecognized command-line option ‘-std=c++20’; did you mean ‘-std=c++2a’?",
            "compiler-too-old",
            "-std=c++20",
            id="gcc 9 with C++20",
        ),
        pytest.param(
            "/usr/local/cuda-12.4/include/crt/host_config.h:143:2: error: #error -- unsupported "
            "GNU version! gcc versions later than 13 are not supported! The nvcc flag "
            "'-allow-unsupported-compiler' can be used to override this version check;\n"
            "In file included from /usr/include/c++/14/cstdlib:41,",
            "host-compiler-too-new",
            "CUDA 12.4 refuses gcc 14: it takes gcc up to 13",
            id="gcc 14 and CUDA 12.4",
        ),
        pytest.param(
            "/usr/include/c++/11/bits/std_function.h:435:145: error: parameter packs not expanded "
            "with ‘...’:\n/usr/local/cuda-11.3/bin/nvcc -c a.cu",
            "host-compiler-too-new",
            "cannot read the headers of gcc 11",
            id="gcc 11's std_function.h",
        ),
        pytest.param(
            "/usr/lib/gcc/x86_64-linux-gnu/13/include/amxtileintrin.h(42): error: identifier "
            '"__builtin_ia32_ldtilecfg" is undefined\n/usr/local/cuda-12.1/bin/nvcc -c a.cu',
            "host-compiler-too-new",
            "nvcc of CUDA 12.1 cannot read the headers of gcc 13",
            id="gcc 13's builtins",
        ),
        pytest.param(
            "C:\\Program Files\\Microsoft Visual "
            "Studio\\2022\\Community\\VC\\Tools\\MSVC\\14.41.34120\\include\\yvals_core.h(898): "
            'error: static assertion failed with "error STL1002: '
            'Unexpected compiler version, expected CUDA 12.4 or newer."\n'
            "C:\\Program Files\\NVIDIA GPU Computing Toolkit\\CUDA\\v11.8\\bin\\nvcc.exe",
            "host-compiler-too-new",
            "CUDA 12.4 or newer",
            id="Visual C++ 14.41 and CUDA 11.8",
        ),
        pytest.param(
            "C:\\cuda\\include\\crt/host_config.h(157): fatal error C1189: #error:  -- unsupported "
            "Microsoft Visual Studio version! Only the versions between 2017 and 2022 (inclusive) "
            "are supported!",
            "host-compiler-too-new",
            "Visual Studio 2017 to 2022",
            id="Visual Studio too new",
        ),
        pytest.param(
            "nvcc fatal   : Unsupported gpu architecture 'compute_120'\n"
            "/usr/local/cuda-12.4/bin/nvcc -c a.cu",
            "architecture-unknown-to-nvcc",
            "needs CUDA 12.8 or newer, and nvcc of CUDA 12.4 is older",
            id="RTX 50 with CUDA 12.4",
        ),
        pytest.param(
            "/usr/local/cuda-13.0/bin/nvcc -c a.cu\n"
            "nvcc fatal   : Unsupported gpu architecture 'compute_60'",
            "architecture-unknown-to-nvcc",
            "CUDA 12.9 is the last toolkit that compiles for sm_60",
            id="Pascal with CUDA 13",
        ),
        pytest.param(
            "nvcc fatal : Unsupported gpu architecture 'compute_61",
            "architecture-unknown-to-nvcc",
            "CUDA 8.0 to 12.9",
            id="Pascal, and nobody knows the toolkit",
        ),
        pytest.param(
            "c++: fatal error: Killed signal terminated program cc1plus\ncompilation terminated.",
            "compiler-out-of-memory",
            "cc1plus",
            id="killed cc1plus",
        ),
        pytest.param(
            "nvcc error   : 'cicc' died due to signal 9 (Kill signal)",
            "compiler-out-of-memory",
            "cicc",
            id="killed cicc",
        ),
        pytest.param(
            "virtual memory exhausted: Cannot allocate memory",
            "compiler-out-of-memory",
            "memory",
            id="ulimit -v",
        ),
        pytest.param(
            "nvcc error   : 'ptxas' died due to signal 11 (Invalid memory reference)",
            "compiler-crashed",
            "crashed",
            id="ptxas crashed",
        ),
        pytest.param(
            "a.cpp:5:1: internal compiler error: Segmentation fault",
            "compiler-crashed",
            "a.cpp",
            id="gcc crashed",
        ),
        pytest.param(
            "a.cc(41): error C3861: 'localtime_r': identifier not found",
            "sources-for-another-system",
            "localtime_r, which Windows does not have",
            id="localtime_r",
        ),
        pytest.param(
            "csrc\\cpu.cpp(3): fatal error C1083: Cannot open include file: 'unistd.h': No such "
            "file or directory",
            "sources-for-another-system",
            "unistd.h",
            id="unistd.h on Windows",
        ),
        pytest.param(
            "cc1plus: error: invalid feature modifier in ‘-march=armv8.2-a+dotprod+fp16’",
            "compiler-too-old-for-processor",
            "-march=armv8.2-a+dotprod+fp16",
            id="instructions of ARM that gcc 7 does not know",
        ),
        pytest.param(
            "g++: error: unrecognized command-line option ‘-fopenmp-simdx’",
            "compiler-option-unknown",
            "-fopenmp-simdx",
            id="an unknown option",
        ),
        pytest.param(
            "clang: error: unsupported option '-fopenmp'\n/opt/homebrew/bin/python3",
            "openmp-missing",
            "Apple's clang has no OpenMP",
            id="OpenMP on macOS",
        ),
        pytest.param(
            "nvcc fatal   : Unknown option '-Wall'",
            "compiler-option-unknown",
            "nvcc does not know the option -Wall",
            id="an option of gcc to nvcc",
        ),
        pytest.param(
            "main.cpp:2:10: fatal error: THC/THC.h: No such file or directory",
            "header-missing",
            "torch 1.10 was the last with THC/THC.h",
            id="THC",
        ),
        pytest.param(
            "hdr.cpp:1:10: fatal error: cuda_runtime.h: No such file or directory",
            "header-missing",
            "a header of the CUDA runtime",
            id="no toolkit",
        ),
        pytest.param(
            "a.cpp:1:10: fatal error: filesystem: No such file or directory",
            "compiler-too-old",
            "<filesystem> came with gcc 8",
            id="a header of a newer C++",
        ),
        pytest.param(
            'x.cu(3): catastrophic error: cannot open source file "cudnn.h"',
            "header-missing",
            "cuDNN",
            id="cudnn.h",
        ),
        pytest.param(
            "x.c:1:10: 致命错误：Python.h：没有那个文件或目录",
            "header-missing",
            "Python",
            id="in Chinese",
        ),
        pytest.param(
            "cc1plus: fatal error: csrc/missing.cpp: No such file or directory",
            "source-missing",
            "csrc/missing.cpp",
            id="a source file",
        ),
        pytest.param(
            "/tmp/mac/main.cpp:2:27: error: ‘AT_CHECK’ was not declared in this scope; did you "
            "mean ‘CHECK’?",
            "cpp-name-gone",
            "AT_CHECK left torch after 1.4",
            id="AT_CHECK",
        ),
        pytest.param(
            'nvcc-prop.cu(2): error: class "cudaDeviceProp" has no member "clockRate"',
            "cpp-name-gone",
            "clockRate left CUDA after 12.9",
            id="clockRate",
        ),
        pytest.param(
            'a.cu(9): error: namespace "cub" has no member "Max"',
            "cpp-name-gone",
            "left CUDA after 12.9",
            id="cub::Max",
        ),
    ],
)
def test_the_class_of_an_error(text: str, id_: str, words: str) -> None:
    found = first(text)
    assert found.detection.id == f"failure/{id_}"
    assert words in found.detection.title


def test_numbers_make_an_explanation_exact() -> None:
    """With the toolkit known, data decides; without it, both directions are named."""
    text = "nvcc fatal   : Unsupported gpu architecture 'compute_120a'"
    assert first(text).precision is Precision.FAMILY
    known = first(text, {"cuda.version": "12.6"})
    assert known.precision is Precision.EXACT
    assert "12.6" in known.detection.title


def test_a_newer_toolkit_that_takes_the_compiler_is_named() -> None:
    text = (
        "/usr/local/cuda-12.4/include/crt/host_config.h:143:2: error: #error -- unsupported GNU "
        "version! gcc versions later than 13 are not supported!\n"
        "In file included from /usr/include/c++/14/cstdlib:41,"
    )
    assert "CUDA 12.8 is the first that takes gcc 14" in first(text).detection.message


def test_a_name_that_this_release_still_has_is_no_cause() -> None:
    """AT_CHECK is there in torch 1.4: then the reason is another one."""
    text = "main.cpp:2:27: error: ‘AT_CHECK’ was not declared in this scope"
    found = list(explain(case_of(text, {"torch.release": "1.4.0"})))
    assert all(one.detection.id != "failure/cpp-name-gone" for one in found)


def test_an_accepted_host_compiler_is_not_blamed() -> None:
    """CUDA 12.4 takes gcc 12, so an error in its headers has another reason."""
    text = (
        "/usr/local/cuda-12.4/bin/nvcc -c a.cu\n"
        '/usr/include/c++/12/bits/stl_algo.h(5): error: identifier "foo" is undefined'
    )
    found = list(explain(case_of(text)))
    assert all(one.detection.id != "failure/host-compiler-too-new" for one in found)


def test_the_flag_of_the_build_decides() -> None:
    """A name of std that is missing under C++17 lacks its #include, not the standard."""
    text = "g++ -std=c++17 -c a.cpp\na.cpp:2:6: error: ‘optional’ is not a member of ‘std’"
    found = list(explain(case_of(text)))
    assert all(one.detection.id != "failure/cxx-standard" for one in found)


def test_the_table_of_host_compilers_has_a_beginning() -> None:
    """Toolkits before the first row may take an old gcc as well."""
    text = '/usr/include/c++/8/type_traits(335): error: identifier "__float128" is undefined'
    assert "is the first that takes" not in first(text).detection.message


def test_a_program_is_no_header() -> None:
    text = "gcc: fatal error: cannot execute 'cc1plus': execvp: No such file or directory"
    assert all(one.detection.id != "failure/header-missing" for one in explain(case_of(text)))


def test_only_the_first_error_of_an_unknown_class_is_explained() -> None:
    text = (
        f"{TORCH}/ATen/core/Tensor.h:9:1: error: expected unqualified-id\n"
        "b.cpp:2:1: error: expected ‘;’ before ‘int’"
    )
    found = list(explain(case_of(text)))
    assert [one.event.line for one in found] == [1]
    assert "header of torch" in found[0].detection.message


def test_a_program_of_ones_own_gives_a_note() -> None:
    """A borrow error in src/main.rs is no fault of the stack."""
    text = (
        "   Compiling x v0.1.0 (/home/ada/x)\nerror[E0308]: mismatched types\n --> "
        "src/main.rs:1:24\n"
    )
    assert first(text).detection.severity is Severity.NOTE


def test_an_error_in_a_crate_is_an_error() -> None:
    text = (
        "error[E0308]: mismatched types\n"
        "  --> /root/.cargo/registry/src/index.crates.io-6f17/half-2.4.1/src/bfloat.rs:1:24\n"
    )
    assert first(text).detection.severity is Severity.ERROR


@pytest.mark.parametrize(
    "text",
    [
        "collect2: error: ld returned 1 exit status",
        "RuntimeError: Error compiling objects for extension",
        "main.cpp:5:1: warning: unused variable",
        "-- Performing Test HAVE_X - Failed",
    ],
)
def test_nothing_is_said_of_reports_about_others(text: str) -> None:
    assert not list(explain(case_of(text)))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            'csrc/dense.cu(22): error: identifier "cublasLtMatmulDescOpaque_t" is undefined',
            "cublasLtMatmulDescOpaque_t came with CUDA 11.0",
        ),
        (
            'csrc/spmm.cu(9): error: identifier "cusparseScsrmm" is undefined',
            "cusparseScsrmm left CUDA after 10.2",
        ),
        (
            "rnn.cpp:7:3: error: ‘cudnnSetRNNDescriptor_v6’ was not declared in this scope",
            "cudnnSetRNNDescriptor_v6 left cuDNN after 8.9.6",
        ),
    ],
)
def test_a_name_of_cuda_has_its_releases(text: str, words: str) -> None:
    found = list(explain(case_of(text)))
    assert found[0].detection.title.startswith(words)
    assert found[0].detection.recipes


def test_a_release_that_has_the_name_is_not_blamed() -> None:
    text = (
        "nvcc of /usr/local/cuda-12.4/bin\n"
        'csrc/dense.cu(22): error: identifier "cublasLtMatmulDescOpaque_t" is undefined'
    )
    assert all("came with" not in one.detection.title for one in list(explain(case_of(text))))


def test_sources_for_a_newer_torch_get_a_newer_torch() -> None:
    found, *_ = explain(
        case_of("csrc/layer_norm_cuda.cpp:30:5: error: ‘IntArrayRef’ is not a member of ‘at’")
    )
    assert found.detection.recipes[0].steps[0].install == ("torch>=1.1",)


def test_the_fault_of_nvcc_10_is_not_the_sources() -> None:
    found, *_ = explain(
        case_of(
            "/opt/rh/devtoolset-7/root/usr/include/c++/7/bits/basic_string.tcc:1067:16: error: "
            "cannot call member function ‘void std::basic_string<_CharT>::_Rep::_M_set_sharable()’ "
            "without object\nerror: command '/usr/local/cuda/bin/nvcc' failed with exit status 1"
        )
    )
    assert found.detection.title.startswith("A fault of nvcc")


@pytest.mark.parametrize(
    ("arch", "toolkit", "wanted"),
    [("86", "11.0", "8.0"), ("89", "11.3", "8.6"), ("120", "12.4", "9.0+PTX")],
)
def test_an_nvcc_that_is_too_old_compiles_what_the_gpu_can_run(
    arch: str, toolkit: str, wanted: str
) -> None:
    found, *_ = explain(
        case_of(
            f"    from /usr/local/cuda-{toolkit}/bin\n"
            f"nvcc fatal   : Unsupported gpu architecture 'compute_{arch}'"
        )
    )
    first, *_ = found.detection.recipes
    assert first.steps[0].env == {"TORCH_CUDA_ARCH_LIST": wanted}


def test_the_toolkit_is_not_offered_for_what_it_does_not_bring() -> None:
    found, *_ = explain(case_of("ops.h:22:10: fatal error: nccl.h: No such file or directory"))
    assert found.detection.recipes[0].steps[0].system["apt"] == ("libnccl-dev",)
    assert not any("CUDA_HOME" in str(one.steps) for one in found.detection.recipes)
