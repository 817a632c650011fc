"""Backends of servers, crates and MPI, and containers on a Jetson, that do not fit their place."""

from __future__ import annotations

import pytest

from tests.analyzers.explained import explained, said

LINES = (
    (
        (
            "failed to load 'v' version 1: Not found: unable to load shared library: "
            "s3://models/v/1/libtriton_v.so: cannot open shared object file: No such file"
        ),
        "lies in a bucket (s3://)",
    ),
    (
        (
            "UNAVAILABLE: Not found: unable to load shared library: "
            "%1 is not a valid Win32 application."
        ),
        "built for another system",
    ),
    (
        "Not found: unable to find 'libtriton_tensorflow_savedmodel.so' for model 'm', searched:",
        "tensorflow_savedmodel is no backend's name",
    ),
    ("unable to find 'libtriton_vosk.so' for model 'm', searched: /m", "no backend vosk"),
    (
        (
            "unable to load shared library: libnvinfer_plugin_tensorrt_llm.so.9: "
            "cannot open shared object"
        ),
        "libnvinfer_plugin_tensorrt_llm.so.9 of TensorRT-LLM",
    ),
    (
        "unable to load shared library: /b/libtriton_x.so: undefined symbol: _ZN3xxx6IoDescC1Ev",
        "needs _ZN3xxx6IoDescC1Ev",
    ),
    ("bash: orted: command not found", "does not find orted"),
    ("Unable to open /dev/kfd read-write: No such file or directory", "There is no /dev/kfd"),
    ("Unable to open /dev/kfd read-write: Permission denied", "may not open /dev/kfd"),
    (
        (
            "/lib64/libc.so.6: version `GLIBC_2.34' not found "
            "(required by /.singularity.d/libs/libGLX.so.0)"
        ),
        "--nv brings libGLX.so.0 of the host into the image",
    ),
    (
        (
            'Error\tLNK2019\tunresolved external symbol "__declspec(dllimport) class at::Context & '
            '__cdecl at::globalContext(void)" (__imp_?globalContext@at@@YAAEAVContext@1@XZ)'
        ),
        "in torch's libraries",
    ),
    (
        "A sequential map was requested, but not enough node entries",
        "set to a sequential mapping",
    ),
    (
        "xpu/lazy_init.py:73: UserWarning: DPCPP Device count is zero! (Triggered internally)",
        "Intel's runtime finds no GPU",
    ),
    (
        (
            "libmlx.dylib mlx::core::metal::device\n"
            "uncaught exception 'NSRangeException', reason: '*** -[__NSArray0 objectAtIndex:]: "
            "index 0 beyond bounds for empty array'"
        ),
        "sees no GPU of this Mac",
    ),
    (
        'error occurred: Command "g++.exe" "-O0" "-o" "C:\\\\b\\\\torch-sys-5194/out/torch_api.o"',
        "compiled by g++ for Windows",
    ),
    (
        "_caffe.so: undefined symbol: _ZN5boost6python6detail11init_moduleER11PyModuleDefPFvvE",
        "Boost.Python",
    ),
    (
        (
            "libcaffe.so.1.0.0: undefined symbol: "
            "_ZN6google4base21CheckOpMessageBuilder9NewStringB5cxx11Ev"
        ),
        "glog",
    ),
)


@pytest.mark.parametrize(("text", "words"), LINES)
def test_the_title_names_what_does_not_fit(text: str, words: str) -> None:
    """Each message gets one finding, whose title says what is wrong with what."""
    assert any(words in title for _, title in said(text)), said(text)


def test_a_missing_symbol_of_torch_is_left_to_its_release() -> None:
    """A backend that lacks a symbol of libtorch was built for another release of it."""
    text = "unable to load shared library: /b/libtriton_x.so: undefined symbol: _ZN3c105ErrorC1Ev"
    assert "backend-symbol-missing" not in dict(said(text))


@pytest.mark.parametrize(
    ("text", "title", "fix"),
    [
        (
            (
                "Compiling torch-sys v0.20.0\n"
                "Error: this tch version expects PyTorch 2.7.0, got 2.2.2, this check can be"
            ),
            "torch-sys 0.20 is made for libtorch 2.7.0, and 2.2.2 is here",
            ("cargo", "add", "tch@0.15"),
        ),
        (
            (
                "  cargo:warning=libtch/torch_api_generated.cpp:640:104: error: invalid type\n"
                "torch-sys is 0.14.0\nlibtorch is of version 2.3.0"
            ),
            "torch-sys 0.14 is made for libtorch 2.1.0, and 2.3.0 is here",
            ("cargo", "add", "tch@0.16"),
        ),
    ],
)
def test_the_release_of_libtorch_chooses_that_of_tch(
    text: str, title: str, fix: tuple[str, ...]
) -> None:
    """The first fix names the tch that is generated for the libtorch of the log."""
    [one] = [one for one in explained(text) if "torch-sys" in one.detection.title]
    assert one.detection.title == title
    assert one.detection.recipes[0].steps[0].run == fix


def test_a_patch_release_of_libtorch_is_no_other_libtorch() -> None:
    """The check of the build script is too strict there, and the known issue says so."""
    assert not said("Error: this tch version expects PyTorch 2.5.0, got 2.5.1, this check can")


_CURAND = "OSError: libcurand.so.10: cannot open shared object file: No such file or directory"


@pytest.mark.parametrize(
    ("place", "words"),
    [
        (
            (
                "docker run nvcr.io/nvidia/l4t-pytorch:r32.6.1-pth1.8-py3\n"
                "Package: nvidia-jetpack\nVersion: 5.0.1-b118"
            ),
            "for L4T r32.6, and the board runs r35",
        ),
        (
            "dustynv/ros:foxy-pytorch-l4t-r32.5.0\n# R32 (release), REVISION: 3.1, GCID: 1",
            "for L4T r32.5, and the board runs r32.3",
        ),
        ("docker build -f Dockerfile.xavier .", "docker build runs without NVIDIA's runtime"),
    ],
)
def test_a_container_on_a_jetson_borrows_the_libraries_of_the_board(place: str, words: str) -> None:
    """The image, the board and the command say why a library of CUDA is not there."""
    [(_, title)] = said(f"{place}\n{_CURAND}")
    assert words in title


def test_an_option_of_docker_is_no_limit_that_is_too_small() -> None:
    """`--ulimit memlock=-1` lifts the limit."""
    assert not said("docker run --ulimit memlock=-1 --ulimit stack=67108864 --rm image")
