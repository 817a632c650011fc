"""Asks NVML in a process of its own, which may be killed: one JSON object per line, so that a hang keeps what came before it.

Started as a script with the folder that holds `pynvml` as its only argument; it imports nothing of doctor.
"""

from __future__ import annotations

import importlib
import json
import sys
from typing import Any


def say(**facts: Any) -> None:
    """Print one line and flush it: the next call may never come back."""
    sys.stdout.write(json.dumps(facts) + "\n")
    sys.stdout.flush()


def text(value: Any) -> str:
    """Return a string of NVML, which older bindings give as bytes."""
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def reason(nvml: Any, error: Any) -> str:
    """Return the library's own words for an error, which are the ones that people know, else the bindings'."""
    try:
        return text(nvml.nvmlErrorString(error.value))
    except nvml.NVMLError:
        return text(error)


def mig_of(nvml: Any, device: Any) -> bool:
    """Return whether MIG is on; GPUs that do not know MIG refuse the question."""
    try:
        return bool(nvml.nvmlDeviceGetMigMode(device)[0])
    except nvml.NVMLError:
        return False


def gpu_of(nvml: Any, index: int) -> dict[str, Any]:
    """Return one GPU in the shape of the fact `nvidia.gpus`."""
    device = nvml.nvmlDeviceGetHandleByIndex(index)
    gpu: dict[str, Any] = {"index": index, "name": text(nvml.nvmlDeviceGetName(device))}
    gpu["capability"] = "{}.{}".format(*nvml.nvmlDeviceGetCudaComputeCapability(device))
    try:
        gpu["memory_bytes"] = int(nvml.nvmlDeviceGetMemoryInfo(device).total)
    except nvml.NVMLError:
        gpu["memory_bytes"] = None
    gpu["mig"] = mig_of(nvml, device)
    return gpu


def main(folder: str) -> None:
    """Ask for the driver, the newest CUDA it speaks, and each GPU."""
    sys.path.append(folder)
    try:
        nvml = importlib.import_module("pynvml")
    except ImportError as error:
        say(error=f"pynvml: {error}")
        return
    try:
        nvml.nvmlInit()
        say(driver_version=text(nvml.nvmlSystemGetDriverVersion()))
        cuda = nvml.nvmlSystemGetCudaDriverVersion_v2()
        say(cuda_version=f"{cuda // 1000}.{cuda % 1000 // 10}")
        count = nvml.nvmlDeviceGetCount()
        for index in range(count):
            say(gpu=gpu_of(nvml, index))
        say(count=count)
    except nvml.NVMLError as error:
        say(error=reason(nvml, error))


if __name__ == "__main__":
    main(sys.argv[1])
