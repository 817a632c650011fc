"""Which card a device of torch is.

CUDA numbers by speed and by CUDA_VISIBLE_DEVICES, nvidia-smi by the slot.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from doctor.base.lazy_pattern import Pattern
from doctor.facts.placeholders import as_text
from doctor.model.facts import Facts, value_of

_STATES = {
    "busy": Pattern(
        r"devices?(?:\(s\))? (?:are|is|is/are) busy or unavailable"
        r"|cudaErrorDevicesUnavailable|CUDA_ERROR_DEVICE_UNAVAILABLE"
    ),
    "full": Pattern(
        r"out of memory|cudaErrorMemoryAllocation|CUDA_ERROR_OUT_OF_MEMORY", re.IGNORECASE
    ),
}


_SOLDERED = Pattern(
    r"\b(?:GB\d{2,3}|GH\d{3}|Orin|Xavier|Thor|Tegra|Jetson|Laptop GPU|Max-Q|Mobile|SXM\d?"
    r"|H100 80GB HBM3|H200$|B[23]00)\b"
)
"""Names of GPUs that are soldered to a board, or are modules that only their maker exchanges."""


def is_soldered(name: str) -> bool:
    """Say whether a GPU of this name sits in no slot from which its owner may take it."""
    return _SOLDERED.search(name) is not None


def state_said(words: Any) -> str:
    """Return what words of CUDA say that its GPUs are: "busy" or "full".

    Empty where they say something else.
    """
    text = words if isinstance(words, str) else ""
    return next((state for state, pattern in _STATES.items() if pattern.search(text)), "")


def cards(facts: Facts, name: str) -> list[dict[str, Any]]:
    """Return the entries of a list of GPUs (`nvidia.gpus`, `torch.cuda_devices`).

    A replayed snapshot may hold anything there.
    """
    listed = value_of(facts, name)
    return (
        [entry for entry in listed if isinstance(entry, dict)]
        if isinstance(listed, list | tuple)
        else []
    )


def vendors(facts: Facts) -> list[str]:
    """Return whose GPUs the machine shows: nvidia, amd, intel."""
    return texts(facts, "gpu.vendors")


def texts(facts: Facts, name: str) -> list[str]:
    """Return the texts of a list; a replayed snapshot may hold anything there."""
    listed = value_of(facts, name)
    return (
        [each for each in listed if isinstance(each, str)]
        if isinstance(listed, list | tuple)
        else []
    )


def is_same(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool | None:
    """Say whether two entries are one card, by UUID or else by PCI address.

    None where neither tells.
    """
    for key, spelled in (("uuid", _uuid), ("pci_bus_id", _pci)):
        left, right = one.get(key), other.get(key)
        if left and right:
            return spelled(left) == spelled(right)
    return None


def _uuid(value: Any) -> str:
    return as_text(value).lower().removeprefix("gpu-")


def _pci(value: Any) -> str:
    """Spell a PCI address as the kernel does.

    NVML writes eight digits of the domain, torch four.
    """
    domain, _, rest = as_text(value).lower().rpartition(":")[0].partition(":")
    last = as_text(value).lower().rpartition(":")[2]
    return f"{domain[-4:]:0>4}:{rest}:{last}"


def seen_by_torch(device: str, facts: Facts) -> Mapping[str, Any]:
    """Return what torch says of a device, `cuda:1`; empty where it did not describe it."""
    kind, _, number = device.partition(":")
    entries = cards(facts, f"torch.{kind}_devices") if kind in ("cuda", "xpu") else []
    return next((entry for entry in entries if as_text(entry.get("index")) == number), {})


def seen_by_nvml(device: str, facts: Facts) -> Mapping[str, Any]:
    """Return what NVML says of the card behind a device of torch.

    Empty where nothing tells which one it is.
    """
    told, listed = seen_by_torch(device, facts), cards(facts, "nvidia.gpus")
    if not told or value_of(facts, "torch.build") == "rocm":
        return {}
    return next((entry for entry in listed if is_same(told, entry)), {})


def card(device: str, facts: Facts) -> str:
    """Say which card a device is: `RTX 3060, 0000:41:00.0, nvidia-smi 0`.

    Empty where nothing is known of it.
    """
    told, nvml = seen_by_torch(device, facts), seen_by_nvml(device, facts)
    address = told.get("pci_bus_id") or nvml.get("pci_bus_id")
    number = nvml.get("index")
    parts = (
        told.get("name") or nvml.get("name"),
        address,
        None if number is None else f"nvidia-smi {number}",
    )
    return ", ".join(as_text(part) for part in parts if part)


def device_name(device: str, facts: Facts) -> str:
    """Name a device with its card: `cuda:1 (RTX 3060, 0000:41:00.0, nvidia-smi 0)`."""
    which = card(device, facts)
    return f"{device} ({which})" if which else device


def of_nvml(entry: Mapping[str, Any]) -> str:
    """Name a card as NVML lists it: `nvidia-smi 0 (RTX 3060, 0000:41:00.0)`."""
    details = ", ".join(
        as_text(part)
        for part in (entry.get("name"), entry.get("pci_bus_id") or entry.get("uuid"))
        if part
    )
    number = entry.get("index")
    return f"nvidia-smi {'?' if number is None else number}" + (f" ({details})" if details else "")
