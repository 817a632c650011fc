"""Explain the numbered errors of CUDA, its libraries, HIP, Level Zero, Metal and OpenCL.

What each number means comes from the tables in `matrices/codes`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from doctor.analyzers.case import Case, Explanation, Precision, detection
from doctor.analyzers.code_recipes import recipes_for
from doctor.analyzers.recipes import fitting
from doctor.model.events import Event
from doctor.model.reference import Fault
from doctor.model.scales import Confidence, Severity
from doctor.timelines.codes import Code, code, codes_in

_TABLES = {
    "cuda-error": ("cuda", "cuda-driver"),
    "library-status": (
        *("cublas", "cudnn", "cufft", "cusolver", "cusparse", "curand", "nvrtc", "nvjitlink"),
    ),
    "nvml-error": ("nvml",),
    "hip-error": ("hip", "hipblas", "rocblas", "miopen"),
    "level-zero-error": ("ur", "level-zero", "opencl"),
    "metal-error": ("metal",),
    "opencl-error": ("opencl",),
    "nccl-error": ("nccl",),
    "xid": ("xid",),
}
"""Which tables say what the events of a kind mean."""

_OTHER_VENDOR = re.compile(r"hipError|\bHIP\b|ROCm")

_LATER = (
    " A GPU reports such an error at a later call: the traceback may name the wrong line. Run once "
    "more with CUDA_LAUNCH_BLOCKING=1."
)
_OPEN = {Fault.PROGRAM, Fault.ENVIRONMENT}
"""Faults of codes that have several causes."""
_BLOCKING = "CUDA_LAUNCH_BLOCKING"
_ELSEWHERE = {
    "gpu-memory": ("MemoryAllocation", "OUT_OF_MEMORY", "ALLOC_FAILED", "OutOfMemory"),
    "no-kernel-image": ("NoKernelImage", "NO_BINARY_FOR_GPU", "cudaErrorInvalidValue"),
    "gpu-not-in-torch": ("NoKernelImage", "NO_BINARY_FOR_GPU"),
    "gfx-not-in-binary": ("NoBinaryForGpu", "InvalidDeviceFunction", "InvalidKernelFile"),
    "device-assert": ("cudaErrorAssert", "CUDA_ERROR_ASSERT", "hipErrorAssert"),
    "driver-too-old": ("InsufficientDriver",),
    "graph-capture": ("StreamCapture", "STREAM_CAPTURE"),
    "nccl-duplicate-gpu": ("ncclInvalidUsage",),
    "nccl-shared-memory": ("ncclSystemError", "ncclInternalError"),
    "nccl-network": ("ncclSystemError", "ncclInternalError", "ncclRemoteError"),
    "container-gpu-failed": ("NVML_ERROR", "cudaError", "CUDA_ERROR"),
    "sycl-no-device": ("DEVICE_NOT_FOUND",),
}
"""Parts of names of codes that an event of a kind says more about."""

_CONSEQUENCES = {"cudaErrorStreamCaptureInvalidated", "cudaErrorPriorLaunchFailure"}
"""Codes that only repeat an earlier failure."""


def explain(case: Case) -> Iterator[Explanation]:
    """Yield what each numbered error means for the machine, and what to check first."""
    kinds = {event.kind for event in case.events}
    elsewhere = tuple(word for kind, words in _ELSEWHERE.items() if kind in kinds for word in words)
    later: list[Explanation] = []
    said: set[str] = set()
    for event in case.of(*_TABLES):
        found = code_of(event)
        if found is None or not found.means or found.name in said:
            continue
        if any(word in found.name for word in elsewhere):
            continue
        said.add(found.name)
        one = _explanation(case, event, found)
        if found.name in _CONSEQUENCES:
            later.append(one)
        else:
            yield one
    if not said - _CONSEQUENCES:
        yield from later


def code_of(event: Event) -> Code | None:
    """Return the code that an event names by its name, its number or its text."""
    tables = _TABLES[event.kind]
    if event.kind == "cuda-error" and _OTHER_VENDOR.search(event.text):
        return None
    mentions = [one for one in codes_in(event.text) if one.code.kind in tables]
    for mention in sorted(mentions, key=lambda one: one.by != "name"):
        return mention.code
    if number := event.objects.get("number"):
        return code(tables[0], number)
    if text := event.objects.get("said"):
        return next((one for table in tables if (one := code(table, text.strip(" :'\"")))), None)
    return None


def _explanation(case: Case, event: Event, found: Code) -> Explanation:
    device = found.kind in {"cuda", "cuda-driver"} and found.sticky
    cause = f"{found.means} Check first: {found.check}" if found.check else found.means
    if device and _BLOCKING not in found.check:
        cause += _LATER
    return Explanation(
        event=event,
        detection=detection(
            event,
            _title(event, found),
            cause,
            recipes=fitting(case, recipes_for(found)),
            severity=Severity.NOTE if found.fault is Fault.PROGRAM else Severity.ERROR,
            confidence=Confidence.LOW if found.fault in _OPEN else Confidence.MEDIUM,
            captures={"code": found.name, "number": str(found.number)},
        ),
        precision=Precision.EXACT if _JAX in event.text else Precision.FAMILY,
        contradicts=_contradicted(event),
    )


_JAX = "versions_helpers.cc"
"""JAX's plugin for CUDA asks the driver in this file."""


def _contradicted(event: Event) -> tuple[str, ...]:
    """Return the known issues that the line of a code rules out."""
    if event.text.startswith("Cuda failure"):
        return ("nccl/cuda-call-failed",)  # NCCL prints the code below, the issue asks for it
    # The plugin that is said to be missing was loaded, and the driver refused it.
    return ("jax/no-cuda-plugin",) if _JAX in event.text else ()


def _title(event: Event, found: Code) -> str:
    """Return the code and its text: CUDA error 304 (cudaErrorOperatingSystem): OS call …."""
    if event.kind == "xid":
        return f"Xid {found.number}: {found.name}"
    text = f": {found.text}" if found.text and found.text != found.name else ""
    number = f" {found.number}" if found.kind in _NUMBERED else ""
    sycl = found.name.startswith(("PI_", "UR_"))
    library = "SYCL" if sycl else _NAMES.get(found.kind, event.speaker)
    return f"{library} error{number} ({found.name}){text}"


_NAMES = {
    "cuda": "CUDA",
    "cuda-driver": "CUDA driver",
    "cublas": "cuBLAS",
    "cudnn": "cuDNN",
    "cufft": "cuFFT",
    "cusolver": "cuSOLVER",
    "cusparse": "cuSPARSE",
    "curand": "cuRAND",
    "nvrtc": "NVRTC",
    "nvjitlink": "nvJitLink",
    "nvml": "NVML",
    "nccl": "NCCL",
    "hip": "HIP",
    "miopen": "MIOpen",
    "rocblas": "rocBLAS",
    "ur": "SYCL",
    "level-zero": "Level Zero",
    "opencl": "OpenCL",
    "metal": "Metal",
}
_NUMBERED = {"cuda", "cuda-driver", "hip", "nvml", "opencl", "ur"}
"""Kinds whose numbers people quote."""
