"""Intel's GPUs on which oneAPI computes, as PCI shows them.

Nearly every laptop has one that is for the screen alone.
"""

from __future__ import annotations

from typing import Any

from doctor.base.lazy_pattern import Pattern
from doctor.host import Host
from doctor.model.facts import Fact, FactStream, State, absent, present
from doctor.observe.binaries import drm
from doctor.observe.binaries.loader_cache import find_library
from doctor.observe.scene import ProbeInput

BOUND = 2.0

_VENDOR = "0x8086"
_DRIVERS = ("libze_intel_gpu.so.1", "libze_intel_gpu_legacy1.so.1")
_VERSION = Pattern(r"\.so\.(1\.\d{1,4}\.\d{1,9})$")
"""How the file of the driver ends: its build is the last number, 31294 of release 24.39.31294."""
_WAITING = (
    "undriven",
    "firmware_missing",
    "firmware_package",
    "firmware_held",
    "kernel_older",
    "blocked_by",
)
_IN_PROCESSOR = "0000:00:02.0"
"""Where a GPU sits that is part of the processor."""
_COMPUTES = ("0x7d", "0x64", "0xb0")
"""First digits of the PCI device numbers of GPUs that torch serves.

Core Ultra of the first (Meteor and Arrow Lake), second and third series.
"""


_OF_GPUS = (
    "gpus",
    "on_pci",
    "driver",
    "level_zero",
    "level_zero_version",
    "render",
    "groups_missing",
    *_WAITING,
)


def probe(scene: ProbeInput) -> FactStream:
    """Yield `intel.*`; without such a GPU all but `gpu_present` are absent."""
    host = scene.host
    shown = list(drm.devices(host, _VENDOR))
    gpus = [_gpu(host, address) for address in shown if _computes(host, address)]
    yield "intel.gpu_present", present(bool(gpus), drm.PCI)
    if not gpus:
        for name in _OF_GPUS:
            yield f"intel.{name}", absent("no GPU of Intel that computes")
        return
    nodes = [gpu["render"] for gpu in gpus if gpu.get("render")]
    drivers = sorted({gpu["driver"] for gpu in gpus if gpu.get("driver")})
    yield "intel.gpus", present(gpus, drm.PCI)
    yield "intel.on_pci", present(len(shown), drm.PCI)
    yield "intel.driver", present(", ".join(drivers), drm.PCI) if drivers else absent(drm.PCI)
    waiting = [gpu["pci_bus_id"] for gpu in gpus if not gpu.get("driver")]
    labels = [drm.label(host, address, "8086") for address in waiting]
    yield "intel.undriven", present(labels, drm.PCI) if waiting else absent(drm.PCI)
    missing, unserved = _words(host, waiting)
    yield "intel.firmware_missing", missing
    yield from drm.firmware_package(host, "intel", asked=missing.state is State.PRESENT)
    yield "intel.kernel_older", unserved
    yield "intel.blocked_by", drm.blocked_by(host) if waiting else absent("each has its driver")
    yield from _level_zero(host)
    yield "intel.render", drm.rights(host, nodes) if nodes else present("missing", drm.PCI)
    yield "intel.groups_missing", drm.groups_missing(host, nodes)


def _words(host: Host, waiting: list[str]) -> tuple[Fact, Fact]:
    if not waiting:
        return absent("each GPU has its driver"), absent("each GPU has its driver")
    from doctor.observe.probes.nvidia.xid import words_of_intel  # reads the log

    return words_of_intel(host, waiting)


def _level_zero(host: Host) -> FactStream:
    """Yield the driver that the loader of Level Zero would take, and its version.

    Older releases of it have another name.
    """
    found = next(filter(None, (find_library(host, name) for name in _DRIVERS)), None)
    searched = "the loader's search"
    yield "intel.level_zero", present(found, searched) if found else absent(searched)
    version = _VERSION.search(host.at(found).resolve().name) if found else None
    yield (
        "intel.level_zero_version",
        present(version[1], found or searched) if version else absent(searched),
    )


def _computes(host: Host, address: str) -> bool:
    return address != _IN_PROCESSOR or drm.number(host, f"{drm.PCI}/{address}/device").startswith(
        _COMPUTES
    )


def _gpu(host: Host, address: str) -> dict[str, Any]:
    gpu = {
        "pci_bus_id": address,
        "device": drm.number(host, f"{drm.PCI}/{address}/device"),
        "driver": drm.driver_of(host, address),
        "render": drm.render_node(host, address),
    }
    return {name: value for name, value in gpu.items() if value}
