"""Read the files of NVIDIA's driver: kernel module, PCI, WSL, libraries.

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

from doctor.base.lazy_pattern import Pattern
from doctor.host import Host
from doctor.model.facts import Fact, FactStream, absent, present, unknown
from doctor.observe.binaries import drm
from doctor.observe.binaries.loader_cache import find_library, loader_cache, search_folders
from doctor.observe.probes.nvidia.handed_in import mounted, version_of
from doctor.observe.probes.nvidia.nodes import device_nodes

_WSL = "/usr/lib/wsl/lib"
_RELEASE = Pattern(r"\d{2,4}\.\d+(?:\.\d+)*")
_NIX = "/run/opengl-driver/lib"
_NVLSM = "/opt/nvidia/nvlsm/sbin/nvlsm"
"""Where NVIDIA's package nvlsm has its program."""
_MPS = "/tmp/nvidia-mps"  # noqa: S108 # https://docs.nvidia.com/deploy/topics/topic_5_2_2.html
_CUDA, _NVML = "libcuda.so.1", "libnvidia-ml.so.1"
_PTX = "libnvidia-ptxjitcompiler.so"
_OF_LIBCUDA = (
    *("libcuda", "libcuda_version", "libcuda_link", "libcuda_before_wsl"),
    "libcuda_mounted",
)
_VENDOR, _BRIDGE = "0x10de", "0x0680"
"""NVIDIA's number and the class of an NVSwitch on PCI."""
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


def uninstaller(host: Host) -> Fact:
    """Return the path of the tool that NVIDIA's installer (.run) leaves to remove the driver."""
    path = "/usr/bin/nvidia-uninstall"
    return present(path, path) if host.exists(path) else absent(path)


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


def excluded(host: Host) -> list[str]:
    """Return the PCI addresses of the GPUs that the driver was told to leave out."""
    return [
        path.parent.name.lower()
        for path in host.glob("/proc/driver/nvidia/gpus", "*/information")
        if re.search(r"^GPU Excluded:\s*Yes", host.read(path, limit=4096) or "", re.MULTILINE)
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
        if (host.read(f"{devices}/{name}/vendor", limit=16) or "").strip() == _VENDOR:
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
    yield from device_nodes(host, shown=shown)
    yield "nvidia.modprobe", _modprobe(host) if shown else absent("no driver is loaded")
    yield (
        "nvidia.uvm",
        _uvm(host) if shown and not host.exists("/dev/dxg") else absent("/sys/module/nvidia_uvm"),
    )
    switches = f"/dev/nvidia-nvswitch*, {drm.PCI}"
    yield (
        "nvidia.nvswitch",
        present(_has_switches(host), switches) if shown else absent(switches),
    )
    yield "nvidia.fabric_manager", _fabric_manager(host, shown=shown)
    subnets = present(_NVLSM, _NVLSM) if shown and host.exists(_NVLSM) else absent(_NVLSM)
    yield "nvidia.nvlsm", subnets
    yield from _mps(host, shown=shown)
    yield from _libcuda(host)
    yield from _libraries(host) if shown else _no_libraries()


def _mps(host: Host, *, shown: bool) -> FactStream:
    """Yield the folder of MPS's control pipe, by whether this user may write to it.

    An MPS server serves the programs of its own user alone.
    """
    pipes = host.env.get("CUDA_MPS_PIPE_DIRECTORY") or _MPS
    control = f"{pipes}/control"
    there = shown and host.exists(control)
    open_ = there and os.access(host.at(control), os.W_OK)
    yield "nvidia.mps", present(pipes, control) if open_ else absent(control)
    refused = there and not open_
    yield "nvidia.mps_refused", present(pipes, control) if refused else absent(control)


def _has_switches(host: Host) -> bool:
    """Say whether NVSwitches are here; their device files come with the fabric manager's start."""
    if any(name.startswith("nvidia-nvswitch") for name in host.list("/dev")):
        return True
    return any(
        drm.number(host, f"{drm.PCI}/{address}/class").startswith(_BRIDGE)
        and drm.number(host, f"{drm.PCI}/{address}/vendor") == _VENDOR
        for address in host.list(drm.PCI)
    )


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
    path = find_library(host, _CUDA)
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
    if _is_empty(host, path):
        # The loader takes the first file of that name, and fails for good where it is none.
        for name in _OF_LIBCUDA:
            yield f"nvidia.{name}", absent(f"{path} is empty")
        return
    shadows = host.exists("/dev/dxg") and host.exists(wsl) and not _of_windows(host, path)
    yield (
        "nvidia.libcuda_before_wsl",
        present(path, "the loader's search") if shadows else absent("the loader's search"),
    )
    target = os.path.realpath(host.at(path))
    version, named = version_of(target)
    yield "nvidia.libcuda", present(path, "the loader's search")
    yield "nvidia.libcuda_mounted", mounted(host, target)
    if version:
        yield "nvidia.libcuda_version", present(version, named)
    else:
        yield "nvidia.libcuda_version", unknown("its file name holds no version", target)
    folders = (str(Path(path).parent), *search_folders(host, "LIBRARY_PATH"), *_LINKER_FOLDERS)
    plain = next(
        (f"{folder}/libcuda.so" for folder in folders if host.exists(f"{folder}/libcuda.so")), None
    )
    plain = plain or next(iter(loader_cache(host).get("libcuda.so", ())), None)
    yield "nvidia.libcuda_link", present(plain is not None, plain or "the linker's folders")


def _of_windows(host: Host, path: str) -> bool:
    """Say whether a libcuda in WSL is that of Windows: it lies there, leads there, or is a copy."""
    folders = {"/usr/lib/wsl", os.path.realpath(host.at("/usr/lib/wsl"))}
    places = (Path(path), Path(os.path.realpath(host.at(path))))
    if any(place.is_relative_to(folder) for place in places for folder in folders):
        return True
    try:
        own = host.at(f"{_WSL}/{_CUDA}")
        return host.at(path).stat().st_size == own.stat().st_size
    except OSError:
        return False


def _is_empty(host: Host, path: str) -> bool:
    """Say whether a library is a file without content, or no file at all.

    `docker commit` leaves such files of a container that ran with GPUs: the toolkit's mounts are
    gone, and what they were mounted on is empty.
    """
    try:
        status = host.at(path).stat()
    except OSError:
        return False
    return not stat.S_ISREG(status.st_mode) or status.st_size == 0


def _libraries(host: Host) -> FactStream:
    """Yield which of the driver's libraries are missing, or are there without content.

    Windows and Jetsons keep them in places of their own.
    """
    if host.exists("/dev/dxg") or kernel_driver(host) is None:
        yield from _no_libraries()
        return
    found = {name: find_library(host, name) for name in (_CUDA, _NVML)}
    empty = [path for path in found.values() if path is not None and _is_empty(host, path)]
    yield (
        "nvidia.libraries_empty",
        present(empty, "the loader's search") if empty else absent("the loader's search"),
    )
    nvml, cuda = found[_NVML], found[_CUDA]
    whole = os.path.realpath(host.at(nvml)) if nvml else ""
    release = re.search(r"\.so\.(\d{3}\.\d+(?:\.\d+)*)$", whole)
    yield "nvidia.nvml_version", present(release[1], whole) if release else absent(_NVML)
    missing = (
        f"{nvml} is empty"
        if nvml in empty
        else f"the loader finds no {_NVML}"
        if nvml is None
        else ""
    )
    yield (
        "nvidia.nvml_missing",
        present(missing, "the loader's search") if missing else absent(nvml or ""),
    )
    compiler = _missing_compiler(host, cuda) if cuda is not None and cuda not in empty else ""
    yield (
        "nvidia.ptx_compiler_missing",
        present(compiler, "the loader's search") if compiler else absent("the loader's search"),
    )


def _missing_compiler(host: Host, libcuda: str) -> str:
    """Return where the driver's compiler for PTX belongs, if it is neither there nor elsewhere.

    Empty for the libcuda of a Jetson or of a package for forward compatibility.
    """
    whole = os.path.realpath(host.at(libcuda))
    release = re.search(r"libcuda\.so\.(\d{3}\.\d+(?:\.\d+)*)$", whole)
    driver = kernel_driver(host)
    if release is None or driver is None or release[1] != driver[0]:
        return ""
    names = [f"{_PTX}.{release[1]}", f"{_PTX}.1"]
    places = [f"{os.path.dirname(path)}/{name}" for path in (libcuda, whole) for name in names]  # noqa: PTH120
    found = [*places, *filter(None, (find_library(host, name) for name in names))]
    there = any(host.exists(path) and not _is_empty(host, path) for path in found)
    return "" if there else places[0]


def _no_libraries() -> FactStream:
    for name in ("libraries_empty", "nvml_version", "nvml_missing", "ptx_compiler_missing"):
        yield f"nvidia.{name}", absent("no driver of Linux is loaded")
