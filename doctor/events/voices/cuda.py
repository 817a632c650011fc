"""CUDA: the runtime, the driver, the libraries of the toolkit, NVML and the kernel module.

The names and texts are those of driver_types.h, cuda.h and the headers of each library.
"""

from __future__ import annotations

from doctor.events.forms import Form, Voice
from doctor.model.events import Level

_TEXTS = (
    "no kernel image is available for execution on the device",
    "an illegal memory access was encountered",
    "an illegal instruction was encountered",
    "the provided PTX was compiled with an unsupported toolchain",
    "a PTX JIT compilation failed",
    "device kernel image is invalid",
    "invalid device ordinal",
    "invalid device function",
    "too many resources requested for launch",
    "too many blocks in cooperative launch",
    "unspecified launch failure",
    "the launch timed out and was terminated",
    "device-side assert triggered",
    "no CUDA-capable device is detected",
    "all CUDA-capable devices are busy or unavailable",
    "is/are busy or unavailable",
    "forward compatibility was attempted on non supported HW",
    "system has unsupported display driver",
    "system not yet initialized",
    "OS call failed or operation not supported on this OS",
    "driver version is insufficient for CUDA runtime version",
    "CUDA driver is a stub library",
    "uncorrectable ECC error encountered",
    "uncorrectable NVLink error",
    "peer access is not supported between these two devices",
    "peer mapping resources exhausted",
    "PTX JIT compiler library not found",
    "named symbol not found",
    "hardware stack error",
    "operation not permitted when stream is capturing",
)
"""Texts of cudaGetErrorString that mean one error wherever they stand."""

_SPOKEN = (
    r"(?i)\bCUDA(?:[ _](?:runtime|driver|kernel|api|call|initiali[sz]ation)){0,2}[ _]?"
    r"(?:error|failure|failed)\b(?P<said>.{1,300})"
)
_NAMED = r"\bcudaError[A-Z][A-Za-z]{3,60}\b['\")]{0,2}(?::| \(| -|,|\.?$|\))"
_DRIVER = r"\bCUDA_ERROR_[A-Z_]{3,60}\b['\")]{0,2}(?::|,|\)| \(| -|;|\.?$)"
_LIBRARY = (
    r"\b(?:CUBLAS_STATUS|CUDNN_STATUS|CUSPARSE_STATUS|CUSOLVER_STATUS|CURAND_STATUS|CUFFT"
    r"|NVRTC_ERROR|NVJITLINK_ERROR)_[A-Z0-9_]{3,60}\b"
)

VOICES = (
    Voice(
        "CUDA",
        (
            Form(
                "cuda-error",
                _SPOKEN,
                (
                    "cuda error",
                    "cuda_error ",
                    "cudaerror ",
                    "cuda failure",
                    "cuda runtime e",
                    "cuda driver e",
                    "cuda kernel e",
                    "cuda api",
                    "cuda call",
                    "cuda initiali",
                ),
            ),
            Form("cuda-error", _NAMED, ("cudaerror",)),
            Form("cuda-error", _DRIVER, ("cuda_error_",)),
            Form(
                "cuda-error",
                r"\bcudaError_t[ =:(]{1,3}\d{1,5}\b|\bUnknown CUDA error \d{1,5}\b"
                r"|(?:\[(?P<number>\d{1,3})\] )?\bCall to cu[A-Z]\w{2,40} results in \w+",
                ("cudaerror_t", "unknown cuda error", "results in"),
            ),
            Form(
                "cuda-error",
                r"(?i)\bcuInit\b.{0,40}(?:fail|error|return|result).{0,60}\b(?P<number>[1-9]\d{0,2})\b",
                ("cuinit",),
            ),
            Form(
                "cuda-error",
                r"\bCUDA_(?:CALL|CHECK|SAFE_CALL)\b\D{1,20}(?P<number>[1-9]\d{0,2})\b",
                ("cuda_call", "cuda_check", "cuda_safe_call"),
            ),
            Form(
                "cuda-error",
                r"\bError (?P<number>[1-9]\d{0,2}): (?P<said>[^\n]{3,200})",
                (
                    "cudagetdevicecount",
                    "cuda_visible_devices",
                    "error 804",
                    "error 803",
                    "error 802",
                    "error 801",
                    "error 304",
                    "error 999",
                    "error 101:",
                    "error 100:",
                ),
            ),
            Form(
                "cuda-error",
                "(?i)(?P<said>" + "|".join(text.replace("/", r"\/") for text in _TEXTS) + ")",
                tuple(text.lower() for text in _TEXTS),
            ),
            Form(
                "library-status",
                _LIBRARY,
                (
                    "cublas_status_",
                    "cudnn_status_",
                    "cusparse_status_",
                    "cusolver_status_",
                    "curand_status_",
                    "cufft_",
                    "nvrtc_error_",
                    "nvjitlink_error_",
                ),
            ),
            Form(
                "library-status",
                r"(?i)\b(?:cublas|cudnn|cufft|cusolver|cusparse|curand|nvrtc)(?:lt)?[ _]"
                r"(?:error|failure|status)(?: code)?[ :=(]{1,3}(?P<said>[\w ]{1,80})",
                (
                    "cublas error",
                    "cublaslt error",
                    "cublas failure",
                    "cudnn error",
                    "cudnn failure",
                    "cufft error",
                    "cusolver error",
                    "cusparse error",
                    "curand error",
                    "nvrtc error",
                    "cufft failure",
                    "cublas status",
                    "cudnn status",
                ),
            ),
        ),
    ),
    Voice(
        "NVML",
        (
            Form(
                "nvml-error",
                r"(?i)failed to initialize NVML: (?P<said>[\w /-]{3,80})",
                ("failed to initialize nvml",),
            ),
            Form(
                "nvml-error", r"\bNVMLError_?(?P<said>\w{0,40}): ?(?P<text>.{3,80})", ("nvmlerror",)
            ),
            Form(
                "nvml-error",
                r"(?i)\bnvml (?:error|failure)[ :=(]{1,3}(?P<said>.{2,80})",
                ("nvml error", "nvml failure"),
            ),
            Form("nvml-error", r"(?i)\bdriver/library version mismatch", ("driver/library ver",)),
            Form(
                "nvml-error",
                r"NVIDIA-SMI has failed because it couldn't communicate",
                ("nvidia-smi has failed",),
            ),
        ),
    ),
    Voice(
        "NVIDIA kernel module",
        (
            Form(
                "xid",
                r"\bXid \((?:PCI:)?(?P<bus>[0-9a-fA-F:.]{4,20})\): (?P<number>\d{1,3}),",
                ("xid (",),
            ),
            Form("xid", r"\bXid(?: error)?[ :=]{1,2}(?P<number>\d{1,3})\b", ("xid error", "xid: ")),
        ),
    ),
    Voice(
        "ptxas",
        (
            Form(
                "ptx-too-new",
                r"Unsupported \.version (?P<asked>\d{1,2}\.\d)[; ]{1,3}"
                r"current version is '?(?P<known>\d{1,2}\.\d)",
                ("unsupported .version",),
            ),
        ),
    ),
    Voice(
        "compute-sanitizer",
        (
            Form(
                "kernel-access",
                r"=+ Invalid (?P<space>__\w+__) (?P<access>read|write) of size (?P<size>\d+)",
                ("========= invalid",),
            ),
            Form(
                "gpu-report",
                r"=+ Program hit (?P<name>cuda\w+) \(error (?P<number>\d+)\)",
                ("program hit cuda",),
                level=Level.WRAPPER,
            ),
        ),
    ),
)
