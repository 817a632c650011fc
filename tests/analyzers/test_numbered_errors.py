"""Numbered errors are found in every wording, with what they mean."""

from __future__ import annotations

import pytest

from doctor.model.scales import Severity
from tests.analyzers.explained import explained, said

COVERED = (
    ("Cuda failure 304 'OS call failed or operation not supported on this OS'", "CUDA error 304"),
    ("CUDA error 304", "CUDA error 304"),
    (
        (
            "transport/p2p.cc:238 NCCL WARN failed to open CUDA IPC handle : 217 peer access is "
            "not "
            "supported between these two devices"
        ),
        "CUDA error 217",
    ),
    (
        (
            "CUDA error 217 at ggml-cuda.cu:6292: peer access is not supported between these two "
            "devices"
        ),
        "CUDA error 217",
    ),
    ("cudaError_t 700", "CUDA error 700"),
    ("sync: 716 cudaErrorMisalignedAddress: misaligned address", "CUDA error 716"),
    (
        (
            "Unexpected error from cudaGetDeviceCount(). Error 804: forward compatibility was "
            "attempted"
            " on non supported HW"
        ),
        "CUDA error 804",
    ),
    ("panicked: cuInit failed with error 100", "CUDA error 100"),
    ("RuntimeError: CUDA driver error: invalid argument", "CUDA error 1 "),
    (
        (
            "RuntimeError: jaxlib/cuda/versions_helpers.cc:135: operation cuInit(0) failed: "
            "CUDA_ERROR_NO_DEVICE"
        ),
        "CUDA driver error 100 (CUDA_ERROR_NO_DEVICE)",
    ),
    ("operation cuInit(0) failed: Unknown CUDA error 303; cuGetErrorName failed.", "error 303"),
    (
        (
            "cupy_backends.cuda.api.driver.CUDADriverError: CUDA_ERROR_NOT_FOUND: named symbol not "
            "found"
        ),
        "CUDA driver error 500",
    ),
    (
        'DriverError(CUDA_ERROR_INVALID_PTX, "a PTX JIT compilation failed")',
        "CUDA driver error 218",
    ),
    ("[100] Call to cuInit results in CUDA_ERROR_NO_DEVICE", "CUDA driver error 100"),
    (
        (
            "numba.cuda.cudadrv.driver.CudaAPIError: [700] Call to cuMemcpyDtoH results in "
            "UNKNOWN_CUDA_ERROR"
        ),
        "CUDA error 700",
    ),
    ("torch.AcceleratorError: CUDA error: unspecified launch failure", "CUDA error 719"),
    ("CUBLAS error 15 at kernels.cu:33", "cuBLAS error (CUBLAS_STATUS_NOT_SUPPORTED)"),
    (
        "RuntimeError: cuDNN error: CUDNN_STATUS_EXECUTION_FAILED",
        "cuDNN error (CUDNN_STATUS_EXECUTION_FAILED)",
    ),
    ("cufft error: CUFFT_INTERNAL_ERROR", "cuFFT error (CUFFT_INTERNAL_ERROR)"),
    ("nvrtc.NVRTCError: NVRTC_ERROR_COMPILATION (6)", "NVRTC error (NVRTC_ERROR_COMPILATION)"),
    ("Failed to initialize NVML: Driver/library version mismatch", "NVML error 18"),
    ("Failed to initialize NVML: Unknown Error", "NVML error 999"),
    ("NVRM: Xid (PCI:0000:00:06): 43, pid=459, name=python, channel 0x00000018", "Xid 43"),
    ("RuntimeError: HIP error: hipErrorNoDevice", "HIP error 100"),
    (
        "Native API failed. Native API returns: 40 (UR_RESULT_ERROR_OUT_OF_RESOURCES)",
        "SYCL error 40",
    ),
    ("Native API returns: -997 (PI_ERROR_PLUGIN_SPECIFIC_ERROR) -999", "SYCL error"),
    ("ncclInternalError: Internal check failed.", "NCCL error (ncclInternalError)"),
)


@pytest.mark.parametrize(("text", "title"), COVERED, ids=[title for _, title in COVERED])
def test_the_code_is_named(text: str, title: str) -> None:
    """One finding names the code as its header does, says what it means and what to check."""
    (one,) = explained(text)
    assert title in one.detection.title
    assert "Check first: " in one.detection.message


def test_a_late_error_says_so() -> None:
    """After an error of a kernel the traceback may name the wrong line."""
    (one,) = explained("CUDA error: misaligned address")
    assert "CUDA_LAUNCH_BLOCKING" in one.detection.message
    assert any(
        "CUDA_LAUNCH_BLOCKING" in step.env for one in one.detection.recipes for step in one.steps
    )


def test_an_error_of_the_program_is_a_note() -> None:
    """A kernel out of bounds is no fault of the installation; a driver's error is one."""
    (program,) = explained("CUDA error: an illegal memory access was encountered")
    (driver,) = explained("Error 804: forward compatibility was attempted on non supported HW")
    assert (program.detection.severity, driver.detection.severity) == (
        Severity.NOTE,
        Severity.ERROR,
    )


def test_the_same_code_comes_once() -> None:
    """A hundred lines of one error are one finding."""
    assert len(said("\n".join(["CUDA error: misaligned address"] * 100))) == 1


def test_a_consequence_comes_only_alone() -> None:
    """A graph that could not be recorded repeats the error before it."""
    text = (
        "CUDA error: invalid resource handle\n"
        "cudaErrorStreamCaptureInvalidated: operation failed due to a previous error"
    )
    assert [title[:14] for _, title in said(text)] == ["CUDA error 400"]


def test_the_code_below_an_error_of_nccl_counts() -> None:
    """What CUDA reported says more than that a call of CUDA failed."""
    (one,) = explained("Last error:\nCuda failure 304 'OS call failed'")
    assert one.contradicts == ("nccl/cuda-call-failed",)


@pytest.mark.parametrize(
    "text",
    [
        "CUDA error handling is described in the manual",
        "error: 'cudaErrorNotSupported' was not declared in this scope",
        "Search for `cudaErrorAssert' in https://docs.nvidia.com/cuda/cuda-runtime-api/x.html",
        "0 errors, CUDA error count 0",
        "cudaSuccess: no error",
        "CUDA error " + "9" * 2000,
        "CUDA error: " + "%s{x}{0}" * 300,
        "Xid (" + "0" * 2000,
    ],
)
def test_silence_where_no_code_is_named(text: str) -> None:
    """Prose, sources, and hostile text are no error."""
    assert said(text) == []
