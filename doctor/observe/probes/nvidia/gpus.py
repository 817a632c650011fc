"""Give facts about the GPUs that NVML or nvidia-smi lists."""

from __future__ import annotations

import msgspec

from doctor.host import Host
from doctor.host.nvml import Gpu, NvmlAnswer
from doctor.model.facts import FactStream, absent, present, unknown
from doctor.observe.probes.nvidia import files
from doctor.observe.probes.nvidia.licence import licence
from doctor.observe.probes.nvidia.visible import VARIABLE, Visible, visible

_REFUSED = "Insufficient Permissions"


def of_gpus(host: Host, answer: NvmlAnswer, source: str) -> FactStream:
    """Yield nvidia.gpus and what follows from it."""
    if answer.gpus is None:
        yield from _unknown(host, answer.error, source)
        return
    gpus = _located(answer.gpus, files.addresses(host))
    yield (
        "nvidia.gpus",
        present([gpu.as_fact() for gpu in gpus], source)
        if gpus
        else absent(f"{source} lists none"),
    )
    yield from licence(host, gpus)
    told = visible(gpus, host.env)
    errors = [
        f"{_label(gpu)}: {gpu.error}" for gpu in _faulty(gpus if told.gpus is None else told.gpus)
    ]
    yield "nvidia.gpu_errors", present(errors, source) if errors else absent(source)
    yield from _seen_by_cuda(told, gpus, source)


def _unknown(host: Host, why: str, source: str) -> FactStream:
    for name in ("gpus", "gpu_errors", "visible", "visible_error", "hidden_on_purpose"):
        yield f"nvidia.{name}", unknown(why, source)
    names = files.gpu_names(host)
    if names and VARIABLE not in host.env:
        yield "nvidia.gpu_names", present(names, "/proc/driver/nvidia/gpus")


def _located(gpus: tuple[Gpu, ...], addresses: list[str]) -> tuple[Gpu, ...]:
    """Return GPUs with missing PCI addresses filled in from the kernel's list."""
    nameless = [gpu for gpu in gpus if not gpu.pci_bus_id]
    left = sorted(set(addresses) - {gpu.pci_bus_id for gpu in gpus})
    if len(left) != len(nameless):
        return gpus
    # NVML lists GPUs in the order of their addresses.
    found = {gpu.index: address for gpu, address in zip(nameless, left, strict=True)}
    return tuple(
        msgspec.structs.replace(gpu, pci_bus_id=gpu.pci_bus_id or found.get(gpu.index))
        for gpu in gpus
    )


def _faulty(gpus: tuple[Gpu, ...]) -> list[Gpu]:
    """Return the GPUs that do not answer.

    One that a job was not given is refused, and no fault of its own.
    """
    refused = [gpu for gpu in gpus if gpu.error == _REFUSED]
    asked = [gpu for gpu in gpus if gpu.error and not gpu.error.startswith("not asked")]
    return asked if len(refused) == len(gpus) else [gpu for gpu in asked if gpu not in refused]


def _label(gpu: Gpu) -> str:
    named = [gpu.name or "", gpu.pci_bus_id or ""]
    inside = ", ".join(filter(None, named))
    return f"GPU {gpu.index}" + (f" ({inside})" if inside else "")


def _seen_by_cuda(told: Visible, gpus: tuple[Gpu, ...], source: str) -> FactStream:
    where = f"{source}, {VARIABLE}"
    if told.gpus is None:
        yield "nvidia.visible", unknown(told.why, where)
    else:
        yield (
            "nvidia.visible",
            present([gpu.as_fact() for gpu in told.gpus], where) if told.gpus else absent(where),
        )
    yield (
        "nvidia.visible_error",
        present(told.error, where) if told.error and gpus else absent(where),
    )
    yield "nvidia.hidden_on_purpose", present(True, where) if told.meant else absent(where)
