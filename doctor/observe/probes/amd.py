"""AMD's GPUs: what the kernel's compute driver (kfd) lists, else what PCI shows.

Nothing of ROCm is started.
"""

from __future__ import annotations

import re
from collections.abc import Sequence, Set
from typing import Any

from doctor.host import Host
from doctor.model.facts import Fact, FactStream, State, absent, present
from doctor.observe.binaries import drm
from doctor.observe.binaries.loader_cache import find_library
from doctor.observe.binaries.modprobe import FOLDERS, forbidding
from doctor.observe.scene import ProbeInput

BOUND = 2.0

_ABOUT_GPUS = (
    "gpus",
    "driver",
    "blocked_by",
    "blacklisted_in",
    "kfd",
    "render",
    "given",
    "unlisted",
    "left_out",
    "groups_missing",
    "undriven",
    "firmware_missing",
    "firmware_package",
    "firmware_held",
    "probe_failed",
)
_OF_WSL = "/var/lib/dpkg/info/hsa-runtime-rocr4wsl-amdgpu.list"
"""What the package leaves with which older releases of ROCm serve WSL."""
_NODES = "/sys/class/kfd/kfd/topology/nodes"
_KFD = "/dev/kfd"
_VENDOR = "0x1002"
_CARDS = tuple("0x66a 0x686 0x687 0x69a".split())  # noqa: SIM905
_NEWER, _PROCESSORS = range(0x7300, 0x8000), range(0x1300, 0x2000)
"""PCI device numbers of cards since Vega, and of processors' graphics, as in amdgpu_drv.c.

The second are asked about where kfd lists no GPU at all.
"""
_MODULE = "/sys/module/amdgpu"


def probe(scene: ProbeInput) -> FactStream:
    """Yield `amd.*`; without a GPU of AMD's all but `gpu_present` are absent."""
    host = scene.host
    listed, on_bus = _listed(host), list(drm.devices(host, _VENDOR))
    yield "amd.dxg", _dxg(host)
    yield "amd.gpu_present", present(bool(listed or on_bus), f"{_NODES}, {drm.PCI}")
    if not listed and not on_bus:
        for name in _ABOUT_GPUS:
            yield f"amd.{name}", absent("no GPU of AMD")
        return
    gpus = listed or [_of_bus(host, address) for address in on_bus]
    nodes = [gpu["render"] for gpu in gpus if gpu.get("render")]
    yield "amd.gpus", present(gpus, _NODES if listed else drm.PCI)
    yield "amd.driver", _driver(host)
    held = listed or any(drm.driver_of(host, address) for address in on_bus)
    yield "amd.blocked_by", absent("a driver has them") if held else drm.blocked_by(host)
    # The driver may be asleep, or serve another card: only what no driver has is asked about.
    blocking = [] if held else list(forbidding(host, frozenset({"amdgpu"})))
    where = ", ".join(FOLDERS)
    yield "amd.blacklisted_in", present(blocking, where) if blocking else absent(where)
    yield "amd.kfd", drm.rights(host, [_KFD])
    yield "amd.render", drm.rights(host, nodes)
    yield "amd.given", drm.in_reach(host, nodes)
    yield from _left_out(host, on_bus if not listed else [])
    yield from _undriven(host, on_bus, {gpu["pci_bus_id"] for gpu in listed})
    yield "amd.groups_missing", drm.groups_missing(host, [_KFD, *nodes])


def _left_out(host: Host, on_bus: Sequence[str]) -> FactStream:
    """Yield the GPUs that amdgpu drives while kfd lists none, and what kfd said of them.

    A container is not shown the nodes of GPUs that it was not given: their files are there, and
    nobody may read them.
    """
    nodes = host.list(_NODES)
    told = [host.read(f"{_NODES}/{node}/properties", limit=1 << 14) for node in nodes]
    whole = bool(told) and all(told) and host.exists(_KFD)
    held = [at for at in on_bus if whole and drm.driver_of(host, at) == "amdgpu"]
    if not held:
        yield "amd.unlisted", absent(_NODES)
        yield "amd.left_out", absent(_NODES)
        return
    from doctor.observe.probes.nvidia.xid import words_of_kfd  # reads the log

    yield "amd.unlisted", present([drm.label(host, at, "1002") for at in held], _NODES)
    yield "amd.left_out", words_of_kfd(host)


def _undriven(host: Host, on_bus: Sequence[str], listed: Set[str]) -> FactStream:
    """Yield the GPUs that no driver holds, and what the kernel says of each.

    Boards of servers have old graphics of ATI that no driver of today takes, and nobody misses the
    graphics of a processor beside a card.
    """
    waiting = [
        address
        for address in on_bus
        if address not in listed
        and not drm.driver_of(host, address)
        and _computes(drm.number(host, f"{drm.PCI}/{address}/device"), alone=not listed)
    ]
    if not waiting:
        for name in ("undriven", "firmware_missing", "probe_failed"):
            yield f"amd.{name}", absent("each GPU has its driver")
        yield from drm.firmware_package(host, "amd", asked=False)
        return
    from doctor.observe.probes.nvidia.xid import words_of_amd  # reads the log

    labels = [drm.label(host, address, "1002") for address in waiting]
    yield "amd.undriven", present(labels, drm.PCI)
    missing, failed = words_of_amd(host, waiting)
    yield "amd.firmware_missing", missing
    yield "amd.probe_failed", failed
    yield from drm.firmware_package(host, "amd", asked=missing.state is State.PRESENT)


def _computes(number: str, *, alone: bool) -> bool:
    if number.startswith(_CARDS):
        return True
    try:
        device = int(number, 16)
    except ValueError:
        return False
    return device in _NEWER or (alone and device in _PROCESSORS)


def _dxg(host: Host) -> Fact:
    """Say whether ROCm's library for WSL is here, where Windows hands a GPU in.

    Older releases of ROCm have a package with a runtime for WSL
    (https://rocm.docs.amd.com/projects/radeon/en/latest/docs/install/wsl/install-radeon.html).
    """
    if not host.exists("/dev/dxg"):
        return absent("/dev/dxg")
    there = (
        find_library(host, "librocdxg.so") is not None
        or any(host.glob("/opt", "rocm*/lib/librocdxg.so*"))
        or host.exists(_OF_WSL)
    )
    return present("there" if there else "missing", "/opt/rocm")


def _driver(host: Host) -> Fact:
    if not host.exists(_MODULE):
        return absent(_MODULE)
    return present(drm.number(host, f"{_MODULE}/version") or "the kernel's own", _MODULE)


def _listed(host: Host) -> list[dict[str, Any]]:
    """Return the GPUs among kfd's nodes; a processor is a node without SIMDs."""
    found = []
    for node in sorted(host.list(_NODES), key=lambda name: int(name) if name.isdecimal() else 0):
        told = dict(
            re.findall(
                r"^(\w+) (\d+)$",
                host.read(f"{_NODES}/{node}/properties", limit=1 << 14) or "",
                re.MULTILINE,
            )
        )
        if node.isdecimal() and int(told.get("simd_count", 0)):
            found.append(_gpu(host, int(node), {name: int(value) for name, value in told.items()}))
    return found


def _gpu(host: Host, node: int, told: dict[str, int]) -> dict[str, Any]:
    place, version = told.get("location_id", 0), told.get("gfx_target_version", 0)
    address = (
        f"{told.get('domain', 0):04x}:{place >> 8 & 0xFF:02x}:{place >> 3 & 0x1F:02x}.{place & 7}"
    )
    banks = (
        host.read(f"{_NODES}/{node}/mem_banks/{bank}/properties", limit=1 << 12) or ""
        for bank in range(8)
    )
    sizes = [
        int(found[1])
        for text in banks
        if (found := re.search(r"^size_in_bytes (\d{1,18})$", text, re.MULTILINE))
    ]
    minor = told.get("drm_render_minor", 0)
    gpu = {
        "name": _name(host, address),
        "gfx": gfx(version) if version else None,
        "node": node,
        "pci_bus_id": address,
        "memory_bytes": sum(sizes) or None,
        "render": f"/dev/dri/renderD{minor}" if minor > 0 else drm.render_node(host, address),
        # As ROCR_VISIBLE_DEVICES takes it.
        "uuid": f"GPU-{told['unique_id']:016x}" if told.get("unique_id") else None,
    }
    return {name: value for name, value in gpu.items() if value not in (None, "")}


def gfx(version: int) -> str:
    """Spell the number of kfd as compilers do: 90402 is gfx942, 90010 is gfx90a."""
    return f"gfx{version // 10000}{version // 100 % 100:x}{version % 100:x}"


def _name(host: Host, address: str) -> str:
    """Return the name of a board; only those for servers hold one."""
    return (host.read(f"{drm.PCI}/{address}/product_name", limit=256) or "").strip()


def _of_bus(host: Host, address: str) -> dict[str, Any]:
    gpu = {
        "name": _name(host, address),
        "pci_bus_id": address,
        "render": drm.render_node(host, address),
    }
    return {name: value for name, value in gpu.items() if value}
