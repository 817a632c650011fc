"""CMake without sources or nvcc, libraries beside the system's, and builds of torch of old."""

from __future__ import annotations

import pytest

from doctor.analyzers.case import Explanation
from doctor.model.issues import Action
from tests.analyzers.packages import explained, hostile, installs, told

NO_LISTS = (
    'CMake Error: The source directory "{}" does not appear to contain CMakeLists.txt.\n'
    "Specify --help for usage, or press the help button on the CMake GUI."
)


def test_an_archive_without_its_sources() -> None:
    found = told("cmake_messages", NO_LISTS.format("/tmp/pip-build-zrd6twth/libKMCUDA"))
    assert found.detection.title == (
        "The archive of libKMCUDA that pip unpacked holds no CMakeLists.txt: it cannot be built"
    )


def test_another_folder() -> None:
    found = told("cmake_messages", NO_LISTS.format("/home/ada/build"))
    assert "/home/ada/build" in found.detection.title


def test_an_option_that_prints_the_usage_is_no_advice() -> None:
    assert not explained("own_advice", NO_LISTS.format("/home/ada/build"))


def test_no_nvcc_is_not_a_broken_one() -> None:
    found = told(
        "cmake",
        "-- The CUDA compiler identification is unknown\n"
        "CMake Error at CMakeLists.txt:5 (project):\n"
        "  No CMAKE_CUDA_COMPILER could be found.\n",
    )
    assert found.detection.id == "failure/cmake-cuda-compiler-missing"
    assert any("cuda-toolkit" in one for step in _steps(found) for one in step.run)


def test_the_first_program_of_cmake() -> None:
    found = told(
        "cmake",
        "CMake Error at /usr/share/cmake-3.22/Modules/CMakeDetermineCompilerId.cmake:726 "
        "(message):\n  Compiling the CUDA compiler identification source file\n"
        '  "CMakeCUDACompilerId.cu" failed.\n\n  Compiler: /usr/local/cuda/bin/nvcc\n',
    )
    assert found.detection.title.startswith("CMake found nvcc")


@pytest.mark.parametrize(
    ("library", "program"),
    [
        ("/usr/lib/x86_64-linux-gnu/libstdc++.so.6", "add-apt-repository"),
        ("/lib64/libstdc++.so.6", "conda"),
    ],
)
def test_a_newer_libstdcxx_beside_the_systems(library: str, program: str) -> None:
    found = told("c_library", f"ImportError: {library}: version `GLIBCXX_3.4.26' not found")
    assert found.detection.recipes[0].steps[0].run[0] == program


@pytest.mark.parametrize("build", ["1.9.0+cu102", "1.7.1+cu101", "1.12.1+cu102", "1.7.0+cu110"])
def test_old_builds_of_torch_exist(build: str) -> None:
    found = told(
        "index_answers",
        f"ERROR: Could not find a version that satisfies the requirement torch=={build} "
        "(from versions: 1.7.1, 1.8.0, 1.9.0, 1.10.0, 1.12.1)",
    )
    assert found.detection.id == "failure/build-on-another-index"


def test_a_build_for_cuda_on_a_mac() -> None:
    found = told(
        "index_answers",
        "I install it locally (Mac)\nERROR: No matching distribution found for torch==1.9.0+cu102",
    )
    assert installs(found) == [("torch==1.9.0",)]


def test_nvcc_of_an_environment() -> None:
    found = told(
        "programs",
        "FileNotFoundError: [Errno 2] No such file or directory: '/opt/conda/envs/a/bin/nvcc'",
    )
    assert ("-p", "/opt/conda/envs/a") in {
        step.run[3:5] for step in _steps(found) if step.run[:1] == ("conda",)
    }


def test_a_library_that_a_module_wraps() -> None:
    found = told(
        "undefined_symbols",
        "ImportError: /usr/lib/python3/pylibemu.so: undefined symbol: emu_cpu_debugflag_unset",
    )
    assert found.detection.title.startswith("pylibemu.so asks libemu for")


def test_hostile_folders() -> None:
    hostile("cmake_messages", ('CMake Error: The source directory "', NO_LISTS))


def _steps(found: Explanation) -> list[Action]:
    return [step for one in found.detection.recipes for step in one.steps]
