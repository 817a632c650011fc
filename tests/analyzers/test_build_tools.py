"""Missing programs, CMake, Rust and linkers; the texts are those of the real programs."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from doctor.analyzers import cmake, cmake_messages, links, programs, rust
from doctor.analyzers.case import Analyzer, Explanation, Precision
from tests.analyzers.logs import case_of
from tests.analyzers.packages import told


def first(analyzer: Analyzer, text: str, facts: Mapping[str, object] | None = None) -> Explanation:
    """Return the first explanation of a log."""
    return next(iter(analyzer(case_of(text, facts))))


@pytest.mark.parametrize(
    ("analyzer", "text", "id_", "words"),
    [
        (programs.explain, "sh: 1: nvcc: not found", "nvcc-missing", "nvcc is not found"),
        (
            cmake_messages.explain,
            "ninja: error: loading 'build.ninja': No such file or directory",
            "build-not-configured",
            "no build.ninja",
        ),
        (
            programs.explain,
            "gcc: fatal error: cannot execute ‘cc1plus’: execvp: No such file or directory",
            "program-missing",
            "cc1plus is not found",
        ),
        (programs.explain, "sh: 1: cicc: not found", "nvcc-missing", "cicc is not found"),
        (
            programs.explain,
            "FileNotFoundError: [Errno 2] No such file or directory: '/usr/local/cuda/bin/nvcc'",
            "nvcc-missing",
            "CUDA toolkit",
        ),
        (
            programs.explain,
            "error: command 'x86_64-linux-gnu-gcc' failed: No such file or directory",
            "program-missing",
            "gcc is not found",
        ),
        (
            programs.explain,
            "FileNotFoundError: [Errno 2] No such file or directory: 'g++'",
            "program-missing",
            "g++ is not found",
        ),
        (programs.explain, "error: linker `cc` not found", "program-missing", "cc is not found"),
        (
            programs.explain,
            "error: Microsoft Visual C++ 14.0 or greater is required.",
            "visual-cpp-missing",
            "cl.exe is not found",
        ),
        (
            programs.explain,
            "'nvcc' is not recognized as an internal or external command,",
            "nvcc-missing",
            "nvcc",
        ),
        (
            programs.explain,
            "error: linker `link.exe` not found",
            "visual-cpp-missing",
            "link.exe",
        ),
        (
            programs.explain,
            'CMake was unable to find a build program corresponding to "Ninja".',
            "program-missing",
            "Ninja",
        ),
        (programs.explain, "Could not find `protoc`.", "program-missing", "protoc"),
        (
            rust.explain,
            (
                "error: rustc 1.75.0 is not supported by the following package:\n"
                "  x@0.1.0 requires rustc 1.80"
            ),
            "rust-too-old",
            "x@0.1.0 needs Rust 1.80 or newer, and 1.75.0 is here",
        ),
        (
            rust.explain,
            (
                "error: package `a v1.2.0` cannot be built because it requires rustc 1.81 or "
                "newer, while the currently active rustc version is 1.75.0"
            ),
            "rust-too-old",
            "a v1.2.0 needs Rust 1.81 or newer, and 1.75.0 is here",
        ),
        (
            rust.explain,
            "  feature `edition2024` is required",
            "rust-too-old",
            "needs Rust 1.85 or newer",
        ),
        (
            rust.explain,
            (
                "error[E0463]: can't find crate for `std`\n  |\n"
                "  = note: the `aarch64-unknown-linux-gnu` target may not be installed"
            ),
            "rust-target-missing",
            "aarch64-unknown-linux-gnu",
        ),
        (
            rust.explain,
            (
                "thread 'main' panicked at 'Unable to find libclang: \"couldn't find any valid "
                "shared libraries\"'"
            ),
            "libclang-missing",
            "libclang",
        ),
        (
            cmake.explain,
            (
                "CMake Error at CMakeLists.txt:1 (cmake_minimum_required):\n"
                "  CMake 3.31 or higher is required.  You are running version 3.25.1"
            ),
            "cmake-too-old",
            "needs CMake 3.31, and 3.25.1 is here",
        ),
        (
            cmake.explain,
            (
                "CMake Error at CMakeLists.txt:5 (cmake_minimum_required):\n"
                "  Compatibility with CMake < 3.5 has been removed from CMake."
            ),
            "cmake-project-too-old",
            "CMake before 3.5",
        ),
        (
            cmake.explain,
            (
                "CMake Error at /usr/share/cmake-3.25/Modules/CMakeDetermineCUDACompiler.cmake:180 "
                "(message):\n  Failed to find nvcc."
            ),
            "cmake-cuda-compiler-missing",
            "finds no nvcc",
        ),
        (
            cmake.explain,
            (
                "CMake Error at CMakeLists.txt:3 (find_package):\n"
                '  By not providing "FindTorch.cmake" in CMAKE_MODULE_PATH this project has'
            ),
            "cmake-package-missing",
            "Torch: torch for C++",
        ),
        (
            cmake.explain,
            (
                "CMake Error at "
                "/usr/share/cmake-3.25/Modules/FindPackageHandleStandardArgs.cmake:230 "
                "(message):\n  Could NOT find MPI (missing: MPI_CXX_FOUND)"
            ),
            "cmake-package-missing",
            "MPI",
        ),
        (
            links.explain,
            "/usr/bin/ld: cannot find -lcuda: No such file or directory",
            "library-not-linked",
            "the library of the NVIDIA driver",
        ),
        (
            links.explain,
            (
                "/usr/bin/ld: cannot find -lcudart: No such file or directory\n"
                "/usr/bin/ld: cannot find -lfoo_x: No such file or directory"
            ),
            "library-not-linked",
            "cudart, a library of CUDA (and foo_x)",
        ),
        (
            links.explain,
            "LINK : fatal error LNK1104: cannot open file 'python310.lib'",
            "library-not-linked",
            "the import library of Python",
        ),
        (
            links.explain,
            "a.o: relocation truncated to fit: R_X86_64_PC32 against symbol `x'",
            "too-large-to-link",
            "too large",
        ),
        (
            links.explain,
            (
                "x.obj : fatal error LNK1112: module machine type 'x64' conflicts with target "
                "machine type 'x86'"
            ),
            "wrong-machine-linked",
            "x64 and x86",
        ),
    ],
    ids=lambda one: one[:40] if isinstance(one, str) else "",
)
def test_what_stops_a_build(analyzer: Analyzer, text: str, id_: str, words: str) -> None:
    found = first(analyzer, text)
    assert found.detection.id == f"failure/{id_}"
    assert words in found.detection.title


def test_an_optional_package_of_cmake_is_no_failure() -> None:
    """CMake reports each search; only an error ends the configuration."""
    text = (
        "-- Could NOT find MPI_CXX (missing: MPI_CXX_LIB_NAMES)\n-- Looking for pthread.h - found"
    )
    assert not list(cmake.explain(case_of(text)))


def test_triton_has_known_issues_of_its_own() -> None:
    text = (
        '  File "/venv/lib/python3.10/site-packages/torch/_inductor/compile_fx.py", line 90\n'
        "/usr/bin/ld: cannot find -lcuda: No such file or directory"
    )
    assert not list(links.explain(case_of(text)))


def test_apt_is_not_offered_on_windows() -> None:
    text = (
        "C:\\Users\\ada\\project> pip install .\n"
        "'gcc' is not recognized as an internal or external command,"
    )
    found = first(programs.explain, text, {"host.os": "windows"})
    assert not any(step.system for one in found.detection.recipes for step in one.steps)


def test_the_release_of_torch_names_the_toolkit() -> None:
    found = first(programs.explain, "sh: 1: nvcc: not found", {"torch.cuda_version": "12.8"})
    assert "CUDA 12.8" in found.detection.title


def test_the_wanted_release_of_cmake_is_installed() -> None:
    text = "  CMake 3.26 or higher is required.  You are running version 3.22.1"
    found = first(cmake.explain, text)
    assert found.detection.recipes[0].steps[0].install == ("cmake>=3.26,<4",)
    assert found.precision is Precision.EXACT


def test_a_library_of_unix_is_not_missing_on_windows() -> None:
    found = told("links", "LINK : fatal error LNK1181: cannot open input file 'm.lib'").detection
    assert found.title == "The build asks for m.lib, a library of Unix that Windows does not have"


def test_a_compiler_that_cmake_cannot_use_on_windows_is_tried_with_ninja() -> None:
    log = "-- The CXX compiler is MSVC\n-- The CUDA compiler identification is unknown"
    first, *_ = told("cmake", log).detection.recipes
    assert "Ninja" in first.title


def test_a_module_of_cmake_itself_is_missing_in_an_old_cmake() -> None:
    found = told(
        "cmake",
        "CMake Warning at CMakeLists.txt:27 (find_package):\n  By not providing "
        '"FindCUDAToolkit.cmake" in CMAKE_MODULE_PATH this project\n',
    ).detection
    assert found.title == "This CMake is older than 3.17, which brought FindCUDAToolkit.cmake"
    assert found.recipes[0].steps[0].install == ("cmake>=3.17,<4",)
