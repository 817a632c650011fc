"""Query NVML in a process of its own, which may hang and be killed.

It prints one JSON object per line, so that a hang keeps the lines before it. The API is that of
https://docs.nvidia.com/deploy/nvml-api/.

Started as a script with the folder that holds `pynvml` as its only argument; it imports nothing of
doctor.

Every call stands by itself. First each GPU says who it is, then each says how it is, so that a GPU
that hangs in a rare call costs little.
"""

from __future__ import annotations

import ctypes
import importlib
import json
import sys
from typing import Any

GPU_ERRORS = ("NVML_ERROR_GPU_IS_LOST", "NVML_ERROR_RESET_REQUIRED")
"""Errors that speak of the GPU itself, whichever call they end."""

COMPUTE_MODES = {0: "default", 1: "exclusive_thread", 2: "prohibited", 3: "exclusive_process"}
MOST_LINKS = 18
"""NVML_NVLINK_MAX_LINKS."""
FABRIC_STATES = {1: "not started", 2: "in progress", 3: "completed"}
SLOWDOWNS = {
    0x08: "hardware slowdown",
    0x40: "hardware thermal slowdown",
    0x80: "hardware power brake",
    0x20: "software thermal slowdown",
}
"""Bits of nvmlDeviceGetCurrentClocksEventReasons that say that something is amiss.

The others are ordinary (nvml.h).
"""


def emit(**facts: Any) -> None:
    """Print one line and flush it: the next call may never come back."""
    sys.stdout.write(json.dumps(facts) + "\n")
    sys.stdout.flush()


def text(value: Any) -> str:
    """Return a string of NVML, which older bindings give as bytes."""
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def reason(nvml: Any, error: Any) -> str:
    """Return NVML's own text for an error, which people search for, else the bindings'."""
    try:
        return text(nvml.nvmlErrorString(error.value))
    except nvml.NVMLError:
        return text(error)


class GpuQuery:
    """Query one GPU. An error costs one answer.

    It is kept where it says that the GPU itself is lost.
    """

    def __init__(self, nvml: Any, device: Any) -> None:
        self.nvml, self.device = nvml, device
        self.error, self.code = "", 0
        self._gone = {getattr(nvml, name, None) for name in GPU_ERRORS}

    def __call__(self, name: str, *more: Any) -> Any:
        """Return what a call gives; None where NVML refuses it, or the bindings do not know it."""
        call = getattr(self.nvml, f"nvmlDeviceGet{name}", None)
        if call is None:
            return None
        try:
            return call(self.device, *more)
        except self.nvml.NVMLError as error:
            self.code = error.value
            if error.value in self._gone:
                self.error = self.error or reason(self.nvml, error)
            return None


def address(info: Any) -> str | None:
    """Return a PCI address as Linux writes it, `0000:41:00.0`."""
    domain, _, rest = text(info.busId).lower().partition(":") if info is not None else ("", "", "")
    return f"{domain[-4:]}:{rest}" if rest else None


def identity(ask: GpuQuery, index: int) -> dict[str, Any]:
    """Return who a GPU is, in the shape of the fact `nvidia.gpus`."""
    name, capability, uuid = ask("Name"), ask("CudaComputeCapability"), ask("UUID")
    memory = ask("MemoryInfo")
    mig = ask("MigMode")
    return {
        "index": index,
        "name": text(name) if name else None,
        "capability": "{}.{}".format(*capability) if capability else None,
        "memory_bytes": int(memory.total) if memory is not None else None,
        "memory_used_bytes": int(memory.used) if memory is not None else None,
        "mig": bool(mig and mig[0]),
        "uuid": text(uuid) if uuid else None,
        "pci_bus_id": address(ask("PciInfo")),
        "compute_mode": COMPUTE_MODES.get(ask("ComputeMode")),
        "error": ask.error or None,
    }


def state(ask: GpuQuery, index: int, *, mig: bool) -> dict[str, Any]:
    """Return how a GPU is: who uses it, how it is divided, what it complains of."""
    processes, persistence = ask("ComputeRunningProcesses"), ask("PersistenceMode")
    told = [{"pid": one.pid, "memory_bytes": one.usedGpuMemory} for one in processes or ()]
    return {
        "index": index,
        "processes": None if processes is None else told,
        "persistence": None if persistence is None else bool(persistence),
        "mig_devices": slices(ask) if mig else None,
        "health": {name: value for name, value in health(ask).items() if value is not None} or None,
        "error": ask.error or None,
    }


def slices(ask: GpuQuery) -> list[dict[str, Any]] | None:
    """Return the MIG devices of a GPU.

    None where this user is refused some, for then none need not mean that there are none.
    """
    found, refused = [], False
    for number in range(ask("MaxMigDeviceCount") or 0):
        device = ask("MigDeviceHandleByIndex", number)
        if device is None:
            refused = refused or ask.code != getattr(ask.nvml, "NVML_ERROR_NOT_FOUND", 6)
            continue
        part = GpuQuery(ask.nvml, device)
        uuid, name = part("UUID"), part("Name")
        told = {
            "index": number,
            "uuid": text(uuid) if uuid else None,
            "name": text(name) if name else None,
        }
        found.append(
            {
                **told,
                "gpu_instance": part("GpuInstanceId"),
                "compute_instance": part("ComputeInstanceId"),
            }
        )
    return found if found or not refused else None


def health(ask: GpuQuery) -> dict[str, Any]:
    """Return what NVML tells of a GPU's health.

    Each value None where this GPU or driver does not tell.
    """
    rows, reasons = ask("RemappedRows"), ask("CurrentClocksEventReasons")
    if reasons is None:
        reasons = ask("CurrentClocksThrottleReasons")
    retired, limit, usual = (
        ask("RetiredPagesPendingStatus"),
        ask("PowerManagementLimit"),
        ask("PowerManagementDefaultLimit"),
    )
    return {
        # The kinds are NVML_MEMORY_ERROR_TYPE_UNCORRECTED, and NVML_VOLATILE_ECC or
        # NVML_AGGREGATE_ECC.
        "ecc_uncorrected": ask("TotalEccErrors", 1, 0),
        "ecc_uncorrected_ever": ask("TotalEccErrors", 1, 1),
        "remapped_uncorrectable": rows[1] if rows else None,
        "remap_pending": bool(rows[2]) if rows else None,
        "remap_failed": bool(rows[3]) if rows else None,
        "retired_pending": None if retired is None else bool(retired),
        "slowdown": None
        if reasons is None
        else [words for bit, words in SLOWDOWNS.items() if reasons & bit],
        "power_limit_w": None if limit is None else round(limit / 1000),
        "power_default_w": None if usual is None else round(usual / 1000),
        "pcie_width": ask("CurrPcieLinkWidth"),
        "pcie_width_max": ask("MaxPcieLinkWidth"),
        "performance_state": ask("PerformanceState"),
        "licensed": licensed(ask),
        **fabric(ask),
        **links(ask),
    }


def licensed(ask: GpuQuery) -> bool | None:
    """Say whether a virtual GPU has its licence.

    None for a GPU that needs none, or of which this is not told.
    """
    virtual = getattr(ask.nvml, "NVML_GPU_VIRTUALIZATION_MODE_VGPU", 2)
    if ask("VirtualizationMode") != virtual:
        return None
    told = ask("GridLicensableFeatures")
    if told is None or not told.isGridLicenseSupported:
        return None
    features = told.gridLicensableFeatures[: told.licensableFeaturesCount]
    return any(feature.featureState for feature in features)


def fabric(ask: GpuQuery) -> dict[str, Any]:
    """Return how far the GPU is in joining the NVLink fabric; nothing on a GPU that joins none."""
    made = getattr(ask.nvml, "c_nvmlGpuFabricInfoV_t", None)
    if made is None:
        return {}
    info = made()
    if ask("GpuFabricInfoV", ctypes.byref(info)) is None or info.state not in FABRIC_STATES:
        return {}
    failed = ""
    if info.state == ask.nvml.NVML_GPU_FABRIC_STATE_COMPLETED and info.status:
        failed = text(ask.nvml.nvmlErrorString(info.status))
    return {"fabric_state": FABRIC_STATES[info.state], "fabric_status": failed or None}


def links(ask: GpuQuery) -> dict[str, Any]:
    """Return how many NVLinks a GPU has, and how many of them are inactive.

    Nothing on a GPU without NVLink, which refuses the first question.
    """
    states: list[int] = []
    for link in range(MOST_LINKS):
        state = ask("NvLinkState", link)
        if state is None:
            break
        states.append(state)
    return {"nvlinks": len(states), "nvlinks_down": states.count(0)} if states else {}


def gpus(nvml: Any, count: int) -> None:
    """Say of each GPU who it is, then of each how it is."""
    answered = []
    for index in range(count):
        try:
            ask = GpuQuery(nvml, nvml.nvmlDeviceGetHandleByIndex(index))
        except nvml.NVMLError as error:
            emit(gpu={"index": index, "error": reason(nvml, error)})
            continue
        known = identity(ask, index)
        emit(gpu=known)
        if not ask.error:
            answered.append((index, ask, known["mig"]))
    for index, ask, mig in answered:
        emit(state=state(ask, index, mig=mig))


def main(folder: str) -> None:
    """Ask for the driver, the newest CUDA it speaks, and each GPU."""
    sys.path.append(folder)
    try:
        nvml = importlib.import_module("pynvml")
    except ImportError as error:
        emit(error=f"pynvml: {error}")
        return
    try:
        nvml.nvmlInit()
    except nvml.NVMLError as error:
        emit(error=reason(nvml, error))
        return
    for name, call, told in (
        ("driver_version", nvml.nvmlSystemGetDriverVersion, text),
        (
            "cuda_version",
            nvml.nvmlSystemGetCudaDriverVersion_v2,
            lambda cuda: f"{cuda // 1000}.{cuda % 1000 // 10}",
        ),
    ):
        try:
            emit(**{name: told(call())})
        except nvml.NVMLError as error:
            # The newest CUDA is asked of libcuda, which a container may lack: the GPUs are there
            # all the same.
            emit(why={name: reason(nvml, error)})
    try:
        count = nvml.nvmlDeviceGetCount()
    except nvml.NVMLError as error:
        emit(error=reason(nvml, error))
        return
    emit(count=count)
    gpus(nvml, count)
    emit(done=True)


if __name__ == "__main__":
    main(sys.argv[1])
