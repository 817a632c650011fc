"""The GPUs of the machine and their drivers, in words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from doctor.facts.devices import cards, texts, vendors
from doctor.facts.placeholders import as_text
from doctor.model.facts import Facts, State, value_of
from doctor.report.view.assumptions import assumed
from doctor.report.view.phrases import gib, listed, stated

LOG = "log"
"""The source of facts that the context of a log shows."""
_BUILDS = {"rocm": "amd", "xpu": "intel"}
_SPELLED = {"amd": "AMD", "intel": "Intel"}
_DRIVERS = {"amd": "amdgpu ", "intel": ""}
_CLOSED = {"missing": "missing", "no permission": "closed to this user"}


def row(facts: Facts) -> str:
    """Say which GPUs the machine shows and which driver answers.

    Those of AMD and Intel where this torch is for them, or no other is.
    """
    parts = [_gpus(facts), *_others(facts), _driver(facts)]
    if assumed(facts):
        parts.append("declared with --assume")
    return "; ".join(part for part in parts if part)


def _gpus(facts: Facts) -> str:
    found = value_of(facts, "nvidia.gpus")
    if not isinstance(found, list) or not found:
        named = value_of(facts, "nvidia.gpu_names") or _of_torch(facts)
        told = stated(facts, "nvidia.capabilities", "compute capability {}")
        return listed(*_counted(map(as_text, named)), told) if isinstance(named, list) else told
    return listed(*_counted(_gpu_name(gpu) for gpu in found))


def _of_torch(facts: Facts) -> list[str] | None:
    """Return the names that torch gives to NVIDIA GPUs.

    In a sandbox nothing else may show them.
    """
    reached = cards(facts, "torch.cuda_devices") if value_of(facts, "torch.build") == "cuda" else []
    return [as_text(entry.get("name") or "GPU") for entry in reached] or None


def _counted(names: Iterable[str]) -> list[str]:
    return [f"{number} x {name}" if number > 1 else name for name, number in Counter(names).items()]


def _gpu_name(gpu: Any) -> str:
    if not isinstance(gpu, dict):
        return as_text(gpu)
    capability, memory = gpu.get("capability"), gpu.get("memory_bytes")
    arch = f"sm_{str(capability).replace('.', '')}" if capability else ""
    details = listed(arch, gib(memory), "MIG" if gpu.get("mig") else "")
    return as_text(gpu.get("name") or "GPU") + (f" ({details})" if details else "")


def _driver(facts: Facts) -> str:
    said_no = value_of(facts, "nvidia.nvml")
    if version := value_of(facts, "nvidia.driver_version"):
        speaks = stated(facts, "nvidia.cuda_version", f"good for CUDA {{}}{_by_compat(facts)}")
        return listed(f"driver {as_text(version)}", speaks, f"NVML: {said_no}" if said_no else "")
    if value_of(facts, "nvidia.gpu_present") is True and facts["nvidia.gpu_present"].source == LOG:
        # A log that names a GPU says nothing of the driver by its silence.
        return "" if value_of(facts, "nvidia.capabilities") else "an NVIDIA GPU"
    if value_of(facts, "nvidia.gpu_present") is True:
        driver = facts.get("nvidia.driver_version")
        if driver is not None and driver.state is State.UNKNOWN and not said_no:
            return ""  # a log that names a GPU has not asked the driver
        return f"an NVIDIA GPU, but no driver answers{f' ({said_no})' if said_no else ''}"
    if value_of(facts, "host.os") == "macos":
        return ""
    if vendor := _BUILDS.get(str(value_of(facts, "torch.build"))):
        return "" if vendor in vendors(facts) else f"no {_SPELLED[vendor]} GPU on this machine"
    if value_of(facts, "torch.reaches_cuda") is True:
        return "no driver shows itself, and torch computes all the same"
    if value_of(facts, "host.wsl_dxg") is False:
        # A driver of Linux is none of WSL's business.
        return "Windows hands no GPU into WSL (no /dev/dxg)"
    return stated(
        facts,
        "nvidia.driver_version",
        absent="no NVIDIA driver on this machine",
        called="NVIDIA driver",
    )


def _by_compat(facts: Facts) -> str:
    """Return whose CUDA NVML tells where a compatibility library stands before the driver's."""
    if value_of(facts, "nvidia.forward_compatibility") is not True:
        return ""
    release = value_of(facts, "nvidia.libcuda_version")
    return f" with the compatibility library{f' of {as_text(release)}' if release else ''}"


def _others(facts: Facts) -> list[str]:
    """Tell the GPUs of AMD and Intel.

    Nearly every processor has a small one, which concerns nobody whose torch is for another.
    """
    shown, own = vendors(facts), _BUILDS.get(str(value_of(facts, "torch.build")))
    return [
        _other(vendor, facts)
        for vendor in ("amd", "intel")
        if vendor in shown and (vendor == own or "nvidia" not in shown)
    ]


def _other(vendor: str, facts: Facts) -> str:
    entries = cards(facts, f"{vendor}.gpus")
    names = _counted(_other_name(entry, vendor) for entry in entries) or [
        f"an {_SPELLED[vendor]} GPU"
    ]
    nodes = {
        name: value_of(facts, f"{vendor}.{key}")
        for name, key in (("/dev/kfd", "kfd"), ("its render node", "render"))
    }
    closed = [
        f"{name} {'is missing' if said == 'missing' else 'is closed to this user'}"
        for name, said in nodes.items()
        if said in _CLOSED
    ]
    given = stated(facts, f"{vendor}.given", "{} in reach")
    driver = stated(facts, f"{vendor}.driver", f"driver {_DRIVERS[vendor]}{{}}", absent="no driver")
    without = [f"no driver at {as_text(one)}" for one in texts(facts, f"{vendor}.undriven")]
    return "; ".join(filter(None, (listed(*names), listed(driver, given, *without, *closed))))


def _other_name(entry: Mapping[str, Any], vendor: str) -> str:
    name = as_text(entry.get("name") or f"{_SPELLED[vendor]} GPU")
    details = listed(as_text(entry.get("gfx") or ""), gib(entry.get("memory_bytes")))
    return f"{name} ({details})" if details else name
