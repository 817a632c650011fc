"""Builds on Windows, by Rust, for AMD's GPUs, in images and by CMake; texts of genuine runs."""

from __future__ import annotations

import pytest

from doctor.analyzers.case import Explanation
from tests.analyzers.explained import explained as all_of
from tests.analyzers.packages import explained, hostile, told


def snippets(found: Explanation) -> list[str]:
    return [one.snippet.after for one in found.detection.recipes if one.snippet is not None]


RUST = "error: linking with `link.exe` failed: exit code: 1120\n  = note: "
OF_CUDART = RUST + (
    "cuda.lib : error LNK2019: unresolved external symbol __cudaRegisterFatBinary referenced in "
    'function "void __cdecl f(void * *)"'
)
OF_CUDNN = (
    "cargo run --release --features=cuda,cudnn -- --prompt cat\n" + RUST + "libcudarc-7e.rlib : "
    "error LNK2019: unresolved external symbol cudnnAdvInferVersionCheck referenced in function g"
)


def test_rust_links_by_a_build_script() -> None:
    found = all_of(OF_CUDART, os="windows")[0]
    assert "cargo:rustc-link-lib=dylib=cudart" in snippets(found)[0]


def test_a_function_that_only_cudnn_8_has() -> None:
    found = all_of(OF_CUDNN, os="windows")[0]
    assert "cuDNN 8" in found.detection.title
    assert snippets(found)[0] == "--features cuda"


def test_the_folder_of_cudnn_on_windows() -> None:
    text = RUST + "LINK : fatal error LNK1181: cannot open input file 'cudnn.lib'"
    found = all_of(text, os="windows")[0]
    assert "native=" in snippets(found)[0]
    assert found.detection.recipes[1].steps[0].run[0] == "robocopy"


@pytest.mark.parametrize(
    ("text", "name", "word"),
    [
        (
            (
                "/ck/block.hpp:543:13: error: use of undeclared identifier "
                "'__builtin_amdgcn_sched_barrier'; did you mean '__builtin_amdgcn_s_getreg'?"
            ),
            "compiler-older-than-sources",
            "ROCm",
        ),
        (
            r'D:\candle\src\unary.cu(34): error: identifier "M_2_SQRTPI" is undefined',
            "sources-for-another-system",
            "_USE_MATH_DEFINES",
        ),
        (
            (
                "building for gfx90c\n/ck/ck.hpp:9:1: error: use of undeclared identifier "
                "'CK_BUFFER_RESOURCE_3RD_DWORD'"
            ),
            "gpu-not-served",
            "gfx90c",
        ),
    ],
)
def test_names_that_a_compiler_would_know(text: str, name: str, word: str) -> None:
    found = told("compilers", text)
    assert found.detection.id == f"failure/{name}"
    assert word in found.detection.title
    assert found.detection.recipes


def test_a_compile_error_of_any_kind_has_a_next_step() -> None:
    text = (
        "ninja: build stopped\n/x/pytorch_ext/a.cpp:3:1: error: 'frob' is not a type\nmake: *** x"
    )
    assert told("compilers", text).detection.recipes


def cmake(message: str) -> str:
    return (
        f"CMake Error at CMakeLists.txt:21 (message):\n  {message}\n\n\n-- Configuring incomplete"
    )


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (cmake("Couldn't find CUDA library root."), "toolkit-not-whole"),
        (
            "NVCC_OUT = No such file or directory\n"
            + cmake("Failed to detect a default CUDA architecture."),
            "cmake-cuda-compiler-broken",
        ),
        (
            "-- CUDA supported archs: \n"
            + cmake("None of the provided CUDA architectures ({60;61;70;75}) is supported by"),
            "cmake-cuda-compiler-missing",
        ),
        (cmake('Unknown CMake command "rocm_package_setup_component".'), "cmake-command-unknown"),
        (cmake('Unknown CMake command "FetchContent_MakeAvailable".'), "cmake-too-old"),
    ],
)
def test_messages_of_cmake(text: str, name: str) -> None:
    found = told("cmake_messages", text)
    assert found.detection.id == f"failure/{name}"
    assert found.detection.recipes


def test_a_crate_without_a_toolkit() -> None:
    text = (
        "error: failed to run custom build command for `cust_raw v0.11.3`\n"
        r"thread 'main' panicked at 'Could not find a cuda installation', C:\Users\k\lib.rs:12:13"
    )
    found = told("cuda_crates", text)
    assert found.detection.title.startswith("cust_raw finds no CUDA toolkit")
    assert "--no-default-features" in snippets(found)[0]


@pytest.mark.parametrize(
    "line",
    [
        (
            "error: failed to solve: executor failed running [/bin/sh -c pip install x]: exit "
            "code: 137"
        ),
        (
            'ERROR: failed to solve: process "/bin/sh -c pip install torch" did not complete '
            "successfully: exit code: 137"
        ),
        "The command '/bin/sh -c pip install torch' returned a non-zero code: 137",
    ],
)
def test_a_step_of_an_image_that_was_killed(line: str) -> None:
    found = told("docker_builds", line)
    assert "--no-cache-dir" in snippets(found)[0]


LISTED = (
    "LibMambaUnsatisfiableError: Encountered problems while solving:\n"
    "- nothing provides requested zlib ==1.2.13 h5eee18b_0\n"
    "- nothing provides requested xz ==5.2.6 h5eee18b_0\n"
    "- nothing provides requested tk ==8.6.12 h1ccaba5_0\n"
)


def test_a_list_that_conda_wrote_on_another_system() -> None:
    assert told("conda_solver", LISTED).detection.id == "failure/conda-builds"
    text = LISTED + "- nothing provides __unix needed by pysocks-1.7.1-pyha2e5f31_6\n"
    found = told("conda_solver", text)
    assert found.detection.id == "failure/conda-other-system"
    assert "Linux or macOS" in found.detection.title


@pytest.mark.parametrize(
    ("line", "name"),
    [
        (
            (
                "/oidn/ck.hpp:957:42: error: a template argument list is expected "
                "[-Wmissing-template-arg-list-after-template-kw]"
            ),
            "missing-template-arg-list-after-template-kw",
        ),
        (
            (
                "foo.c:3:5: error: implicit declaration of function 'f' "
                "[-Werror=implicit-function-declaration]"
            ),
            "implicit-function-declaration",
        ),
        ("foo.cpp:3:5: error: unused variable 'x' [-Werror,-Wunused-variable]", "unused-variable"),
    ],
)
def test_a_warning_that_is_taken_as_an_error(line: str, name: str) -> None:
    found = told("compilers", line)
    assert found.detection.recipes[0].steps[0].env["CXXFLAGS"] == f"-Wno-error={name}"


def test_device_libraries_of_another_rocm() -> None:
    found = told("undefined_symbols", "lld: error: undefined symbol: __oclc_ABI_version")
    assert found.detection.id == "failure/rocm-of-two-releases"


def test_the_version_of_a_symbol_names_its_library() -> None:
    found = told(
        "undefined_symbols",
        "ImportError: /home/u/anaconda3/envs/l/lib/python3.10/site-packages/cv2/../../../libtiff.so"
        ".6: undefined symbol: jpeg12_write_raw_data, version LIBJPEG_8.0",
    )
    assert found.detection.recipes[0].steps[0].run[-2:] == ("libjpeg-turbo", "libtiff")


DKMS = (
    "Building initial module for {kernel}\n"
    "Error! Bad return status for module build on kernel: {kernel} (x86_64)\n"
    "Consult /var/lib/dkms/{module}/build/make.log for more information.\n"
)


@pytest.mark.parametrize(
    ("before", "kernel", "module", "words"),
    [
        (
            "It worked on kernel 6.17.4-76061704-generic\n",
            "6.17.9-76061709-generic",
            "nvidia/580.119.02",
            ("6.17.4-76061704-generic", "newer one"),
        ),
        ("", "6.1.0-21-amd64", "nvidia-current/535.161.08", ("kernel before", "Debian")),
    ],
)
def test_a_driver_that_is_older_than_the_kernel(
    before: str, kernel: str, module: str, words: tuple[str, str]
) -> None:
    found = told("kernel_modules", before + DKMS.format(kernel=kernel, module=module))
    titles = [one.title for one in found.detection.recipes]
    assert all(word in title for word, title in zip(words, titles, strict=True))


@pytest.mark.parametrize(
    ("kernel", "folder", "words"),
    [
        ("6.14.11-4-pve", "nvidia-current-open/535.247.01", ("Proxmox", "repository")),
        ("6.12.57+deb13-common", "nvidia-current/535.247.01", ("kernel before", "Debian")),
    ],
)
def test_the_end_of_a_build_without_the_lines_of_dkms(
    kernel: str, folder: str, words: tuple[str, str]
) -> None:
    text = (
        f"make[2]: *** [/usr/src/linux-headers-{kernel}/Makefile:1951: /var/lib] Error 2\n"
        f"make[1]: Leaving directory '/var/lib/dkms/{folder}/build'\n"
    )
    found = told("kernel_modules", text).detection
    assert found.title.endswith(f"does not build for kernel {kernel.removesuffix('-common')}")
    assert all(word in one.title for word, one in zip(words, found.recipes, strict=True))
    # The module of another driver, and a build that did not stop.
    assert explained("kernel_modules", text.replace("nvidia", "zfs")) == []
    assert explained("kernel_modules", text.partition("\n")[2]) == []


def test_the_log_of_a_build_of_debians_package() -> None:
    text = (
        "DKMS (dkms-3.2.2) make.log for nvidia-current/550.163.01 for kernel 6.18.5+deb13-amd64 "
        "(x86_64)\n  CC [M]  nvidia/nv-nano-timer.o\n"
        "nvidia/nv-nano-timer.c:207:5: error: implicit declaration of function 'del_timer_sync'; "
        "did you mean 'dev_mc_sync'? [-Wimplicit-function-declaration]\n"
        "make[4]: *** [scripts/Makefile.build:287: nvidia/nv-nano-timer.o] Error 1\n"
    )
    found = told("kernel_modules", text).detection
    assert "550.163.01 does not build for kernel 6.18.5+deb13-amd64" in found.title
    assert "nv-nano-timer.c: implicit declaration" in found.message
    assert "Debian" in found.recipes[1].title
    # The switches of a compiler for programs do not reach the kernel's build.
    assert explained("compilers", text) == []


def test_headers_that_are_missing_are_no_matter_of_the_driver() -> None:
    text = "ERROR: Unable to find the kernel source tree for the currently running kernel.\n"
    text += DKMS.format(kernel="6.8.0-40-generic", module="nvidia/550.90")
    assert explained("kernel_modules", text) == []


def test_a_rocm_without_its_tools() -> None:
    text = (
        "5.15.153.1-microsoft-standard-WSL2\n"
        'Can\'t exec "/opt/rocm/bin/rocm_agent_enumerator": No such file or directory at '
        "/usr/bin//hipcc.pl line 488."
    )
    found = told("parts_of_toolkits", text)
    assert "--usecase=wsl,rocm" in found.detection.recipes[0].steps[0].run


def test_the_folder_that_the_build_of_onnxruntime_wants() -> None:
    text = (
        "Build [ERROR] - cuda_home and cudnn_home paths must be specified and valid.\n"
        "cuda_home='/usr/local/cuda' valid=True. cudnn_home='None' valid=False"
    )
    assert snippets(told("parts_of_toolkits", text)) == ["--cudnn_home /usr/lib/x86_64-linux-gnu"]


def test_hostile_words() -> None:
    words = ('CMake Error at a:1 (message):\n  Unknown CMake command "', "panicked at 'Could not")
    hostile("cmake_messages", words)
    hostile("cuda_crates", words)
    hostile(
        "parts_of_toolkits", ("Can't exec \"/opt/rocm/bin/rocminfo", "cuda_home paths must be ")
    )
    hostile("kernel_modules", ("Bad return status for module build on kernel: ", "dkms install "))
    assert explained("cmake_messages", cmake('Unknown CMake command "frobnicate_all".')) == []
