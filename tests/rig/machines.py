"""Files by which kernels show their GPUs."""

from __future__ import annotations

from tests.rig.machine import FORBIDDEN, LINK


def address(place: int) -> str:
    """The PCI address of a GPU, as the other parts of the rig have it."""
    return f"0000:{0x10 + place:02x}:00.0"


def nvidia(
    release: str = "580.95.05",
    *,
    gpus: int = 1,
    name: str = "NVIDIA H100 80GB HBM3",
    uvm: bool = True,
    nodes: bool = True,
    forbidden: bool = False,
    switches: int = 0,
    open_module: bool = True,
    machine: str = "x86_64",
) -> dict[str, str]:
    """A machine with NVIDIA's kernel driver, on Linux."""
    kind = f"Open Kernel Module for {machine}" if open_module else f"{machine} Kernel Module"
    line = f"NVRM version: NVIDIA UNIX {kind}  {release}  Release Build  (dvs-builder@U22)"
    files = {
        "/proc/driver/nvidia/version": f"{line}\nGCC version:  gcc 12.3.0\n",
        "/proc/driver/nvidia/params": (
            "ModifyDeviceFiles: 1\nDeviceFileUID: 0\nDeviceFileGID: 0\nDeviceFileMode: 438\n"
        ),
        "/sys/module/nvidia/version": f"{release}\n",
    }
    files.update({"/sys/module/nvidia_uvm/refcnt": "0\n"} if uvm else {})
    opens = FORBIDDEN if forbidden else ""
    for place in range(gpus):
        files.update(pci(address(place)))
        files[f"/proc/driver/nvidia/gpus/{address(place)}/information"] = (
            f"Model: \t\t {name}\nIRQ:   \t\t 16\nBus Location: \t {address(place)}\n"
            f"Device Minor: \t {place}\n"
        )
        files.update({f"/dev/nvidia{place}": opens} if nodes else {})
    files.update({"/dev/nvidiactl": opens} if nodes else {})
    files.update(
        {"/dev/nvidia-uvm": opens, "/dev/nvidia-uvm-tools": opens} if nodes and uvm else {}
    )
    return {**files, **{f"/dev/nvidia-nvswitch{index}": opens for index in range(switches)}}


def kernel_log(*lines: str, seconds: int = 36) -> dict[str, str]:
    """The kernel's log, in the form of the records of /dev/kmsg."""
    records = (
        f"6,{900 + number},{(seconds + number) * 1_000_000},-;{line}\n"
        for number, line in enumerate(lines)
    )
    return {"/dev/kmsg": "".join(records)}


def pci(
    place: str, vendor: str = "0x10de", kind: str = "0x030200", device: str = "0x2330"
) -> dict[str, str]:
    """A card in a slot, whether or not a driver has taken it."""
    folder = f"/sys/bus/pci/devices/{place}"
    return {
        f"{folder}/vendor": f"{vendor}\n",
        f"{folder}/class": f"{kind}\n",
        f"{folder}/device": f"{device}\n",
    }


def nothing() -> dict[str, str]:
    """A machine without any GPU."""
    return {"/sys/module/ext4/refcnt": "1\n"}


def gvisor(gpus: int = 1) -> dict[str, str]:
    """A sandbox of gVisor: nodes and parameters, and no version of the driver anywhere."""
    files = nvidia(gpus=gpus)
    kept = {
        path: text
        for path, text in files.items()
        if path.startswith("/dev/") or path.endswith("/params")
    }
    return {**kept, "/proc/version": "Linux version 4.4.0 #1 SMP Sun Jan 10 15:06:54 PST 2016\n"}


def wsl(*, where: str = "/usr/lib/wsl/lib") -> dict[str, str]:
    """Windows drives the GPU; `where` holds its libraries."""
    kernel = (
        "Linux version 5.15.167.4-microsoft-standard-WSL2 (root@f9c826d3017f) #1 SMP Tue Nov "
        "5 00:21:55 UTC 2024\n"
    )
    return {"/dev/dxg": "", "/proc/version": kernel, f"{where}/libdxcore.so": ""}


def amd(*, gfx: int = 90402, gpus: int = 1, kfd: str = "", render: str = "") -> dict[str, str]:
    """A machine with AMD's driver.

    The topology of kfd, the nodes of the CPU and of each GPU, and cards of DRM.
    """
    files = {"/sys/module/amdgpu/version": "6.12.12\n", "/dev/kfd": kfd}
    topology = "/sys/class/kfd/kfd/topology/nodes"
    files[f"{topology}/0/properties"] = "cpu_cores_count 64\nsimd_count 0\ngfx_target_version 0\n"
    files[f"{topology}/0/gpu_id"] = "0\n"
    for place in range(gpus):
        node, minor = f"{topology}/{place + 1}", 128 + place
        files[f"{node}/gpu_id"] = f"{41000 + place}\n"
        files[f"{node}/name"] = "aqua_vanjaram\n"
        files[f"{node}/properties"] = (
            f"cpu_cores_count 0\nsimd_count 1216\ngfx_target_version {gfx}\nvendor_id "
            "4098\ndevice_id 29857\n"
            f"location_id {(0x10 + place) << 8}\ndomain 0\ndrm_render_minor {minor}\n"
        )
        files[f"{node}/mem_banks/0/properties"] = "heap_type 1\nsize_in_bytes 206141652992\n"
        files.update(pci(address(place), "0x1002", "0x120000", "0x74a1"))
        files[f"/sys/bus/pci/devices/{address(place)}/driver"] = (
            f"{LINK}../../../../bus/pci/drivers/amdgpu"
        )
        files.update(drm(place, "0x1002", "0x74a1", render))
    return files


def intel(
    *, gpus: int = 1, render: str = "", driver: str = "xe", level_zero: bool = True
) -> dict[str, str]:
    """Make a machine with an Intel Arc B580, with or without its Level Zero driver."""
    files = {f"/sys/module/{driver}/refcnt": "3\n", "/usr/lib/libze_loader.so.1": "a library"}
    files.update({"/usr/lib/libze_intel_gpu.so.1": "a library"} if level_zero else {})
    for place in range(gpus):
        files.update(pci(address(place), "0x8086", "0x030000", "0xe20b"))
        files.update(drm(place, "0x8086", "0xe20b", render))
        files[f"/sys/bus/pci/devices/{address(place)}/driver"] = (
            f"{LINK}../../../../bus/pci/drivers/{driver}"
        )
        files[f"/sys/bus/pci/devices/{address(place)}/uevent"] = (
            f"DRIVER={driver}\nPCI_SLOT_NAME={address(place)}\n"
        )
    return files


def drm(place: int, vendor: str, device: str, render: str) -> dict[str, str]:
    """A card and its render node, as DRM shows both."""
    minor = 128 + place
    folders = (f"/sys/class/drm/card{place}/device", f"/sys/class/drm/renderD{minor}/device")
    files = {
        f"{folder}/{name}": f"{text}\n"
        for folder in folders
        for name, text in (("vendor", vendor), ("device", device))
    }
    uevents = {f"{folder}/uevent": f"PCI_SLOT_NAME={address(place)}\n" for folder in folders}
    slot = f"/sys/bus/pci/devices/{address(place)}/drm"
    files.update(
        {
            f"{slot}/renderD{minor}/dev": f"226:{minor}\n",
            f"{slot}/card{place}/dev": f"226:{place}\n",
        }
    )
    return {**files, **uevents, f"/dev/dri/renderD{minor}": render, f"/dev/dri/card{place}": render}
