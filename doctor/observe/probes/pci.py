"""Examine the PCI path between two GPUs: bridges that redirect (ACS), virtual machines.

The configuration space is read through sysfs (https://docs.kernel.org/PCI/sysfs-pci.html). An
unprivileged user gets its first 64 bytes only, so ACS may stay unknown. With ACS redirection, GPUs
copy to each other through the root complex, which NCCL is known to hang over.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from doctor.base.lazy_pattern import Pattern
from doctor.host import Host
from doctor.model.facts import Fact, FactStream, absent, present, unknown
from doctor.observe.scene import ProbeInput

BOUND = 2.0

_ADDRESS = Pattern(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")
_ACS = 0x000D
_REDIRECTS = 0x0D
"""ACS control bits: source validation, request redirect, completion redirect.

PCI Express Base Specification, Access Control Services extended capability.
"""
_SPACE = 4096
_VENDORS = (
    "qemu",
    "kvm",
    "vmware",
    "virtualbox",
    "innotek",
    "xen",
    "amazon ec2",
    "google compute engine",
    "virtual machine",
)


def probe(scene: ProbeInput) -> FactStream:
    """Yield `host.virtual_machine` and `host.acs`."""
    yield "host.virtual_machine", _virtual(scene.host)
    yield "host.acs", _acs(scene.host)


def _virtual(host: Host) -> Fact:
    flags = re.search(
        r"^flags[ \t]*:(.*)$", host.read("/proc/cpuinfo", limit=1 << 13) or "", re.MULTILINE
    )
    if flags:
        return present("hypervisor" in flags[1].split(), "/proc/cpuinfo")
    names = [
        (host.read(f"/sys/class/dmi/id/{name}", limit=256) or "").strip().lower()
        for name in ("sys_vendor", "product_name")
    ]
    if any(names):
        return present(
            any(vendor in name for vendor in _VENDORS for name in names), "/sys/class/dmi/id"
        )
    return unknown("neither /proc/cpuinfo nor /sys/class/dmi/id tells")


def _acs(host: Host) -> Fact:
    gpus = [name for name in host.list("/proc/driver/nvidia/gpus") if _ADDRESS.fullmatch(name)]
    if not gpus:
        return absent("/proc/driver/nvidia/gpus")
    bridges = sorted({bridge for gpu in gpus for bridge in _above(host, gpu)})
    if not bridges:
        return unknown("/sys does not show what lies above the GPUs", "/sys/bus/pci/devices")
    spaces = {
        bridge: host.read_bytes(f"/sys/bus/pci/devices/{bridge}/config", limit=_SPACE) or b""
        for bridge in bridges
    }
    for bridge, space in spaces.items():
        if len(space) == _SPACE and _control(space) & _REDIRECTS:
            return present(True, f"/sys/bus/pci/devices/{bridge}/config")
    if any(len(space) < _SPACE for space in spaces.values()):
        return unknown(
            "only root may read the extended configuration of the bridges above the GPUs",
            "/sys/bus/pci/devices/*/config",
        )
    return present(False, "/sys/bus/pci/devices/*/config")


def _above(host: Host, device: str) -> Iterator[str]:
    """Yield the bridges on the way from the root to a device: /sys nests their folders."""
    try:
        parts = host.at(f"/sys/bus/pci/devices/{device}").resolve().parts
    except (OSError, RuntimeError):
        return
    yield from (part for part in parts[:-1] if _ADDRESS.fullmatch(part))


def _control(space: bytes) -> int:
    """Return the ACS control register out of a device's whole configuration.

    0 where it has none.
    """
    place, seen = 0x100, set[int]()
    while 0x100 <= place <= _SPACE - 8 and place not in seen:
        seen.add(place)
        header = int.from_bytes(space[place : place + 4], "little")
        if header & 0xFFFF == _ACS:
            return int.from_bytes(space[place + 6 : place + 8], "little")
        place = header >> 20
    return 0
