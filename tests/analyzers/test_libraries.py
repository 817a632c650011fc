"""Libraries that a loader does not find or take: what they are, and who brings them."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from doctor.analyzers.case import Explanation, Precision
from doctor.analyzers.libraries import explain
from doctor.model.scales import Severity
from tests.analyzers.logs import case_of

TENSORFLOW = (
    "W tensorflow/stream_executor/platform/default/dso_loader.cc:64] Could not load dynamic "
    "library '{0}'; dlerror: {0}: cannot open shared object file: No such file or directory; "
    "LD_LIBRARY_PATH: /usr/local/cuda/lib64"
)


def first(text: str, facts: Mapping[str, object] | None = None) -> Explanation:
    """Return the first explanation of a log."""
    return next(iter(explain(case_of(text, facts))))


@pytest.mark.parametrize(
    ("text", "id_", "words"),
    [
        pytest.param(
            "OSError: libcudart.so.11.0: cannot open shared object file: No such file or directory",
            "library-not-found",
            "the CUDA runtime",
            id="the CUDA runtime",
        ),
        pytest.param(
            "ImportError: libGL.so.1: cannot open shared object file: No such file or directory",
            "library-not-found",
            "OpenGL",
            id="OpenGL",
        ),
        pytest.param(
            "Unable to load any of {libcudnn_ops.so.9.1.0, libcudnn_ops.so.9.1, "
            "libcudnn_ops.so.9}\nInvalid handle. Cannot load symbol cudnnCreateTensorDescriptor",
            "library-not-found",
            "a part of cuDNN 9",
            id="cuDNN 9 of CTranslate2",
        ),
        pytest.param(
            "(Worker pid=1) Invalid handle. Cannot load symbol cublasLtGetVersion",
            "library-not-found",
            "cuBLAS could not be loaded",
            id="an empty handle",
        ),
        pytest.param(
            'Unable to dynamically load the "cuda" shared library - searched for library names: '
            '["cuda", "nvcuda"].',
            "library-not-found",
            "the library of the NVIDIA driver",
            id="cudarc",
        ),
        pytest.param(
            "ImportError: libown_thing.so.3: cannot open shared object file: No such file or "
            "directory",
            "library-not-found",
            "libown_thing.so.3",
            id="one that nobody knows",
        ),
        pytest.param(
            "OSError: ./short.so: file too short", "library-unusable", "empty", id="file too short"
        ),
        pytest.param(
            "OSError: ./text.so: invalid ELF header",
            "library-unusable",
            "no library of Linux",
            id="invalid ELF header",
        ),
        pytest.param(
            "OSError: ./class.so: wrong ELF class: ELFCLASS32",
            "library-unusable",
            "32 bits",
            id="wrong ELF class",
        ),
        pytest.param(
            "ImportError: libx.so.4: cannot enable executable stack as shared object requires: "
            "Invalid argument",
            "library-unusable",
            "executable stack",
            id="executable stack",
        ),
        pytest.param(
            "ImportError: /tmp/x.so: failed to map segment from shared object: Operation not "
            "permitted",
            "library-unusable",
            "allows no programs",
            id="noexec",
        ),
        pytest.param(
            "ImportError: /usr/lib/aarch64-linux-gnu/libgomp.so.1: cannot allocate memory in "
            "static TLS block",
            "library-unusable",
            "thread-local",
            id="static TLS",
        ),
        pytest.param(
            "OSError: [WinError 126] The specified module could not be found. Error loading "
            '"C:\\venv\\lib\\site-packages\\x\\foo_bar.dll" or one of its dependencies.',
            "dll-not-found",
            "foo_bar.dll, or a DLL that it needs",
            id="WinError 126",
        ),
        pytest.param(
            "ImportError: DLL load failed while importing _ext: 找不到指定的模块。",
            "dll-not-found",
            "A DLL that _ext needs",
            id="126 in Chinese",
        ),
        pytest.param(
            "ImportError: DLL load failed while importing _C: The specified procedure could not be "
            "found.",
            "dll-function-missing",
            "Windows error 127",
            id="127",
        ),
        pytest.param(
            "OSError: [WinError 1114] A dynamic link library (DLL) initialization routine failed. "
            'Error loading "C:\\torch\\lib\\c10.dll" or one of its dependencies.',
            "dll-start-failed",
            "c10.dll was found, and its start failed",
            id="1114",
        ),
        pytest.param(
            "OSError: [WinError 193] %1 is not a valid Win32 application",
            "wrong-architecture",
            "error 193",
            id="193",
        ),
        pytest.param(
            "ImportError: dlopen(/v/_m.cpython-311-darwin.so, 0x0002): tried: "
            "'/v/_m.cpython-311-darwin.so' (mach-o file, but is an incompatible architecture (have "
            "'x86_64', need 'arm64'))",
            "wrong-architecture",
            "is built for x86_64, and this Python runs as arm64",
            id="Apple",
        ),
    ],
)
def test_what_a_loader_says(text: str, id_: str, words: str) -> None:
    found = first(text)
    assert found.detection.id == f"failure/{id_}"
    assert words in f"{found.detection.title} {found.detection.message}"


def test_a_library_of_another_cuda_generation_than_torch() -> None:
    text = "ImportError: libcudart.so.13: cannot open shared object file: No such file or directory"
    found = first(text, {"torch.cuda_version": "12.8", "torch.release": "2.8.0"})
    assert found.precision is Precision.EXACT
    assert "torch here is built for CUDA 12.8" in found.detection.title


def test_a_library_without_a_version_means_no_generation() -> None:
    found = first(
        "OSError: libcudart.so: cannot open shared object file: No such file or directory"
    )
    assert "CUDA 13" not in found.detection.message


def test_an_attempt_of_torchcodec_is_no_failure() -> None:
    text = (
        "FFmpeg version 8: libavutil.so.60: cannot open shared object file: No such file or "
        "directory"
    )
    assert not list(explain(case_of(text)))


def test_a_driver_comes_from_no_package() -> None:
    """No fix may install a package for libcuda.so.1: it belongs to the driver."""
    found = first("libcuda.so.1: cannot open shared object file: No such file or directory")
    assert not any(step.install for one in found.detection.recipes for step in one.steps)


def test_a_package_of_the_system_is_not_offered_on_windows() -> None:
    text = 'OSError: [WinError 126] Error loading "C:\\x\\libsndfile-1.dll" or one of its'
    for found in explain(case_of(text)):
        assert not any(step.system for one in found.detection.recipes for step in one.steps)


@pytest.mark.parametrize(
    ("names", "after", "severity"),
    [
        (("libcudart.so.11.0", "libcudnn.so.8"), "", Severity.NOTE),
        (
            ("libcudart.so.11.0", "libcudnn.so.8"),
            (
                "W tensorflow/core/common_runtime/gpu/gpu_device.cc:1850] Cannot dlopen some GPU "
                "libraries. Skipping registering GPU devices..."
            ),
            Severity.WARNING,
        ),
        (("libnvinfer.so.7",), "Skipping registering GPU devices...", Severity.NOTE),
    ],
)
def test_tensorflow_goes_on_without(names: tuple[str, ...], after: str, severity: Severity) -> None:
    """One explanation for all of its lines; TensorRT alone is nothing to act on."""
    text = "\n".join([*(TENSORFLOW.format(name) for name in names), after])
    (found,) = explain(case_of(text))
    assert found.detection.id == "failure/tensorflow-library-missing"
    assert found.detection.severity is severity
    assert names[0] in f"{found.detection.title} {found.detection.message}"


def test_a_missing_function_after_a_missing_library_is_no_second_finding() -> None:
    text = (
        "Unable to load any of {libcudnn_ops.so.9.1.0, libcudnn_ops.so.9}\n"
        "Invalid handle. Cannot load symbol cudnnCreateTensorDescriptor"
    )
    assert len(list(explain(case_of(text)))) == 1


def test_an_old_cuda_library_comes_from_conda_where_conda_installs() -> None:
    asked = (
        "$ conda install -c numba -c rapidsai -c defaults cudf=0.4.0\n"
        "OSError: cannot load library 'librmm.so': libcudart.so.9.2: cannot open shared object "
        "file: No such file or directory"
    )
    first, *_ = next(explain(case_of(asked))).detection.recipes
    assert first.steps[0].run[-1] == "cudatoolkit=9.2"
    (without,) = explain(case_of(asked.split("\n")[1]))
    assert not any("libraries of CUDA" in one.title for one in without.detection.recipes)


_CV2 = (
    '  File "/usr/lib/python3.8/dist-packages/cv2/__init__.py", line 9, in bootstrap\n'
    "ImportError: {}: cannot open shared object file: No such file or directory"
)


@pytest.mark.parametrize(
    ("above", "library", "fix"),
    [
        ("#9 12.50 + python3 -c 'import cv2'\n", "libcufft.so.10", "Make NVIDIA's runtime the"),
        ("+ python3 -c 'import cv2'\n", "libcuda.so.1", "Make NVIDIA's runtime the default"),
        ("$ python3 track.py\n", "libcudart.so.10.2", "Start the container with NVIDIA's"),
    ],
)
def test_a_cv2_with_cuda_is_never_replaced_by_that_of_pip(
    above: str, library: str, fix: str
) -> None:
    """No opencv-python has CUDA; a step of docker build gets it by the default runtime."""
    found = first(above + _CV2.format(library))
    assert found.detection.id == "failure/opencv-without-cuda-library"
    assert found.detection.recipes[0].title.startswith(fix)
    assert not any(step.install for one in found.detection.recipes for step in one.steps)


def test_a_driver_that_cv2_lacks_outside_of_an_image_is_left_to_the_known_issue() -> None:
    """The machine may have no driver at all."""
    assert all(
        one.detection.id != "failure/opencv-without-cuda-library"
        for one in explain(case_of(_CV2.format("libcuda.so.1")))
    )


def test_a_copy_for_32_bits_is_passed_over_where_the_next_one_was_tried() -> None:
    other = "/usr/lib/libcuda.so.470.82: wrong ELF class: ELFCLASS32"
    tried = "/usr/lib64/libcuda.so.470.82: undefined symbol: cuCtxCreate_v3"
    assert [one.detection.id for one in explain(case_of(other))] == ["failure/library-unusable"]
    assert not list(explain(case_of(f"{other}\n{tried}")))
