"""Intel's GPUs on which oneAPI computes, as PCI shows them.

Nearly every laptop has one that is for the screen alone.
"""

from __future__ import annotations

from typing import Any

from doctor.host import Host
from doctor.model.facts import Fact, FactStream, absent, present
from doctor.observe.binaries import drm
from doctor.observe.binaries.loader_cache import find_library
from doctor.observe.scene import Scene

BOUND = 2.0

_VENDOR = "0x8086"
_DRIVERS = ("libze_intel_gpu.so.1", "libze_intel_gpu_legacy1.so.1")
_WAITING = ("undriven", "firmware_missing", "blocked_by")
_IN_PROCESSOR = "0000:00:02.0"
"""Where a GPU sits that is part of the processor."""
_COMPUTES = ("0x7d", "0x64", "0xb0")
"""First digits of the PCI device numbers of GPUs that torch serves.

Core Ultra of the first (Meteor and Arrow Lake), second and third series.
"""


def probe(scene: Scene) -> FactStream:
    """Yield `intel.*`; without such a GPU all but `gpu_present` are absent."""
    host = scene.host
    gpus = [
        _gpu(host, address) for address in drm.devices(host, _VENDOR) if _computes(host, address)
    ]
    yield "intel.gpu_present", present(bool(gpus), drm.PCI)
    if not gpus:
        for name in ("gpus", "driver", "level_zero", "render", "groups_missing", *_WAITING):
            yield f"intel.{name}", absent("no GPU of Intel that computes")
        return
    nodes = [gpu["render"] for gpu in gpus if gpu.get("render")]
    drivers = sorted({gpu["driver"] for gpu in gpus if gpu.get("driver")})
    yield "intel.gpus", present(gpus, drm.PCI)
    yield "intel.driver", present(", ".join(drivers), drm.PCI) if drivers else absent(drm.PCI)
    waiting = [gpu["pci_bus_id"] for gpu in gpus if not gpu.get("driver")]
    labels = [_label(host, address) for address in waiting]
    yield "intel.undriven", present(labels, drm.PCI) if waiting else absent(drm.PCI)
    yield "intel.firmware_missing", _firmware_missing(host, waiting)
    yield "intel.blocked_by", drm.blocked_by(host) if waiting else absent("each has its driver")
    yield "intel.level_zero", _level_zero(host)
    yield "intel.render", drm.rights(host, nodes) if nodes else present("missing", drm.PCI)
    yield "intel.groups_missing", drm.groups_missing(host, nodes)


def _label(host: Host, address: str) -> str:
    number = drm.number(host, f"{drm.PCI}/{address}/device").removeprefix("0x")
    return f"{address} (8086:{number})" if number else address


def _firmware_missing(host: Host, waiting: list[str]) -> Fact:
    if not waiting:
        return absent("each GPU has its driver")
    from doctor.observe.probes.nvidia.xid import missing_firmware_of_intel  # reads the log

    return missing_firmware_of_intel(host, waiting)


def _level_zero(host: Host) -> Fact:
    """Return the driver that the loader of Level Zero would take.

    Older releases of it have another name.
    """
    found = next(filter(None, (find_library(host, name) for name in _DRIVERS)), None)
    return present(found, "the loader's search") if found else absent("the loader's search")


def _computes(host: Host, address: str) -> bool:
    return address != _IN_PROCESSOR or drm.number(host, f"{drm.PCI}/{address}/device").startswith(
        _COMPUTES
    )


def _gpu(host: Host, address: str) -> dict[str, Any]:
    gpu = {
        "pci_bus_id": address,
        "driver": drm.driver_of(host, address),
        "render": drm.render_node(host, address),
    }
    return {name: value for name, value in gpu.items() if value}
