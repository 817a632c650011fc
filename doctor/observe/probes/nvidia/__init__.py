"""Examine NVIDIA's driver and GPUs: /proc and /sys first, then NVML, nvidia-smi last."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import partial

import msgspec

from doctor.host import Host, Termination
from doctor.host.nvml import Gpu, NvmlAnswer, ask_nvml
from doctor.host.threads import run_in_threads
from doctor.model.facts import FactStream, State, absent, present, unknown
from doctor.observe.probes.nvidia import files
from doctor.observe.probes.nvidia.confidential import confidential
from doctor.observe.probes.nvidia.modules import of_modules, unplaced
from doctor.observe.probes.nvidia.xid import KernelLog, kernel_log, no_log
from doctor.observe.scene import ProbeInput
from doctor.redact import without_secrets

WAITS = True
BOUND = 32.0

_QUERY = "index,name,compute_cap,memory.total,mig.mode.current,driver_version"
_NO_DRIVER = "no driver is loaded"
_NOT_LOADED = "driver not loaded"
_GPU_FACTS = ("gpus", "gpu_errors", "visible", "visible_error", "hidden_on_purpose")


def probe(scene: ProbeInput, *, patience: float = 4.0) -> FactStream:
    """Yield `nvidia.*`.

    Without a sign of a driver no child is started and everything that needs one is absent.

    NVML may be silent for `patience` seconds, and nvidia-smi, which is asked where NVML answers
    wrongly, may take as long.
    """
    host = scene.host
    kernel, on_bus = files.kernel_driver(host), files.on_bus(host)
    there = files.gpu_present(host, on_bus)
    shown = kernel is not None or files.shows_driver(host)
    smi = files.smi_path(host)
    yield "nvidia.gpu_present", there
    holders = sorted({holder for holder in on_bus.values() if holder})
    yield (
        "nvidia.bound_to",
        present(holders, "/sys/bus/pci/devices") if holders else absent("/sys/bus/pci/devices"),
    )
    yield "nvidia.uninstaller", files.uninstaller(host)
    yield "nvidia.smi", present(smi, "PATH") if smi else absent("PATH")
    yield from files.driver_files(host, shown=shown)
    yield from of_modules(host, on_bus, loaded=kernel is not None, installed=smi is not None)
    # A library alone is no driver: images and runners carry it for machines that have one.
    library = files.nvml_library(host) if not shown else None
    if not shown and library is None:
        yield from _logged(_refused(host, on_bus), unplaced(host, on_bus))
        yield "nvidia.gpus_excluded", absent(_NO_DRIVER)
        yield from _nothing()
        return
    if kernel:
        # Given before NVML is asked: this much stays, whatever a broken driver does to the child.
        yield from _driver(*kernel)
    left_out = files.excluded(host)
    where = "/proc/driver/nvidia/gpus"
    yield "nvidia.gpus_excluded", present(left_out, where) if left_out else absent(where)
    nvml, log = _asked(host, patience, loaded=kernel is not None)
    yield from _logged(log or _refused(host, on_bus), unplaced(host, on_bus))
    yield from confidential(host, smi, patience)
    if not shown and not nvml.gpus:
        yield from _nothing(nvml.error if there.value else "")
        return
    yield "nvidia.nvml", present(nvml.error, "NVML") if nvml.error else absent("NVML answered")
    answer, source = (
        (nvml, "NVML")
        if nvml.gpus is not None
        else (_asked_smi(host, smi, nvml, patience), "nvidia-smi")
    )
    if not kernel and _NOT_LOADED in nvml.error.lower() and not answer.driver_version:
        yield from _no_module()
    elif not kernel:
        yield from _driver(answer.driver_version, source, answer.error)
    cuda, why = (
        answer.cuda_version,
        answer.error or answer.why.get("cuda_version") or "only NVML tells",
    )
    yield "nvidia.cuda_version", present(cuda, "NVML") if cuda else unknown(why, source)
    from doctor.observe.probes.nvidia.gpus import of_gpus  # for machines with a driver

    yield from of_gpus(host, answer, source)


def _logged(log: KernelLog | None, places: Sequence[str] = ()) -> FactStream:
    """Yield what the driver wrote into the kernel's log; nothing where none is loaded."""
    nothing = absent(_NO_DRIVER)
    found = log or no_log(nothing)
    yield "nvidia.xid", found.xids
    yield "nvidia.start_failed", found.start_failed
    yield "nvidia.firmware_missing", found.firmware_missing
    told = found.bar_missing.state is State.PRESENT
    # Many users may not read the log; the bus tells it to all.
    yield (
        "nvidia.bar_missing",
        present(list(places), "/sys/bus/pci/devices") if places and not told else found.bar_missing,
    )
    yield "nvidia.bar_size", found.bar_size
    yield "nvidia.open_required", found.open_required
    yield "nvidia.unpowered", found.unpowered
    yield "nvidia.asleep", found.asleep
    yield "nvidia.peermem_refused", found.peermem_refused
    yield "nvidia.sxid_fatal", found.sxid_fatal


def _refused(host: Host, on_bus: Mapping[str, str]) -> KernelLog | None:
    """Return why the driver took no card and left again; None where no card waits for it."""
    if not on_bus or any(on_bus.values()):
        return None
    log, nothing = kernel_log(host), absent(_NO_DRIVER)
    return msgspec.structs.replace(
        log, xids=nothing, start_failed=nothing, firmware_missing=nothing, unpowered=nothing
    )


def _asked(host: Host, patience: float, *, loaded: bool) -> tuple[NvmlAnswer, KernelLog | None]:
    """Return what NVML says, and what the driver wrote into the kernel's log.

    The log is read while NVML's child starts, so that it costs no time.
    """
    answers: list[NvmlAnswer] = []
    logs = run_in_threads(
        {"log": partial(kernel_log, host)} if loaded else {},
        lambda: answers.append(ask_nvml(host, timeout=patience)),
    )
    return answers[0], logs.get("log")


def _nothing(said: str = "") -> FactStream:
    """Say that there is no driver; `said` are NVML's words beside a GPU that none drives."""
    yield "nvidia.nvml", present(said, "NVML") if said else absent(_NO_DRIVER)
    for name in ("driver_version", "driver_branch", "cuda_version", *_GPU_FACTS):
        yield f"nvidia.{name}", absent(_NO_DRIVER)


def _no_module() -> FactStream:
    yield "nvidia.driver_version", absent("NVML: the driver is not loaded")
    yield "nvidia.driver_branch", absent("NVML: the driver is not loaded")


def _driver(version: str | None, source: str, why: str = "") -> FactStream:
    branch = re.match(r"\d+", version or "")
    yield "nvidia.driver_version", present(version, source) if version else unknown(why, source)
    yield (
        "nvidia.driver_branch",
        present(int(branch[0]), source) if branch else unknown(why or "no number", source),
    )


def _asked_smi(host: Host, smi: str | None, nvml: NvmlAnswer, patience: float) -> NvmlAnswer:
    """Return what nvidia-smi adds to an answer of NVML that broke off."""
    if nvml.hung:
        # It would ask the same library, and hang as well.
        return nvml
    if smi is None:
        return msgspec.structs.replace(nvml, error=f"{nvml.error}; nvidia-smi is not on PATH")
    import csv

    ran = host.run(
        [smi, f"--query-gpu={_QUERY}", "--format=csv,noheader,nounits"],
        timeout=patience,
        limit=1 << 16,
    )
    rows = (
        [
            [cell.strip() for cell in row]
            for row in csv.reader(ran.output.splitlines())
            if len(row) == 6
        ]
        if ran.ok
        else []
    )
    rows = [row for row in rows if row[0].isdecimal()]
    if rows:
        driver = nvml.driver_version or rows[0][5]
        return msgspec.structs.replace(
            nvml, driver_version=driver, gpus=tuple(_gpu(row) for row in rows)
        )
    if ran.ended is Termination.TIMEOUT:
        why = f"nvidia-smi did not answer within {patience:g} s"
    else:
        said = without_secrets(ran.errors.strip() or ran.output.strip() or ran.why or "nothing")[
            :200
        ].partition("\n")[0]
        why = f"nvidia-smi (exit code {ran.code}) said: {said}"
    return msgspec.structs.replace(nvml, error=f"{nvml.error}; {why}")


def _gpu(row: list[str]) -> Gpu:
    index, name, capability, memory, mig, _ = row
    return Gpu(
        index=int(index),
        name=name,
        capability=capability if re.fullmatch(r"\d+\.\d+", capability) else None,
        memory_bytes=int(memory) << 20 if memory.isdecimal() else None,
        mig=mig == "Enabled",
    )
