"""Read the files of NVIDIA's driver: kernel module, PCI, WSL, device nodes, libcuda.

The driver's README names the files of /proc/driver/nvidia
(https://download.nvidia.com/XFree86/Linux-x86_64/580.65.06/README/procinterface.html). Files come
first because nvidia-smi may hang where the driver does, and containers often lack it. For WSL see
https://docs.nvidia.com/cuda/wsl-user-guide/.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Mapping
from pathlib import Path

from doctor.host import Host
from doctor.model.facts import Fact, FactStream, absent, present, unknown
from doctor.observe.binaries.loader_cache import find_library, loader_cache, search_folders

_WSL = "/usr/lib/wsl/lib"
_RELEASE = re.compile(r"\d{2,4}\.\d+(?:\.\d+)*")
_NIX = "/run/opengl-driver/lib"
_OF_LIBCUDA = ("libcuda", "libcuda_version", "libcuda_link", "libcuda_before_wsl")
_LINKER_FOLDERS = (
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/usr/lib64",
    "/lib64",
    "/usr/lib",
    "/lib",
)


def kernel_driver(host: Host) -> tuple[str, str] | None:
    """Return version and source of the loaded kernel driver; None where none is loaded."""
    text = host.read("/proc/driver/nvidia/version", limit=4096) or ""
    line = next((line for line in text.splitlines() if line.startswith("NVRM version:")), "")
    if found := next(filter(None, map(_RELEASE.match, line.split()[2:])), None):
        return found[0], "/proc/driver/nvidia/version"
    version = (host.read("/sys/module/nvidia/version", limit=64) or "").strip()
    return (version, "/sys/module/nvidia/version") if re.match(r"\d", version) else None


def outside_linux(host: Host) -> bool:
    """Say whether Windows drives the GPU: for WSL, through /dev/dxg, or because this is Windows."""
    if host.platform == "win32":
        return smi_path(host) is not None
    # /dev/dxg serves GPUs of every vendor. A container gets the libraries in folders of its own.
    return host.exists("/dev/dxg") and (
        host.exists(f"{_WSL}/libcuda.so.1") or nvml_library(host) is not None
    )


def shows_driver(host: Host) -> bool:
    """Say whether a file other than its version file shows a driver.

    gVisor has no version file, and Windows has none of these files.
    """
    return any(map(host.exists, ("/dev/nvidiactl", "/proc/driver/nvidia"))) or outside_linux(host)


def nvml_library(host: Host) -> str | None:
    """Return the NVML that the loader would take."""
    name = "libnvidia-ml.so.1"
    return find_library(host, name) or next(
        (path for path in (f"{_WSL}/{name}",) if host.exists(path)), None
    )


def smi_path(host: Host) -> str | None:
    """Return the path of nvidia-smi, which WSL keeps off PATH."""
    beside = host.at(f"{_WSL}/nvidia-smi")
    return host.which("nvidia-smi") or (str(beside) if os.access(beside, os.X_OK) else None)


def gpu_names(host: Host) -> list[str]:
    """Return the names that the kernel driver gives the GPUs."""
    texts = (
        host.read(path, limit=4096) or ""
        for path in host.glob("/proc/driver/nvidia/gpus", "*/information")
    )
    return [
        found[1].strip()
        for text in texts
        if (found := re.search(r"^Model:[ \t]*(\S.*)$", text, re.MULTILINE))
    ]


def addresses(host: Host) -> list[str]:
    """Return the PCI addresses of the GPUs that the kernel driver holds, as Linux writes them."""
    return [name.lower() for name in host.list("/proc/driver/nvidia/gpus")]


def on_bus(host: Host) -> dict[str, str]:
    """Return the NVIDIA GPUs on PCI by their folder, with the kernel driver that holds each.

    An empty name where none does.
    """
    devices, found = "/sys/bus/pci/devices", {}
    for name in host.list(devices):
        if (host.read(f"{devices}/{name}/vendor", limit=16) or "").strip() == "0x10de":
            kind = (host.read(f"{devices}/{name}/class", limit=16) or "").strip()
            if kind.startswith("0x03"):
                holder = host.at(f"{devices}/{name}/driver")
                found[f"{devices}/{name}"] = (
                    os.path.basename(os.path.realpath(holder)) if os.path.lexists(holder) else ""  # noqa: PTH119
                )
    return found


def gpu_present(host: Host, seen: Mapping[str, str]) -> Fact:
    """Return whether the machine has an NVIDIA GPU, driver or not; `seen` are those on PCI."""
    if host.list("/proc/driver/nvidia/gpus"):
        return present(True, "/proc/driver/nvidia/gpus")
    if seen:
        return present(True, next(iter(seen)))
    if outside_linux(host):
        return present(True, "/dev/dxg" if host.platform != "win32" else "nvidia-smi")
    if "nvidia,tegra" in (host.read("/proc/device-tree/compatible", limit=4096) or ""):
        return present(True, "/proc/device-tree/compatible")
    return present(False, "/proc/driver/nvidia, /sys/bus/pci, /dev/dxg")


def driver_files(host: Host, *, shown: bool) -> FactStream:
    """Yield what device nodes, modules and libraries tell.

    `shown` says whether there is a driver.
    """
    yield "nvidia.device_nodes", _device_nodes(host) if shown else absent("no driver is loaded")
    refused, barred = _refused(host) if shown else ([], [])
    yield (
        "nvidia.nodes_refused",
        present(refused, "/dev/nvidia*") if refused else absent("/dev/nvidia*"),
    )
    yield (
        "nvidia.nodes_barred",
        present(barred, "/dev/nvidia*") if barred else absent("/dev/nvidia*"),
    )
    stale = _stale(host) if shown else ""
    yield (
        "nvidia.nodes_stale",
        present(stale, "/proc/devices") if stale else absent("/proc/devices"),
    )
    yield (
        "nvidia.uvm_node",
        present(host.exists("/dev/nvidia-uvm"), "/dev/nvidia-uvm")
        if shown
        else absent("/dev/nvidia-uvm"),
    )
    yield "nvidia.modprobe", _modprobe(host) if shown else absent("no driver is loaded")
    yield (
        "nvidia.uvm",
        _uvm(host) if shown and not host.exists("/dev/dxg") else absent("/sys/module/nvidia_uvm"),
    )
    switches = [name for name in host.list("/dev") if name.startswith("nvidia-nvswitch")]
    yield (
        "nvidia.nvswitch",
        present(bool(switches), "/dev/nvidia-nvswitch*")
        if shown
        else absent("/dev/nvidia-nvswitch*"),
    )
    yield "nvidia.fabric_manager", _fabric_manager(host, shown=shown)
    yield from _libcuda(host)


def _opens(path: Path) -> bool:
    try:
        os.close(os.open(path, os.O_RDWR | getattr(os, "O_NONBLOCK", 0)))
    except OSError:
        return False
    return True


def _uvm(host: Host) -> Fact:
    module = "/sys/module/nvidia_uvm"
    if host.exists(module):
        return present(True, module)
    # gVisor hands CUDA through and shows none of the host's modules.
    return (
        present(False, module)
        if kernel_driver(host)
        else unknown("the host's modules are not shown", module)
    )


def _refused(host: Host) -> tuple[list[str], list[str]]:
    """Return the device nodes closed by their mode, and those closed by a control group."""
    nodes = [
        f"/dev/{name}"
        for name in host.list("/dev")
        if re.fullmatch(r"nvidia(?:\d+|ctl|-uvm)", name)
    ]
    closed = [node for node in nodes if not os.access(host.at(node), os.R_OK | os.W_OK)]
    barred = [node for node in closed if _mode_allows(host.at(node))]
    return [node for node in closed if node not in barred], barred


def _stale(host: Host) -> str:
    """Say whether /dev/nvidia-uvm has another major number than the kernel's.

    The kernel assigns it anew whenever the module is loaded.
    """
    listed = re.search(
        r"^ {0,3}(\d{1,4}) nvidia-uvm$",
        host.read("/proc/devices", limit=1 << 16) or "",
        re.MULTILINE,
    )
    try:
        node = host.at("/dev/nvidia-uvm").stat()
    except OSError:
        return ""
    if listed is None or not stat.S_ISCHR(node.st_mode) or os.major(node.st_rdev) == int(listed[1]):
        return ""
    return (
        f"/dev/nvidia-uvm has the number {os.major(node.st_rdev)}, and nvidia-uvm is {listed[1]} "
        f"in /proc/devices"
    )


def _mode_allows(path: Path) -> bool:
    try:
        status = path.stat()
    except OSError:
        return False
    member = status.st_gid in (os.getegid(), *os.getgroups())
    shift = 6 if status.st_uid == os.geteuid() else 3 if member else 0
    return (status.st_mode >> shift) & 0o6 == 0o6


def _modprobe(host: Host) -> Fact:
    """Return nvidia-modprobe, with which libcuda loads modules, if setuid or run by root."""
    for path in ("/usr/bin/nvidia-modprobe", "/usr/sbin/nvidia-modprobe"):
        try:
            status = host.at(path).stat()
        except OSError:
            continue
        if status.st_mode & stat.S_ISUID or os.geteuid() == 0:
            return present(path, path)
    return absent("/usr/bin/nvidia-modprobe")


def _device_nodes(host: Host) -> Fact:
    if host.exists("/dev/dxg"):
        return present(os.access(host.at("/dev/dxg"), os.R_OK | os.W_OK), "/dev/dxg")
    nodes = [name for name in host.list("/dev") if re.fullmatch(r"nvidia\d+", name)]
    # Opening a GPU's own node wakes the GPU, which takes seconds; nvidiactl costs nothing and is
    # refused the same way.
    usable = _opens(host.at("/dev/nvidiactl")) and all(
        os.access(host.at(f"/dev/{name}"), os.R_OK | os.W_OK) for name in nodes
    )
    return present(bool(nodes) and usable, "/dev/nvidiactl, /dev/nvidia*")


def _fabric_manager(host: Host, *, shown: bool) -> Fact:
    path = host.which("nv-fabricmanager")
    if path is None:
        return absent("nv-fabricmanager is not on PATH")
    if not shown:
        return unknown("not asked: no driver is loaded", path)
    ran = host.run([path, "--version"], timeout=2.0, limit=1 << 14)
    found = re.search(r"\d{3}\.\d+(?:\.\d+)*", ran.output) if ran.ok else None
    return (
        present(found[0], path)
        if found
        else unknown("it does not tell its version within 2 s", path)
    )


def _libcuda(host: Host) -> FactStream:
    wsl = f"{_WSL}/libcuda.so.1"
    path = find_library(host, "libcuda.so.1")
    if path is None and host.exists(f"{_NIX}/libcuda.so.1"):
        # Programs of NixOS name this folder themselves; those that are not built there do not find
        # it.
        for name in _OF_LIBCUDA:
            yield f"nvidia.{name}", unknown(f"only programs built for NixOS find {_NIX}", _NIX)
        return
    if path is None:
        why = (
            f"{wsl} is not in the loader's cache"
            if host.exists(wsl)
            else "the loader finds no libcuda.so.1"
        )
        for name in _OF_LIBCUDA:
            yield f"nvidia.{name}", absent(why)
        return
    # Packages of a distribution put theirs into these folders; other places are somebody's choice.
    shadows = (
        host.exists("/dev/dxg") and host.exists(wsl) and os.path.dirname(path) in _LINKER_FOLDERS  # noqa: PTH120
    )
    yield (
        "nvidia.libcuda_before_wsl",
        present(path, "the loader's search") if shadows else absent("the loader's search"),
    )
    target = os.path.realpath(host.at(path))
    version = re.search(r"\.so\.(\d{2,4}(?:\.\d+)+)$", target)
    yield "nvidia.libcuda", present(path, "the loader's search")
    if version:
        yield "nvidia.libcuda_version", present(version[1], target)
    else:
        yield "nvidia.libcuda_version", unknown("its file name holds no version", target)
    folders = (str(Path(path).parent), *search_folders(host, "LIBRARY_PATH"), *_LINKER_FOLDERS)
    plain = next(
        (f"{folder}/libcuda.so" for folder in folders if host.exists(f"{folder}/libcuda.so")), None
    )
    plain = plain or next(iter(loader_cache(host).get("libcuda.so", ())), None)
    yield "nvidia.libcuda_link", present(plain is not None, plain or "the linker's folders")
