"""What a device's own libraries say where it fails, and what that means.

A card that is full or held, a process that lost it.

An error of CUDA, of HIP or of Level Zero is an error. It never says that torch does not support
something.
"""

from __future__ import annotations

import re
from typing import Any

FAULT = re.compile(
    r"\b(CUDA|HIP|XPU|NCCL|NVRTC|cuDNN|MIOpen|cuBLAS|cuSOLVER|cuSPARSE|cuFFT)( \w+)? error\b"
    r"|\b(CU|HIP|ROC|MI)(BLAS|BLASLT|DNN|SOLVER|SPARSE|FFT|RAND|OPEN)_|\bhip(blas|fft|solver|"
    r"sparse)|\bmiopenStatus|\brocblas_status"
    r"|\bNVRTC_ERROR|\b(CUDA|HIP)_ERROR_|\b(cuda|hip)Error[A-Z]"
    r"|\bLevel[ -]?Zero\b|\b(ZE|UR)_RESULT_|\bUR (backend|error)|\bPI_ERROR"
    r"|\bNative API failed|no kernel image is available"
)
"""What the libraries below torch say, in the words that torch repeats them with."""
FULL = re.compile(
    r"out of memory|_STATUS_ALLOC_FAILED|OUT_OF_(DEVICE_)?MEMORY|OUT_OF_RESOURCES", re.IGNORECASE
)
BUSY = re.compile(
    r"device\(s\) is/are busy or unavailable"
    r"|devices are busy or unavailable|cudaErrorDevicesUnavailable|CUDA_ERROR_DEVICE_UNAVAILABLE"
)
GIB = 1 << 30
ENOUGH = GIB
"""Free memory with which no small canary runs out of it."""


def is_fault(text: str) -> bool:
    """Say whether an error is one of the device or of its libraries."""
    return bool(FAULT.search(text) or FULL.search(text))


def memory(torch: Any, device: str) -> tuple[int, int] | None:
    """Give the free and the whole memory of a device in bytes; None where nobody tells."""
    tell = getattr(getattr(torch, device.partition(":")[0], None), "mem_get_info", None)
    if tell is None:
        return None
    try:
        free, total = tell(torch.device(device))
    except Exception:
        return None
    return int(free), int(total)


def state(torch: Any, device: str, text: str) -> tuple[str, str]:
    """Say what an error means for a device, and how in words.

    "full", "busy", "lost" (to this process), or nothing of these.
    """
    if device.partition(":")[0] not in ("cuda", "xpu"):
        return "", ""
    if BUSY.search(text):
        return "busy", f"{device} takes no process for now"
    if FULL.search(text):
        room = memory(torch, device)
        if room is not None and room[0] >= ENOUGH:
            return "", f"{room[0] / GIB:.1f} of {room[1] / GIB:.1f} GiB are free"
        told = f": {room[0] / GIB:.1f} of {room[1] / GIB:.1f} GiB are free" if room else ""
        return "full", f"the memory of {device} is full{told}"
    if is_fault(text) and is_lost(torch, device):
        return "lost", ""
    return "", ""


def is_lost(torch: Any, device: str) -> bool:
    """Say whether this process can compute nothing any more on a device.

    Some errors of CUDA stay until the process ends.
    """
    try:
        torch.ones(1, device=device).add(1).tolist()
    except Exception as error:
        return is_fault(str(error)) and not FULL.search(str(error))
    return False


def language(torch: Any, device: str) -> str:
    """Name what a device is programmed in."""
    kind = device.partition(":")[0]
    return "HIP" if kind == "cuda" and getattr(torch.version, "hip", None) else kind.upper()


def excused(torch: Any, device: str, dtype: str, text: str) -> bool:
    """Say whether a device may lack a dtype.

    An error of its libraries is no excuse, and CUDA has all but bfloat16 on every GPU.
    """
    if is_fault(text):
        return False
    if not device.startswith("cuda"):
        return True
    if dtype != "bfloat16":
        return False
    return (
        bool(getattr(torch.version, "hip", None))
        or torch.cuda.get_device_capability(torch.device(device))[0] < 8
    )


def coarse(torch: Any) -> float | None:
    """Give the roundoff of what products of float32 are rounded to on purpose (TF32, bfloat16).

    None where nobody asked for that.
    """
    try:
        return {"high": 2**-11, "medium": 2**-9}.get(torch.get_float32_matmul_precision())
    except RuntimeError:
        # The newer switches are set, one for each backend; the old question has no answer then.
        parts = (torch.backends, torch.backends.cuda.matmul, torch.backends.mkldnn.matmul)
        asked = {getattr(part, "fp32_precision", "") for part in parts}
    return 2**-9 if "bf16" in asked else 2**-11 if "tf32" in asked else None
