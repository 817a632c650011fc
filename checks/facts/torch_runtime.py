# /// script
# requires-python = ">=3.8"
# dependencies = ["torch"]
#
# [tool.doctor]
# kind = "facts"
# summary = "Imports torch, asks how it was built and what it finds, and proves each device alive"
# needs = ["torch"]
# tier = "quick"
# timeout = 60
# devices = "host"
# nursery = true
# cases = []
# ///
"""What torch says of itself once it runs, and which of its devices answer.

A failed result without a device means that `import torch` fails. A failed result of a device means that torch
finds the device and cannot compute on it: no kernel for its architecture, a driver that is too old or half loaded.
Other checks then skip that device.
"""

from __future__ import annotations

import json
import os
import sys
import time
import warnings
from collections.abc import Iterator
from typing import Any

CHECKS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, CHECKS)
from canary_report import Ending, Report  # noqa: E402

sys.path.remove(CHECKS)

REPORT = Report()
WARNINGS_KEPT = 10
NO_GPU = ("Found no NVIDIA driver", "No CUDA GPUs are available", "no CUDA-capable device", "likely running on CPU machine", "No HIP GPUs")


def importing() -> Any:
    """Import torch, and keep how long it takes and what it warns of; give None where that fails."""
    module = None
    with REPORT.result(None):
        REPORT.doing["case"] = "import torch"
        started = time.monotonic()
        with warnings.catch_warnings(record=True) as caught, REPORT.act():
            warnings.simplefilter("always", UserWarning)
            try:
                import torch as module
            except ModuleNotFoundError as error:
                if error.name == "torch":
                    raise Ending("skipped", "torch is not installed") from None
                raise
        REPORT.facts["torch.import_seconds"] = round(time.monotonic() - started, 3)
        REPORT.facts["torch.import_warnings"] = first_lines(caught)
    return module


def first_lines(caught: list[warnings.WarningMessage]) -> list[str]:
    """Bound what was warned of: the first line of the first few."""
    spoken = [str(warning.message).strip() for warning in caught if issubclass(warning.category, UserWarning)]
    return [text.splitlines()[0][:200] for text in spoken[:WARNINGS_KEPT] if text]


def build(torch: Any) -> dict[str, Any]:
    """Say how this torch was built; nothing here touches a device."""
    # The public get_arch_list says nothing before torch 2.6 or so where there is no GPU.
    arch_flags = getattr(torch._C, "_cuda_getArchFlags", lambda: None)()
    mps = getattr(torch.backends, "mps", None)
    return {
        "torch.version": str(torch.__version__),
        "torch.cuda_version": torch.version.cuda,
        "torch.hip_version": getattr(torch.version, "hip", None),
        "torch.git_version": getattr(torch.version, "git_version", None),
        "torch.cxx11_abi": torch.compiled_with_cxx11_abi(),
        "torch.arch_list": (arch_flags or "").split(),
        "torch.mps_built": bool(mps and mps.is_built()),
    }


def cudnn(torch: Any) -> None:
    """Ask torch which cuDNN it loaded, in a child: parts of two releases of cuDNN can end the process."""
    if not torch.version.cuda:
        return
    version, error = in_child(torch.backends.cudnn.version) if hasattr(os, "fork") else said(torch.backends.cudnn.version)
    REPORT.facts["torch.cudnn_version"] = version
    REPORT.facts["torch.cudnn_error"] = error


def said(ask: Any) -> list[Any]:
    """Give an answer, or else the words of the error."""
    try:
        return [ask(), None]
    except Exception as error:
        return [None, " ".join(str(error).split())[:400] or type(error).__name__]


def in_child(ask: Any) -> list[Any]:
    """Ask in a process of its own that sees no GPU, so that neither a crash nor a device stays behind."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.environ["CUDA_VISIBLE_DEVICES"] = ""
        with os.fdopen(writing, "w") as pipe:
            json.dump(said(ask), pipe)
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        text = pipe.read()
    status = os.waitpid(child, 0)[1]
    return json.loads(text) if text else [None, f"the process ended with signal {status & 127} when cuDNN was asked for its version"]


def cuda(torch: Any) -> Iterator[str]:
    """Ask for CUDA devices, and keep the words of a torch that finds none."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        available = torch.cuda.is_available()
        count = torch.cuda.device_count() if available else 0
    REPORT.facts["torch.cuda_available"] = available
    REPORT.facts["torch.cuda_devices"] = [cuda_device(torch, index) for index in range(count)]
    REPORT.facts["torch.cuda_error"] = None if available else why_no_cuda(torch, caught)
    yield from (f"cuda:{index}" for index in range(count))


def cuda_device(torch: Any, index: int) -> dict[str, Any]:
    """Describe one CUDA device as torch sees it."""
    seen = torch.cuda.get_device_properties(index)
    capability = f"{seen.major}.{seen.minor}"
    return {"index": index, "name": seen.name, "capability": capability, "memory_bytes": seen.total_memory}


def why_no_cuda(torch: Any, caught: list[warnings.WarningMessage]) -> str | None:
    """Give the reason that torch warns of, or else the one that it gives when it is made to start CUDA."""
    if not is_gpu_build(torch):
        return None
    if caught:
        return " ".join(str(caught[0].message).split())[:400]
    try:
        torch.cuda.init()
    except (AssertionError, RuntimeError) as error:
        return " ".join(str(error).split())[:400]
    return None


def mps(torch: Any) -> Iterator[str]:
    """Ask for Apple's GPU."""
    backend = getattr(torch.backends, "mps", None)
    available = bool(backend and backend.is_available())
    REPORT.facts["torch.mps_available"] = available
    if available:
        yield "mps"


def xpu(torch: Any) -> Iterator[str]:
    """Ask for Intel's GPUs."""
    backend = getattr(torch, "xpu", None)
    if backend and backend.is_available():
        yield from (f"xpu:{index}" for index in range(backend.device_count()))


def alive(torch: Any, device: str) -> None:
    """Add on the device and read back; the memory that is added into was poisoned."""
    with REPORT.act():
        into = torch.full((257,), float("nan"), device=device)
        torch.add(torch.arange(257.0, device=device), 0.5, out=into)
        got = into.tolist()
    if got != [index + 0.5 for index in range(257)]:
        raise Ending("failed", f"adding 0.5 to 0, 1, 2 on {device} gave {got[:3]}")


def prove(torch: Any, device: str) -> None:
    """Give a device its own result, and list it where it answers."""
    with REPORT.result(device):
        alive(torch, device)
        REPORT.facts["torch.devices"].append(device)


def look_for(torch: Any, kind: str, find: Any) -> list[str]:
    """List the devices of one kind; why there is none is a result, unless nobody would expect any."""
    found: list[str] = []
    with REPORT.result(kind):
        REPORT.doing["case"] = f"look for {kind}"
        with REPORT.act():
            found = list(find(torch))
        if kind == "cuda" and not found:
            raise why_none(torch)
        if kind == "mps" and not found and REPORT.facts["torch.mps_built"]:
            raise Ending("skipped", "torch finds no Metal device")
    if REPORT.results[-1]["verdict"] == "passed":
        REPORT.results.pop()
    return found


def why_none(torch: Any) -> Ending:
    """Tell a machine without a GPU from a GPU that torch cannot start."""
    if not is_gpu_build(torch):
        return Ending("skipped", "this torch is built without CUDA and without ROCm")
    error = REPORT.facts["torch.cuda_error"]
    absent = not error or any(words in error for words in NO_GPU)
    return Ending("skipped" if absent else "failed", error or "torch finds no GPU")


def is_gpu_build(torch: Any) -> bool:
    """Tell whether this torch was built for NVIDIA's or AMD's GPUs."""
    return bool(torch.version.cuda or getattr(torch.version, "hip", None))


def main() -> None:
    """Import, ask, and prove each device alive."""
    torch = importing()
    if torch is not None:
        globals().get("NURSERY", lambda: None)()
        REPORT.results.pop()
        REPORT.facts.update(build(torch))
        cudnn(torch)
        REPORT.facts["torch.devices"] = []
        prove(torch, "cpu")
        for kind, find in ("cuda", cuda), ("mps", mps), ("xpu", xpu):
            for device in look_for(torch, kind, find):
                prove(torch, device)
    REPORT.write(doing=None)


if __name__ == "__main__":
    main()
