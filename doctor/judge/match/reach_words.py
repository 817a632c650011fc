"""What a machine shows of GPUs that are not reached, in words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from doctor.facts.devices import cards
from doctor.facts.placeholders import as_text
from doctor.model.facts import Facts, value_of

_KNOWN = {
    "cuda": (
        "nvidia.visible_error",
        "nvidia.nvml",
        "nvidia.driver_version",
        "nvidia.device_nodes",
        "nvidia.libcuda",
        "nvidia.uvm",
        "env.CUDA_VISIBLE_DEVICES",
        "env.NVIDIA_VISIBLE_DEVICES",
        "env.NVIDIA_DRIVER_CAPABILITIES",
        "host.container",
        "host.wsl",
    ),
    "rocm": (
        "amd.driver",
        "amd.kfd",
        "amd.render",
        "amd.groups_missing",
        "amd.visible_error",
        "env.HIP_VISIBLE_DEVICES",
        "env.ROCR_VISIBLE_DEVICES",
        "host.container",
    ),
    "xpu": (
        "intel.driver",
        "intel.render",
        "intel.groups_missing",
        "env.ZE_AFFINITY_MASK",
        "env.ONEAPI_DEVICE_SELECTOR",
        "host.container",
    ),
}
_VENDORS = {"cuda": ("nvidia", "NVIDIA"), "rocm": ("amd", "AMD"), "xpu": ("intel", "Intel")}


def known_of(build: str) -> tuple[str, ...]:
    """Return the facts that tell, for a build, what stands between it and its GPUs."""
    return _KNOWN[build]


def gpus_of_build(build: str, facts: Facts) -> str:
    """Name the GPUs that the machine shows for a build: `2 x NVIDIA H100`, or `an NVIDIA GPU`."""
    vendor, spelled = _VENDORS[build]
    names = [
        _name(entry, spelled)
        for entry in cards(facts, f"{vendor}.gpus")
        if entry.get("name") or entry.get("gfx")
    ]
    told = value_of(facts, f"{vendor}.gpu_names")
    names = names or ([as_text(name) for name in told] if isinstance(told, list) else [])
    counted = [
        f"{number} x {name}" if number > 1 else name for name, number in Counter(names).items()
    ]
    return ", ".join(counted) or f"an {spelled} GPU"


def _name(entry: Mapping[str, Any], vendor: str) -> str:
    return as_text(entry.get("name") or f"{vendor} GPU ({as_text(entry['gfx'])})")
