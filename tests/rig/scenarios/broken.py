"""A driver that is visibly broken: files and NVML tell, without any torch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.rig import machines
from tests.rig.machine import FORBIDDEN, LINK
from tests.rig.scenario import Built, Scenario

_TWO = machines.nvidia(gpus=2)
_EIGHT = machines.nvidia(gpus=8)
_REACH = "reach/cuda.*"


def _wrong(why: str, nvml: str | None, *first: str, **more: Any) -> Scenario:
    """The static check has to end with an error."""
    told: Mapping[str, Any] = {"machine": _TWO, "code": 1, "severity": "error", **more}
    return Scenario(why=why, nvml=nvml, static=True, first=first, **told)


def _hint(
    why: str, nvml: str, *says: str, rules: tuple[str, ...] = ("nvidia/.*",), **more: Any
) -> Scenario:
    """The static check has to warn, and no more."""
    return _wrong(why, nvml, *rules, says=says, **{"code": 0, "severity": "warning", **more})


def _without(files: Mapping[str, str], *starts: str) -> dict[str, str]:
    return {path: text for path, text in files.items() if not path.startswith(starts)}


def _held(gpus: int) -> dict[str, str]:
    """A machine whose driver holds all of its cards."""
    holder = f"{LINK}../../../../bus/pci/drivers/nvidia"
    places = (machines.address(place) for place in range(gpus))
    links = {f"/sys/bus/pci/devices/{place}/driver": holder for place in places}
    return {**machines.nvidia(gpus=gpus), **links}


SCENARIOS = {
    "mismatch": _wrong(
        "the driver's library was updated, the machine was not restarted",
        "gpus=2;error.init=18",
        "nvidia/driver-library-mismatch",
        "cuda/driver-and-libcuda-differ",
        libcuda="580.65.06",
        says=("580",),
    ),
    "one-lost-of-eight": _wrong(
        "one GPU fell off the bus",
        "gpus=8;3.error.handle=15",
        "nvidia/gpu-lost-or-faulty",
        "nvidia/.*lost.*",
        machine=_EIGHT,
        says=("GPU 3 .0000:13:00.0. is lost",),
    ),
    "one-silent-of-eight": _wrong(
        "one GPU does not answer",
        "gpus=8;5.hang.all=1;5.hang.handle=1",
        "nvidia/.*",
        "reach/.*",
        machine=_EIGHT,
        says=("(?i)answer",),
        tells=("H100",),
    ),
    "permissions": _wrong(
        "the device files are not for this user",
        "gpus=2;error.init=4",
        "nvidia/nvml-insufficient-permissions",
        _REACH,
        machine=machines.nvidia(gpus=2, forbidden=True),
        says=("(?i)permi|open|right",),
    ),
    "no-driver": _wrong(
        "the card is in its slot, and no driver is loaded",
        None,
        "nvidia/driver-not-loaded",
        "torch/no-nvidia-driver",
        "nvidia/no-driver.*",
        _REACH,
        machine=machines.pci(machines.address(0)),
        libcuda=None,
    ),
    "blacklisted": _wrong(
        "a laptop after prime-select intel: the driver is installed and its module is kept away",
        "gpus=0;error.init=9",
        "nvidia/module-blacklisted",
        machine={
            **machines.pci(machines.address(0), device="0x28e0"),
            "/etc/modprobe.d/blacklist-nvidia.conf": (
                "blacklist nvidia\nblacklist nvidia-drm\nalias nvidia off\n"
            ),
        },
        tools={"prime-select": "echo intel"},
        says=("/etc/modprobe.d/blacklist-nvidia.conf", "0000:10:00.0", "prime-select nvidia"),
        never=("reach/.*",),
    ),
    "closed-module": _wrong(
        "a GeForce RTX 5090 and the closed module, which leaves it aside",
        "gpus=0",
        "nvidia/gpu-needs-open-module",
        machine={
            **_without(
                machines.nvidia(open_module=False),
                "/proc/driver/nvidia/gpus",
                "/dev/nvidia0",
                "/sys/bus/pci",
            ),
            **machines.pci(machines.address(0), kind="0x030000", device="0x2b85"),
        },
        says=("10de:2b85", "580.95.05", "nvidia-open|-open"),
        never=("reach/.*",),
    ),
    "pascal-and-the-open-module": _wrong(
        "a GTX 1080 and the open module",
        "gpus=0",
        "nvidia/gpu-without-open-module",
        machine={
            **_without(
                machines.nvidia(), "/proc/driver/nvidia/gpus", "/dev/nvidia0", "/sys/bus/pci"
            ),
            **machines.pci(machines.address(0), kind="0x030000", device="0x1b80"),
        },
        says=("10de:1b80",),
    ),
    "compat-older-than-the-driver": _wrong(
        "an image brings the library of an older driver, and the host was updated",
        "gpus=2;driver=595.71.05",
        "cuda/driver-and-libcuda-differ",
        machine={**machines.nvidia("595.71.05", gpus=2), "/.dockerenv": ""},
        libcuda="595.71.05",
        compat="580.65.06",
        says=("580.65.06", "595.71.05", "/compat"),
        hides=("reboot", "not restarted", "purge", "toolkit is incomplete"),
    ),
    "container-without-the-uvm-node": _wrong(
        "a container was given the GPU, and not /dev/nvidia-uvm",
        "gpus=2",
        "cuda/driver-lost-its-memory-module",
        machine={**_without(_TWO, "/dev/nvidia-uvm"), "/.dockerenv": ""},
        says=("/dev/nvidia-uvm is missing in this container", "nvidia-ctk cdi generate"),
        hides=("standby",),
    ),
    "fabric-of-a-guest-whose-host-keeps-the-switches": _wrong(
        "a guest with two GPUs of an HGX board, whose partition of the fabric nobody activated",
        "gpus=2;cc=9.0;fabric=2,0,0;nvlinks=18;nvlinks_down=18",
        "nvidia/fabric-manager-not-running",
        machine={
            **machines.nvidia(gpus=2),
            "/proc/cpuinfo": "processor : 0\nflags : fpu hypervisor\n",
        },
        says=("The host of this virtual machine", "FABRIC_MODE=1"),
        hides=("apt-get install",),
    ),
    "fabric-in-a-container": _wrong(
        "a slice of an HGX board in a container: only the host can start the fabric manager",
        "gpus=1;fabric=1,0",
        "nvidia/fabric.*",
        machine={**machines.nvidia(gpus=1, switches=4), "/.dockerenv": ""},
        says=("GPU 0", "Take another node"),
        tells=("Take another node",),
    ),
    "mig-divided-before-the-restart": _wrong(
        (
            "the machine was restarted: MIG is on, no instance is left, and the variable "
            "names one of yesterday"
        ),
        "gpus=1;mig=1;migs=0",
        "nvidia/mig-without-instances",
        machine=machines.nvidia(),
        env={"CUDA_VISIBLE_DEVICES": "MIG-aaaa"},
        says=("-cgi 0 -C",),
        hides=("CUDA_VISIBLE_DEVICES=0",),
    ),
    "vgpu-without-a-licence": _wrong(
        "a part of a GPU whose licence was not granted",
        "gpus=1;vgpu=0",
        "nvidia/vgpu-without-a-licence",
        machine=machines.nvidia(),
        says=("nvidia-gridd",),
    ),
    "mig-devices-of-yesterday": _wrong(
        "the GPU was divided anew, and the variable names an instance that is gone",
        "gpus=1;mig=1;migs=2;mig.0=MIG-bbbb;mig.1=MIG-cccc",
        "cuda/visible-devices-wrong",
        machine=machines.nvidia(),
        env={"CUDA_VISIBLE_DEVICES": "MIG-aaaa"},
        says=("no MIG device here is MIG-aaaa", "MIG-bbbb", "CUDA_VISIBLE_DEVICES=MIG-bbbb"),
    ),
    "index-of-the-host-in-a-container": _wrong(
        "the scheduler's number of a GPU came along into the container, which counts from 0",
        "gpus=1",
        "cuda/visible-devices-wrong",
        machine={**machines.nvidia(), "/.dockerenv": ""},
        env={"CUDA_VISIBLE_DEVICES": "5"},
        says=("CUDA_VISIBLE_DEVICES=5", "GPU 0", "unset CUDA_VISIBLE_DEVICES"),
        tells=("unset CUDA_VISIBLE_DEVICES",),
    ),
    "no-uvm": _wrong(
        "nvidia-smi works, the module that CUDA needs is not loaded",
        "gpus=2",
        "cuda/driver-lost-its-memory-module",
        "nvidia/.*uvm.*",
        "cuda/driver-does-not-start",
        _REACH,
        machine=machines.nvidia(gpus=2, uvm=False),
        says=("uvm",),
    ),
    "static-no-libcuda": _wrong(
        "a container with the capabilities video and utility alone",
        "gpus=2;error.cuda=12",
        "container/compute-not-handed-in",
        machine={**_without(_TWO, "/dev/nvidia-uvm"), "/.dockerenv": ""},
        libcuda=None,
        env={"NVIDIA_DRIVER_CAPABILITIES": "video,utility"},
        says=("NVIDIA_DRIVER_CAPABILITIES=video,utility lacks compute", "compute,video,utility"),
        tells=("H100",),
        hides=("nvidia-modprobe", "CDI", "ldconfig"),
    ),
    "static-mig-without-instances": _wrong(
        "MIG is on and nobody made an instance",
        "gpus=1;mig=1",
        "nvidia/mig-without-instances",
        says=("MIG",),
    ),
    "static-visible-out-of-range": _wrong(
        "the variable of another machine",
        "gpus=2",
        _REACH,
        ".*visible.*",
        env={"CUDA_VISIBLE_DEVICES": "7"},
        says=("CUDA_VISIBLE_DEVICES=7",),
    ),
    "static-driver-too-old": _wrong(
        "a driver for CUDA 12.4 under a torch for CUDA 13",
        "gpus=2;driver=550.54.15;cuda=12040",
        "torch/driver-too-old",
        machine=machines.nvidia("550.54.15", gpus=2),
        libcuda="550.54.15",
    ),
    "rocm-no-kfd": _wrong(
        "an MI300X whose driver is not loaded, or a container without /dev/kfd",
        None,
        "rocm/.*",
        "reach/rocm",
        machine=_without(machines.amd(), "/dev/kfd"),
        libcuda=None,
        built=Built(version="2.13.0+rocm7.1", cuda=None, hip="7.1.25424"),
        says=("/dev/kfd",),
    ),
    "rocm-no-rights": _wrong(
        "the user is in neither of the groups render and video",
        None,
        "rocm/.*",
        "reach/rocm",
        machine=machines.amd(kfd=FORBIDDEN, render=FORBIDDEN),
        libcuda=None,
        built=Built(version="2.13.0+rocm7.1", cuda=None, hip="7.1.25424"),
        says=("render",),
    ),
    "xpu-no-rights": _wrong(
        "the user is not in the group render",
        None,
        "xpu/.*",
        "reach/xpu",
        machine=machines.intel(render=FORBIDDEN),
        libcuda=None,
        built=Built(version="2.13.0+xpu", cuda=None, xpu="20250301"),
        says=("render",),
    ),
    "xpu-without-level-zero": _wrong(
        "the kernel drives the GPU, and Intel's driver for oneAPI is not installed",
        None,
        "xpu/no-device",
        machine=machines.intel(level_zero=False),
        libcuda=None,
        built=Built(version="2.13.0+xpu", cuda=None, xpu="20250301"),
        says=("libze_intel_gpu", "libze-intel-gpu1"),
    ),
    "wsl-with-a-driver-of-linux": _wrong(
        "somebody installed nvidia-utils in WSL, and its libcuda comes first",
        None,
        "cuda/libcuda-before-that-of-wsl",
        machine={
            **machines.wsl(),
            "/usr/lib/wsl/lib/libcuda.so.1": "that of Windows",
            "/usr/lib/libcuda.so.535.309.01": "that of a package",
            "/usr/lib/libcuda.so.1": f"{LINK}libcuda.so.535.309.01",
        },
        libcuda=None,
        says=("/lib/libcuda.so.1 stands before", "apt-get purge"),
        hides=("apt-get install", "ubuntu-drivers"),
    ),
    "uvm-node-of-the-last-boot": _wrong(
        "the host was restarted, and the container still holds the device file of the old number",
        "gpus=1",
        "cuda/driver-lost-its-memory-module",
        machine={
            **machines.nvidia(),
            "/proc/devices": "Character devices:\n195 nvidia\n508 nvidia-uvm\n",
        },
        env={"container": "lxc"},
        says=("nvidia-uvm is 508 in /proc/devices", "lxc.cgroup2.devices.allow"),
        hides=("standby",),
    ),
    "nouveau-after-a-new-kernel": _wrong(
        "DKMS built the module for the kernel of yesterday alone, and nouveau took the card",
        None,
        "nvidia/module-missing-for-kernel",
        machine={
            **machines.pci(machines.address(0)),
            (f"/sys/bus/pci/devices/{machines.address(0)}/driver"): (
                f"{LINK}../../../../bus/pci/drivers/nouveau"
            ),
            "/proc/sys/kernel/osrelease": "6.8.0-88-generic\n",
            "/lib/modules/6.8.0-88-generic/modules.dep": "kernel/fs/ext4.ko:\n",
            "/lib/modules/6.8.0-85-generic/modules.dep": "updates/dkms/nvidia.ko.zst:\n",
            "/lib/modules/6.8.0-85-generic/updates/dkms/nvidia.ko.zst": "a module",
        },
        libcuda=None,
        says=("6.8.0-85-generic", "linux-headers"),
        hides=("blacklist nouveau",),
    ),
    "driver-older-than-the-kernel": _wrong(
        "a kernel of backports for which Debian's driver cannot be compiled",
        None,
        "nvidia/driver-does-not-build-for-kernel",
        machine={
            **machines.pci(machines.address(0)),
            "/proc/sys/kernel/osrelease": "6.18.5+deb13-amd64\n",
            "/lib/modules/6.18.5+deb13-amd64/modules.dep": "kernel/fs/ext4.ko:\n",
            "/lib/modules/6.12.57+deb13-amd64/modules.dep": "updates/dkms/nvidia-current.ko.xz:\n",
            "/lib/modules/6.12.57+deb13-amd64/updates/dkms/nvidia-current.ko.xz": "a module",
            "/var/lib/dkms/nvidia-current/550.163.01/build/make.log": (
                "DKMS (dkms-3.2.2) make.log for nvidia-current/550.163.01 for kernel "
                "6.18.5+deb13-amd64 (x86_64)\nnvidia/nv-nano-timer.c:207:5: error: implicit "
                "declaration of function 'del_timer_sync' [-Wimplicit-function-declaration]\n"
            ),
            "/etc/os-release": "ID=debian\nVERSION_ID=13\n",
        },
        libcuda=None,
        says=("550.163.01", "del_timer_sync", "Start kernel 6.12.57"),
        hides=("dkms autoinstall",),
    ),
    "nodes-of-another-number": _wrong(
        "a container was handed other files under the names of the driver's",
        "gpus=1;error.init=17",
        "nvidia/device-files-wrong",
        machine={
            **machines.nvidia(),
            "/.dockerenv": "",
            "/proc/devices": "Character devices:\n195 nvidia\n195 nvidiactl\n",
        },
        says=("/dev/nvidiactl has the number 1:3, and the driver's is 195:255", "mknod"),
        never=("wsl/.*", "reach/.*"),
        hides=("WSL", "CUDA_VISIBLE_DEVICES"),
    ),
    "the-only-gpu-is-closed": _wrong(
        "a rule of udev closed /dev/nvidia0 to this user, and left /dev/nvidiactl open",
        "gpus=0",
        "nvidia/nvml-insufficient-permissions",
        machine={**machines.nvidia(), "/dev/nvidia0": FORBIDDEN, "/.dockerenv": ""},
        says=("/dev/nvidia0", "chmod 0666"),
        never=("nvidia/gpu-unknown-to-driver", "container/.*"),
        hides=("GRID", "docker run"),
    ),
    "libcuda-without-content": _wrong(
        "an image from `docker commit`: of the mounted libraries empty files stayed",
        "gpus=1;error.cuda=12",
        "cuda/driver-library-missing",
        machine={**machines.nvidia(), "/.dockerenv": ""},
        emptied=("libcuda.so",),
        says=("libcuda.so.1 has no content", "-empty -delete"),
        tells=("H100",),
    ),
    "nvml-without-content": _hint(
        "the same for NVML alone: torch runs, JAX does not",
        "gpus=1",
        "libnvidia-ml.so.1 is empty",
        machine={**machines.nvidia(), "/.dockerenv": ""},
        emptied=("libnvidia-ml.so",),
    ),
    "ptx-compiler-without-content": _hint(
        "libraries of the driver that somebody mounted one by one",
        "gpus=1",
        "libnvidia-ptxjitcompiler.so.580.95.05",
        machine=machines.nvidia(),
        emptied=("libnvidia-ptxjitcompiler.so",),
        severity="note",
        rules=("cuda/ptx-compiler-missing",),
    ),
    "pod-whose-node-starts-it-with-another-runtime": _wrong(
        "the device plugin chose a GPU, and containerd's default runtime does not hand it in",
        None,
        "container/gpus-not-handed-in",
        machine=_without(_TWO, "/dev/"),
        libcuda=None,
        env={"KUBERNETES_SERVICE_HOST": "10.96.0.1", "NVIDIA_VISIBLE_DEVICES": "GPU-5b0c1a2d"},
        says=("runtimeClassName: nvidia", "nvidia-ctk"),
        hides=("docker run",),
    ),
    "mode-of-the-host": _wrong(
        "compute mode Prohibited, seen from a container that counts the GPU as 0",
        "gpus=1;mode=2",
        "nvidia/compute-mode-prohibited",
        machine={**machines.nvidia(), "/.dockerenv": ""},
        says=("On the host of this container", "nvidia-smi -i 0000:10:00.0 -c DEFAULT"),
    ),
    "memory-module-of-the-host": _wrong(
        "Docker on a host that did not load nvidia_uvm",
        "gpus=1",
        "cuda/driver-lost-its-memory-module",
        machine={**machines.nvidia(uvm=False), "/.dockerenv": ""},
        says=("On the host of this container: Load the module",),
    ),
    "lost-in-a-job": _wrong(
        "the GPU of a job fell off the bus, and the user is no administrator of the cluster",
        "gpus=1;0.error.handle=15",
        "nvidia/gpu-lost-or-faulty",
        machine=machines.nvidia(),
        env={"SLURM_JOB_ID": "881", "SLURM_JOB_GPUS": "3", "CUDA_VISIBLE_DEVICES": "0"},
        says=("administrators of the cluster", "--exclude"),
    ),
    "kernel-replaced-by-an-update": _wrong(
        "Arch was updated and not restarted: the modules of the running kernel are gone",
        "error.init=9",
        "nvidia/kernel-replaced-by-update",
        machine={
            **machines.pci(machines.address(0)),
            "/proc/sys/kernel/osrelease": "6.16.8-arch1-1\n",
            "/etc/os-release": "ID=arch\n",
            "/lib/modules/6.17.1-arch1-1/modules.dep": "extramodules/nvidia.ko.zst:\n",
        },
        says=("6.17.1-arch1-1", "reboot"),
        hides=("modprobe nvidia",),
    ),
    "newer-than-the-driver": _wrong(
        "a GeForce RTX 5090 and a driver of the year before",
        "gpus=0;driver=550.54.15;cuda=12040",
        "nvidia/gpu-unknown-to-driver",
        machine={
            **_without(
                machines.nvidia("550.54.15"),
                "/proc/driver/nvidia/gpus",
                "/dev/nvidia0",
                "/sys/bus/pci",
            ),
            **machines.pci(machines.address(0), kind="0x030000", device="0x2b85"),
        },
        libcuda="550.54.15",
        says=("older than the GPU", "open module"),
        hides=("cu118",),
    ),
    "xpu-container-without-its-node": _wrong(
        "Docker without --device=/dev/dri",
        None,
        "xpu/no-device",
        machine={**_without(machines.intel(), "/dev/"), "/.dockerenv": ""},
        libcuda=None,
        built=Built(version="2.13.0+xpu", cuda=None, xpu="20250301"),
        says=("--device=/dev/dri",),
    ),
    "xid-119": _wrong(
        "the processor of one of two GPUs stopped answering",
        "gpus=2",
        "nvidia/xid-reported",
        says=("GPU 1 .0000:11:00.: Xid 119", "gpu-reset -i 1"),
        machine={
            **_TWO,
            **machines.kernel_log(
                "NVRM: Xid (PCI:0000:10:00): 43, pid=459, name=python, channel 0x00000018",
                (
                    "NVRM: Xid (PCI:0000:11:00): 119, pid=77, name=python, Timeout after 6s "
                    "of waiting for RPC response from GPU1 GSP!"
                ),
            ),
        },
    ),
    "off-the-bus-and-off-the-list": _wrong(
        "a GPU fell off the bus, and NVML counts the others alone",
        "gpus=3",
        "nvidia/gpu-lost-or-faulty",
        machine={
            **_held(4),
            **machines.kernel_log(
                "NVRM: Xid (PCI:0000:13:00): 79, pid='<unknown>', name=<unknown>, GPU has "
                "fallen off the bus."
            ),
        },
        says=("0000:13:00.0", "systemctl reboot"),
        never=("nvidia/gpu-unknown-to-driver",),
    ),
    "no-address-space": _wrong(
        "an old board gives the card no room for its memory window",
        "gpus=0",
        "nvidia/no-room-for-memory-window",
        machine={
            **_without(machines.nvidia(), "/proc/driver/nvidia/gpus", "/dev/nvidia0"),
            **machines.kernel_log(
                "NVRM: This PCI I/O region assigned to your NVIDIA device is invalid:\\x0aNVRM: "
                "BAR1 is 0M @ 0x0 (PCI:0000:10:00.0)"
            ),
        },
        says=("BAR1 is 0M",),
        never=("nvidia/gpu-unknown-to-driver",),
        hides=("ubuntu-drivers",),
    ),
    "ecc-uncorrected": _hint(
        "uncorrectable memory errors since the driver started",
        "gpus=2;ecc=0;1.ecc=3",
        "(?i)ECC",
        "0000:11:00.0|GPU 1",
    ),
    "rows-to-remap": _hint(
        "a row is waiting for a reset to be remapped",
        "gpus=2;ecc=0;1.ecc=2;remap=0,0,0,0;1.remap=0,1,1,0",
        "GPU 1 .0000:11:00.0.: row remapping",
        "gpu-reset -i 1",
    ),
    "rows-not-remapped": _wrong(
        "a row could not be remapped: the card has to be replaced",
        "gpus=2;ecc=0;remap=0,0,0,0;1.remap=0,9,0,1",
        "nvidia/.*",
        says=("(?i)remap", "0000:11:00.0|GPU 1"),
    ),
    "slowed-down": _hint(
        "the card is too hot or its power fails", "gpus=2;1.reasons=0x48", "(?i)slow|thermal|hot"
    ),
    "fabric-not-ready": _wrong(
        "the GPUs are not registered with the fabric: CUDA will say 802",
        "gpus=8;fabric=1,0",
        "nvidia/fabric.*",
        machine=machines.nvidia(gpus=8, switches=6),
        says=("(?i)fabric",),
    ),
}
