"""Find why no driver serves a GPU on PCI: the kernel module, and what blocks it.

The value of the EFI variable SecureBoot stands behind four bytes of attributes
(https://docs.kernel.org/filesystems/efivarfs.html).
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from itertools import islice

from doctor.base.lazy_pattern import Pattern
from doctor.host import Host
from doctor.model.facts import Fact, FactStream, absent, present, unknown
from doctor.observe.binaries.modprobe import FOLDERS, files, forbidding
from doctor.observe.probes.nvidia.xid import words_about_modules

_NAMES = frozenset({"nvidia", "nvidia-current", "nvidia_current"})
_MODULE = Pattern(r"nvidia(?:[-_]current)?\.ko(?:\.\w+)?")
_SECURE_BOOT = "/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c"
_MOST_KERNELS = 12
_DKMS = "/var/lib/dkms"
_MOST_BUILDS = 4
_LONGEST = 400
_OF_BUILD = ("build_failed", "build_error", "build_log")
_OTHER_REASON = (
    r"Kernel configuration is invalid|include/config/auto\.conf|[Kk]ernel (?:source|headers)"
    r"|g?cc: error: |Compiler version check failed|No space left on device"
)
_GUESTS = (("/etc/libvirt/qemu", ".xml"), ("/etc/pve/qemu-server", ".conf"))
_MOST_GUESTS = 64
_SOURCE = (
    r"<source[^<>]{0,80}>\s*<address\s+domain=['\"]0x(?P<d>[0-9a-f]{4})['\"]\s+"
    r"bus=['\"]0x(?P<b>[0-9a-f]{2})['\"]\s+slot=['\"]0x(?P<s>[0-9a-f]{2})['\"]\s+"
    r"function=['\"]0x(?P<f>[0-7])['\"]"
)
"""A PCI device of the host (https://libvirt.org/formatdomain.html#host-device-assignment)."""
_HOSTPCI = (
    r"(?m)^hostpci\d{1,2}:\s*(?:host=)?(?P<domain>[0-9a-f]{4}:)?(?P<slot>[0-9a-f]{2}:[0-9a-f]{2})"
    r"(?:\.(?P<f>[0-7]))?"
)
"""The same of qm.conf(5); without a function it is the whole card."""
_PRIME = "/etc/prime-discrete"
_UDEV = ("/etc/udev/rules.d", "/run/udev/rules.d", "/usr/lib/udev/rules.d", "/lib/udev/rules.d")
_SWITCHERS = ("prime-select", "envycontrol", "supergfxctl", "system76-power", "optimus-manager")
"""Tools that switch the GPU of a laptop off by such files."""
_TAKES_AWAY = Pattern(r'ATTR\{remove\}\s*=\s*"1"')


def of_modules(
    host: Host, on_bus: Mapping[str, str], *, loaded: bool, installed: bool
) -> FactStream:
    """Yield what tells why cards have no driver.

    `on_bus` are the cards, `loaded` says whether NVIDIA's module is in the kernel, and `installed`
    whether a tool of the driver is on the disk.
    """
    cards = [_card(host, folder, holder) for folder, holder in on_bus.items()]
    yield (
        "nvidia.cards",
        present(cards, "/sys/bus/pci/devices") if cards else absent("/sys/bus/pci/devices"),
    )
    yield "nvidia.module_kind", _kind(host)
    kept = "vfio-pci" in on_bus.values()
    yield from _for_guests(host) if kept else _no_guests()
    waits = bool(cards) and not loaded
    blocking = list(forbidding(host, _NAMES)) if waits else []
    yield (
        "nvidia.blacklisted_in",
        present(blocking, ", ".join(FOLDERS)) if blocking else absent("modprobe.d, /proc/cmdline"),
    )
    prime = host.which("prime-select")
    # The rules are many: a machine that has neither card nor driver does not pay for them.
    hidden = not cards and not loaded and (installed or prime is not None)
    off = list(_switching_off(host)) if hidden else []
    yield (
        "nvidia.switched_off_by",
        present(off, ", ".join((_PRIME, *_UDEV))) if off else absent(", ".join((_PRIME, *_UDEV))),
    )
    switcher = next(filter(host.which, _SWITCHERS), None) if off else None
    yield "nvidia.switcher", present(switcher, "PATH") if switcher else absent("PATH")
    yield "nvidia.prime_select", present(prime, "PATH") if prime else absent("PATH")
    yield from _built(host) if waits else _not_asked()
    yield "host.secure_boot", _secure_boot(host)


def _for_guests(host: Host) -> FactStream:
    """Yield who keeps GPUs for virtual machines, and which addresses such machines name.

    vfio-pci takes devices by the numbers of their model, so every card of it
    (https://docs.kernel.org/driver-api/vfio.html). Only root may read what libvirt writes.
    """
    named = [
        path
        for path in files(host, FOLDERS, ".conf")
        if any(map(_names_models, (host.read(path, limit=1 << 16) or "").splitlines()))
    ]
    line = host.read("/proc/cmdline", limit=1 << 13) or ""
    named += ["/proc/cmdline"] if "vfio-pci.ids=" in line and "10de:" in line else []
    where = "modprobe.d, /proc/cmdline"
    yield "nvidia.ids_of_vfio", present(named, where) if named else absent(where)
    used = list(dict.fromkeys(_of_guests(host)))
    where = ", ".join(folder for folder, _ in _GUESTS)
    yield "nvidia.used_by_guests", present(used, where) if used else absent(where)


def _names_models(line: str) -> bool:
    match line.partition("#")[0].split():
        case ["options", "vfio-pci" | "vfio_pci", *options]:
            return any(one.startswith("ids=") and "10de:" in one for one in options)
        case _:
            return False


def _no_guests() -> FactStream:
    for name in ("ids_of_vfio", "used_by_guests"):
        yield f"nvidia.{name}", absent("vfio-pci holds no GPU")


def _of_guests(host: Host) -> Iterator[str]:
    """Yield the PCI addresses in the definitions of libvirt and of Proxmox."""
    for folder, ending in _GUESTS:
        for path in islice(sorted(host.glob(folder, f"*{ending}")), _MOST_GUESTS):
            text = host.read(f"{folder}/{path.name}", limit=1 << 18) or ""
            for found in re.finditer(_SOURCE, text):
                yield "{}:{}:{}.{}".format(*(found[part] for part in ("d", "b", "s", "f")))
            for found in re.finditer(_HOSTPCI, text):
                yield f"{found['domain'] or '0000:'}{found['slot']}.{found['f'] or '0'}"


def unplaced(host: Host, on_bus: Mapping[str, str]) -> list[str]:
    """Return the cards without a driver whose window to their memory (BAR1) has no address.

    The second line of `resource` is BAR1: start, end and flags
    (https://docs.kernel.org/PCI/sysfs-pci.html).
    """
    found = []
    for folder in (folder for folder, holder in on_bus.items() if not holder):
        lines = (host.read(f"{folder}/resource", limit=1 << 12) or "").splitlines()
        if len(lines) > 1 and re.fullmatch(r"0x0+ 0x[0-9a-f]+ 0x[0-9a-f]+", lines[1].strip()):
            found.append(f"{folder.rpartition('/')[2].lower()}: BAR1 has no address")
    return found


def _not_asked() -> FactStream:
    yield "nvidia.module_refused", absent("no card waits for it")
    yield "nvidia.cards_left_alone", absent("no card waits for it")
    yield "nvidia.probe_failed", absent("no card waits for it")
    yield "nvidia.module_file", absent("no card waits for it")
    yield "nvidia.module_of_kernels", absent("no card waits for it")
    yield "nvidia.kernel_replaced_by", absent("no card waits for it")
    yield from _no_build("no card waits for it")


def _card(host: Host, folder: str, holder: str) -> dict[str, str]:
    device = (host.read(f"{folder}/device", limit=16) or "").strip().lower()
    named = {"pci_bus_id": folder.rpartition("/")[2].lower(), "device": device, "driver": holder}
    return {name: value for name, value in named.items() if value}


def _kind(host: Host) -> Fact:
    text = host.read("/proc/driver/nvidia/version", limit=4096) or ""
    line = next((line for line in text.splitlines() if line.startswith("NVRM version:")), "")
    if not line:
        return absent("/proc/driver/nvidia/version")
    return present(
        "open" if "Open Kernel Module" in line else "closed", "/proc/driver/nvidia/version"
    )


def _switching_off(host: Host) -> Iterator[str]:
    """Yield the files with which nvidia-prime and its like switch the GPU of a laptop off.

    nvidia-prime keeps the choice in /etc/prime-discrete. A rule of udev takes each GPU from PCI
    when the machine starts, so that nothing in /sys shows it; see udev(7).
    """
    if (host.read(_PRIME, limit=64) or "").strip() == "off":
        yield _PRIME
    for path in files(host, _UDEV, ".rules"):
        lines = (host.read(path, limit=1 << 16) or "").splitlines()
        if any(map(_takes_gpus_away, lines)):
            yield path
    for path in files(host, FOLDERS, ".conf"):
        lines = (host.read(path, limit=1 << 16) or "").splitlines()
        if any(_alias_off(line) for line in lines):
            yield path


def _takes_gpus_away(line: str) -> bool:
    # The class 0x03 is that of GPUs: the USB and sound functions of a card may be taken alone.
    return (
        not line.lstrip().startswith("#")
        and "0x10de" in line
        and '"0x03' in line
        and _TAKES_AWAY.search(line) is not None
    )


def _alias_off(line: str) -> bool:
    match line.partition("#")[0].split():
        case ["alias", name, "off"]:
            return name in _NAMES
        case _:
            return False


def _built(host: Host) -> FactStream:
    """Yield the module of the running kernel, and the other kernels that have one."""
    refused, left, failed = words_about_modules(host)
    yield "nvidia.module_refused", refused
    yield "nvidia.cards_left_alone", left
    yield "nvidia.probe_failed", failed
    running = (host.read("/proc/sys/kernel/osrelease", limit=256) or "").strip()
    kernels = sorted(host.list("/lib/modules"))[-_MOST_KERNELS:]
    others = [one for one in kernels if host.exists(f"/lib/modules/{one}/modules.dep")]
    gone = bool(others) and bool(running) and running not in kernels
    yield (
        "nvidia.kernel_replaced_by",
        present(others[-1], "/lib/modules") if gone else absent("/lib/modules"),
    )
    if running not in kernels:
        yield from _build_failed(host, running)
        for name in ("module_file", "module_of_kernels"):
            yield (
                f"nvidia.{name}",
                unknown("the modules of the running kernel are not shown", "/lib/modules"),
            )
        return
    found = {kernel: _module(host, kernel) for kernel in kernels}
    here = found.pop(running)
    yield (
        "nvidia.module_file",
        present(here, f"/lib/modules/{running}")
        if here
        else absent(f"/lib/modules/{running}/modules.dep"),
    )
    yield from _build_failed(host, running) if not here else _no_build("the module is there")
    others = [kernel for kernel, path in found.items() if path]
    yield (
        "nvidia.module_of_kernels",
        present(others, "/lib/modules") if others else absent("/lib/modules"),
    )


def _build_failed(host: Host, kernel: str) -> FactStream:
    """Yield the driver that DKMS could not compile for a kernel, and the compiler's first error.

    DKMS leaves the log in the folder of the build where the build failed (dkms(8)). Missing
    headers, or another compiler, are no fault of the driver.
    """
    for path in islice(host.glob(_DKMS, "nvidia*/*/build/make.log"), _MOST_BUILDS):
        text = host.read(path, limit=1 << 22) or ""
        if kernel not in text[:4096].split() and f"KERNEL_UNAME={kernel}" not in text[:4096]:
            continue
        error = next(filter(None, map(_compiler_error, text.splitlines())), "")
        if not error or re.search(_OTHER_REASON, text):
            continue
        where = f"{_DKMS}/{'/'.join(path.parts[-4:])}"
        yield "nvidia.build_failed", present(path.parts[-3], where)
        yield "nvidia.build_error", present(error, where)
        yield "nvidia.build_log", present(where, where)
        return
    yield from _no_build(_DKMS)


def _compiler_error(line: str) -> str:
    """Return the file and the message of a compiler's error, without its hints; else nothing."""
    place, _, said = line[:_LONGEST].replace(": fatal error: ", ": error: ").partition(": error: ")
    path, *numbers = place.split(":")
    if not said or not numbers or not all(map(str.isdecimal, numbers)):
        return ""
    message = said.partition("; did you mean")[0].partition(" [-W")[0].strip()
    return f"{path.rpartition('/')[2]}: {message}"


def _no_build(why: str) -> FactStream:
    for name in _OF_BUILD:
        yield f"nvidia.{name}", absent(why)


def _module(host: Host, kernel: str) -> str:
    folder = f"/lib/modules/{kernel}"
    listed = (
        line.partition(":")
        for line in (host.read(f"{folder}/modules.dep", limit=1 << 22) or "").splitlines()
        if "nvidia" in line
    )
    name = next(
        (name for name, colon, _ in listed if colon and _MODULE.fullmatch(name.rpartition("/")[2])),
        "",
    )
    if name and host.exists(path := os.path.join(folder, name)):  # noqa: PTH118
        return path
    beside = (
        f"{folder}/{place}"
        for place in ("updates/dkms", "updates", "extra", "extra/nvidia", "kernel/drivers/video")
    )
    files = (
        f"{place}/{name}"
        for place in beside
        for name in host.list(place)
        if _MODULE.fullmatch(name)
    )
    return next(files, "")


def _secure_boot(host: Host) -> Fact:
    told = host.read_bytes(_SECURE_BOOT, limit=16)
    # Four bytes of attributes, then the value.
    return present(told[-1] == 1, _SECURE_BOOT) if told and len(told) > 4 else absent(_SECURE_BOOT)
