"""Graphics devices as the kernel shows them on PCI, their render nodes, and who may open those.

Programs compute through render nodes, which need no display server
(https://docs.kernel.org/gpu/drm-uapi.html#render-nodes). The group of a node, `render` mostly,
decides who may open it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence

from doctor.host import Host
from doctor.model.facts import Fact, FactStream, absent, present

PCI = "/sys/bus/pci/devices"
_AMD = "0x1002"
_DISPLAY, _ACCELERATOR = "0x03", "0x12"
"""Classes of PCI: an Instinct of AMD has no display and is a processing accelerator.

The accelerator in a processor of Intel is a unit for neural networks (NPU) and no GPU.
"""


def devices(host: Host, vendor: str) -> Iterator[str]:
    """Yield the PCI addresses of a vendor's GPUs."""
    for address in sorted(host.list(PCI)):
        if number(host, f"{PCI}/{address}/vendor") == vendor:
            kinds = (_DISPLAY, _ACCELERATOR) if vendor == _AMD else (_DISPLAY,)
            if number(host, f"{PCI}/{address}/class").startswith(kinds):
                yield address


def number(host: Host, path: str) -> str:
    """Return what a file of /sys holds, a number mostly; empty where there is none."""
    return (host.read(path, limit=64) or "").strip().lower()


def driver_of(host: Host, address: str) -> str:
    """Return the name of the kernel driver that holds a device; empty where none does."""
    try:
        return host.at(f"{PCI}/{address}/driver").readlink().name
    except OSError:
        return ""


def label(host: Host, address: str, vendor: str) -> str:
    """Return the address and the numbers of a device: `0000:03:00.0 (1002:7550)`."""
    device = number(host, f"{PCI}/{address}/device").removeprefix("0x")
    return f"{address} ({vendor}:{device})" if device else address


def firmware_package(host: Host, vendor: str, *, asked: bool) -> FactStream:
    """Yield the package of Debian or Ubuntu with a vendor's firmware, and whether apt holds it.

    The form of the file is that of deb-control(5); the first word of its status is what dpkg was
    told to do. It is read only where firmware is missing.
    """
    text = "\n" + (host.read(_DPKG, limit=1 << 25) or "") if asked else ""
    where = _DPKG if asked else "no firmware is missing"
    named = held = ""
    for name in ("linux-firmware", *_FIRMWARE[vendor]):
        _, found, rest = text.partition(f"\nPackage: {name}\n")
        fields = dict(line.partition(": ")[::2] for line in rest.partition("\n\n")[0].splitlines())
        status = fields.get("Status", "").split()
        if found and not named and status[2:] == ["installed"]:
            named = f"{name} {fields.get('Version', '')}".strip()
            held = name if status[0] == "hold" else ""
    yield f"{vendor}.firmware_package", present(named, where) if named else absent(where)
    yield f"{vendor}.firmware_held", present(held, where) if held else absent(where)


_DPKG = "/var/lib/dpkg/status"
_FIRMWARE = {
    "amd": ("firmware-amd-graphics",),
    "intel": ("firmware-intel-graphics", "firmware-misc-nonfree"),
}
"""Debian's packages; Ubuntu has one for all."""


def render_node(host: Host, address: str) -> str:
    """Return the path of a device's render node, through which programs compute.

    Empty where it has none.
    """
    name = next(
        (
            name
            for name in sorted(host.list(f"{PCI}/{address}/drm"))
            if re.fullmatch(r"renderD\d{1,4}", name)
        ),
        "",
    )
    return f"/dev/dri/{name}" if name else ""


def rights(host: Host, paths: Sequence[str]) -> Fact:
    """Say in a word whether this user may open these device nodes.

    Where some are there, a container or a job was given those alone, and the others are none of
    its business.
    """
    where = ", ".join(paths)
    if not paths:
        return absent("the driver made no node")
    there = [path for path in paths if host.exists(path)]
    if not there:
        return present("missing", where)
    return present(
        "usable" if all(_opens(host, path) for path in there) else "no permission", where
    )


def in_reach(host: Host, paths: Sequence[str]) -> Fact:
    """Return how many of these device nodes are there, in words; absent where all or none are."""
    where, there = ", ".join(paths), sum(map(host.exists, paths))
    some = 0 < there < len(paths)
    return present(f"{there} of {len(paths)}", where) if some else absent(where)


def _opens(host: Host, path: str) -> bool:
    return os.access(host.at(path), os.R_OK | os.W_OK)


def blocked_by(host: Host) -> Fact:
    """Say whether the kernel was told to let no driver set up a GPU (nomodeset).

    The drivers of AMD and Intel then give up at once
    (https://docs.kernel.org/admin-guide/kernel-parameters.html).
    """
    words = (host.read(_COMMAND_LINE, limit=1 << 13) or "").split()
    if "nomodeset" not in words:
        return absent(_COMMAND_LINE)
    return present(f"nomodeset in {_COMMAND_LINE}", _COMMAND_LINE)


_COMMAND_LINE = "/proc/cmdline"


def groups_missing(host: Host, paths: Sequence[str]) -> Fact:
    """Name the groups to whom the nodes belong that this user may not open."""
    closed = [path for path in paths if host.exists(path) and not _opens(host, path)]
    owners = sorted({owner for path in closed if (owner := _group(host, path)) is not None})
    return (
        present([_name(host, owner) for owner in owners], ", ".join(closed))
        if owners
        else absent(", ".join(paths) or "/dev/dri")
    )


def _group(host: Host, path: str) -> int | None:
    """Return the group of a node where being in it helps."""
    try:
        told = host.at(path).stat()
    except OSError:
        return None
    return told.st_gid if told.st_gid and told.st_mode & 0o060 == 0o060 else None


def _name(host: Host, group: int) -> str:
    found = re.search(
        rf"^([^:\n]+):[^:\n]*:{group}:", host.read("/etc/group", limit=1 << 18) or "", re.MULTILINE
    )
    return found[1] if found else str(group)
