# /// script
# requires-python = ">=3.8"
# dependencies = ["torch"]
#
# [tool.doctor]
# kind = "facts"
# role = "proves-torch"
# summary = "Imports torch, asks how it was built and what it finds, and proves each device alive"
# needs = ["torch"]
# tier = "quick"
# timeout = 60
# devices = "host"
# fork_server = true
# cases = []
# ///
"""What torch says of itself once it runs, and which of its devices answer.

Without CANARY_DEVICES it does everything in one process. Asked for `cpu` it imports torch, says how
it was built and proves the processor; it looks for devices only where no driver is asked. Asked for
a kind (`cuda`, `xpu`) it looks for devices and computes nothing. Asked for a device (`cuda:1`) it
proves that device alone: an error or a hang there costs no other device anything.

A failed result without a device means that `import torch` fails. A failed result of a device means
that torch finds the device and cannot compute on it: no kernel for its architecture, a driver that
is too old or half loaded. Other checks then skip that device.
"""

from __future__ import annotations

import json
import os
import sys
import time
import warnings
from collections.abc import Iterator
from typing import Any

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from canary_devices import BUSY, FULL
from canary_report import CaseEnded, Report, fault_of

REPORT = Report()
WARNINGS_KEPT = 10
NO_GPU = (
    "Found no NVIDIA driver",
    "No CUDA GPUs are available",
    "no CUDA-capable device",
    "likely running on CPU machine",
    "No HIP GPUs",
)


def importing() -> Any:
    """Import torch, and keep how long it takes and what it warns of; give None where that fails."""
    module = None
    with REPORT.result(None):
        REPORT.doing["case"] = "import torch"
        started = time.monotonic()
        with warnings.catch_warnings(record=True) as caught, REPORT.act():
            warnings.simplefilter("always", UserWarning)
            try:
                import torch
            except ModuleNotFoundError as error:
                if error.name == "torch":
                    raise CaseEnded("skipped", "torch is not installed") from None
                raise
            if fault := fault_of("torch"):
                raise CaseEnded("failed", fault)
        module = torch
        REPORT.facts["torch.import_seconds"] = round(time.monotonic() - started, 3)
        REPORT.facts["torch.import_warnings"] = first_lines(caught)
    return module


def first_lines(caught: list[warnings.WarningMessage]) -> list[str]:
    """Bound what was warned of: the first line of the first few."""
    spoken = [
        str(warning.message).strip()
        for warning in caught
        if issubclass(warning.category, UserWarning)
    ]
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
    """Ask torch which cuDNN it loaded, in a child.

    Parts of two releases of cuDNN can end the process.
    """
    if not torch.version.cuda:
        return
    version, error = (
        in_child(torch) if hasattr(os, "fork") else answer_or_error(torch.backends.cudnn.version)
    )
    REPORT.facts["torch.cudnn_version"] = version
    # An error of CUDA that this meets is the business of the devices.
    REPORT.facts["torch.cudnn_error"] = error if error and "cudnn" in error.lower() else None


def answer_or_error(ask: Any) -> list[Any]:
    """Return an answer and None, or None and the text of the error."""
    try:
        return [ask(), None]
    except Exception as error:
        return [None, " ".join(str(error).split())[:400] or type(error).__name__]


def in_child(torch: Any) -> list[Any]:
    """Ask for cuDNN's version in a process of its own, so that no crash stays behind.

    A driver that hangs is not asked there.
    """
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        torch.cuda.is_available = lambda: False
        with os.fdopen(writing, "w") as pipe:
            json.dump(answer_or_error(torch.backends.cudnn.version), pipe)
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        text = pipe.read()
    status = os.waitpid(child, 0)[1]
    return (
        json.loads(text)
        if text
        else [
            None,
            f"the process ended with signal {status & 127} when cuDNN was asked for its version",
        ]
    )


def cuda(torch: Any) -> Iterator[str]:
    """Ask for CUDA devices, and keep the words of a torch that finds none."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        available = torch.cuda.is_available()
        count = torch.cuda.device_count() if available else 0
    REPORT.facts["torch.cuda_available"] = available
    REPORT.facts["torch.cuda_devices"] = [
        described(torch.cuda, index, is_cuda=bool(torch.version.cuda)) for index in range(count)
    ]
    REPORT.facts["torch.cuda_error"] = None if available else why_no_cuda(torch, caught)
    yield from (f"cuda:{index}" for index in range(count))


def described(backend: Any, index: int, *, is_cuda: bool) -> dict[str, Any]:
    """Describe a device as torch sees it.

    One that cannot be asked has the error in the place of its properties.
    """
    try:
        seen = backend.get_device_properties(index)
    except Exception as error:
        return {"index": index, "error": " ".join(f"{type(error).__name__}: {error}".split())[:400]}
    told = {
        "index": index,
        "name": seen.name,
        "capability": f"{seen.major}.{seen.minor}" if hasattr(seen, "minor") else None,
        "memory_bytes": seen.total_memory,
        "uuid": f"GPU-{seen.uuid}" if hasattr(seen, "uuid") and is_cuda else None,
        "pci_bus_id": pci_address(seen),
        "gfx": getattr(seen, "gcnArchName", "").partition(":")[0] if not is_cuda else None,
    }
    return {name: value for name, value in told.items() if value is not None and value != ""}


def pci_address(seen: Any) -> str | None:
    """Spell where a device sits the way that nvidia-smi and lspci do.

    Torch tells it from 2.8 on.
    """
    parts = [getattr(seen, name, None) for name in ("pci_domain_id", "pci_bus_id", "pci_device_id")]
    return (
        "{:04x}:{:02x}:{:02x}.0".format(*parts)
        if all(isinstance(part, int) for part in parts)
        else None
    )


def why_no_cuda(torch: Any, caught: list[warnings.WarningMessage]) -> str | None:
    """Return the reason that torch warns of, or else the error when CUDA is started."""
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
    """Ask torch for Intel's GPUs, and keep the error of a torch that is built for them."""
    backend = getattr(torch, "xpu", None)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        count = backend.device_count() if backend and backend.is_available() else 0
    if is_xpu_build(torch):
        REPORT.facts["torch.xpu_devices"] = [
            described(backend, index, is_cuda=False) for index in range(count)
        ]
        REPORT.facts["torch.xpu_error"] = None if count else why_no_xpu(torch, caught)
    yield from (f"xpu:{index}" for index in range(count))


def why_no_xpu(torch: Any, caught: list[warnings.WarningMessage]) -> str | None:
    """Return the reason that torch warns of, or else the error when XPU is started."""
    if caught:
        return " ".join(str(caught[0].message).split())[:400]
    try:
        torch.xpu.init()
    except Exception as error:
        return " ".join(str(error).split())[:400]
    return None


def is_xpu_build(torch: Any) -> bool:
    """Tell whether this torch was built for Intel's GPUs."""
    return bool(getattr(torch.version, "xpu", None)) or getattr(torch._C, "_has_xpu", False)


def alive(torch: Any, device: str) -> None:
    """Add on the device and read back; the memory that is added into was poisoned."""
    with REPORT.act():
        if device.startswith("cuda"):
            torch.cuda.get_device_properties(torch.device(device))
        into = torch.full((257,), float("nan"), device=device)
        torch.add(torch.arange(257.0, device=device), 0.5, out=into)
        got = into.tolist()
    if got != [index + 0.5 for index in range(257)]:
        raise CaseEnded("failed", f"adding 0.5 to 0, 1, 2 on {device} gave {got[:3]}")


def prove(torch: Any, device: str) -> None:
    """Give a device its own result, and list it where it answers."""
    with REPORT.result(device) as data:
        if os.environ.get("CANARY_EXCLUSIVE") == "1" and device.startswith("cuda"):
            data["told"] = [
                (
                    "one process at a time (compute mode of the driver): the checks of GPUs "
                    "ran one after another"
                )
            ]
        alive(torch, device)
        REPORT.facts.setdefault("torch.devices", []).append(device)


def look_for(torch: Any, kind: str, find: Any) -> list[str]:
    """List the devices of one kind.

    Why there is none is a result, unless nobody would expect any.
    """
    found: list[str] = []
    with REPORT.result(kind) as data:
        REPORT.doing["case"] = f"look for {kind}"
        with REPORT.act():
            found = list(find(torch))
        if kind == "cuda" and not found:
            raise why_none(torch, data)
        if kind == "xpu" and not found and is_xpu_build(torch):
            raise CaseEnded(
                "skipped", REPORT.facts["torch.xpu_error"] or "torch finds no GPU of Intel"
            )
        if kind == "mps" and not found and REPORT.facts["torch.mps_built"]:
            raise CaseEnded("skipped", "torch finds no Metal device")
    if REPORT.results[-1]["verdict"] == "passed":
        REPORT.results.pop()
    return found


def why_none(torch: Any, data: dict[str, Any]) -> CaseEnded:
    """Tell no GPU, or a GPU that is in use, from a GPU that torch cannot start."""
    if is_xpu_build(torch):
        return CaseEnded("skipped", "this torch is built for the GPUs of Intel")
    if not is_gpu_build(torch):
        return CaseEnded("skipped", "this torch is built without CUDA and without ROCm")
    error = REPORT.facts["torch.cuda_error"]
    absent = not error or any(words in error for words in NO_GPU)
    taken = "busy" if BUSY.search(error or "") else "full" if FULL.search(error or "") else ""
    if taken:
        data["state"] = taken
    return CaseEnded("skipped" if absent or taken else "failed", error or "torch finds no GPU")


def is_gpu_build(torch: Any) -> bool:
    """Tell whether this torch was built for NVIDIA's or AMD's GPUs."""
    return bool(torch.version.cuda or getattr(torch.version, "hip", None))


def look(torch: Any) -> list[str]:
    """List the devices of every kind."""
    kinds = {"cuda": cuda, "mps": mps, "xpu": xpu}
    return [device for kind, find in kinds.items() for device in look_for(torch, kind, find)]


def everything(asked: list[str]) -> None:
    """Import, say how this torch was built, and prove the processor.

    Where nobody else is asked to, look for the rest and prove it.
    """
    torch = importing()
    if torch is None:
        return
    globals().get("FORK_SERVER", lambda: None)()
    REPORT.results.pop()
    REPORT.write(REPORT.doing)
    REPORT.facts.update(build(torch))
    cudnn(torch)
    REPORT.facts["torch.devices"] = []
    prove(torch, "cpu")
    needs_driver = is_gpu_build(torch) or is_xpu_build(torch)
    found = look(torch) if not asked or not needs_driver else []
    for device in found if not asked else ():
        prove(torch, device)


def main() -> None:
    """Do what is asked for.

    Everything, the import and the processor, the search for devices, or the proof of some of them.
    """
    asked = [each for each in os.environ.get("CANARY_DEVICES", "").split(",") if each]
    if not asked or "cpu" in asked:
        everything(asked)
    else:
        torch = REPORT.load("torch")
        if set(asked) & {"cuda", "xpu"}:
            REPORT.facts["torch.mps_built"] = bool(
                getattr(torch.backends, "mps", None) and torch.backends.mps.is_built()
            )
            look(torch)
        else:
            for device in asked:
                prove(torch, device)


if __name__ == "__main__":
    REPORT.run(main)
