"""Machines that show their driver in another way, all of them well.

Nothing may be found, and the GPU has to be named.
"""

from __future__ import annotations

from typing import Any

from tests.rig import machines
from tests.rig.scenario import Built, Scenario


def _well(why: str, nvml: str | None, *tells: str, **more: Any) -> Scenario:
    """The static check finds nothing, and names the GPU."""
    return Scenario(
        why=why, nvml=nvml, static=True, tells=tells, hides=("no NVIDIA driver",), **more
    )


_OLD_AND_NEW = (
    "gpus=2;0.name=NVIDIA GeForce GT 1030;0.cc=6.1;0.memory=2147483648;1.name=NVIDIA "
    "GeForce RTX 4090;1.cc=8.9;1.memory=25757220864;"
    "uuid=GPU-aaaaaaaa-0000-0000-0000-000000000000;1.uuid=GPU-bbbbbbbb-0000-0000-0000-000000000000"
)
_HIDDEN = "a GT 1030 for the display, hidden from CUDA"
_JETPACK = "NVRM version: NVIDIA UNIX Open Kernel Module for aarch64"
_TWO = machines.nvidia(gpus=2)

SCENARIOS = {
    "static-one-gpu": _well("a workstation", "gpus=1", "H100", machine=machines.nvidia()),
    "static-two-gpus": _well("two cards", "gpus=2", "2 x NVIDIA H100", machine=_TWO),
    "static-eight-gpus": _well(
        "a server",
        "gpus=8;ecc=0;remap=0,0,0,0;fabric=3,0;nvlinks=18",
        "8 x NVIDIA H100",
        machine=machines.nvidia(gpus=8),
    ),
    "hidden-by-index": _well(
        _HIDDEN,
        _OLD_AND_NEW,
        "RTX 4090",
        machine=_TWO,
        env={"CUDA_VISIBLE_DEVICES": "1", "CUDA_DEVICE_ORDER": "PCI_BUS_ID"},
    ),
    "hidden-by-uuid": _well(
        _HIDDEN, _OLD_AND_NEW, "RTX 4090", machine=_TWO, env={"CUDA_VISIBLE_DEVICES": "GPU-bbbb"}
    ),
    "hidden-fastest-first": _well(
        f"{_HIDDEN}: without CUDA_DEVICE_ORDER the fastest is 0",
        _OLD_AND_NEW,
        "RTX 4090",
        machine=_TWO,
        env={"CUDA_VISIBLE_DEVICES": "0"},
    ),
    "faults-of-programs-in-the-log": _well(
        "programs ended with faults of their own, and the kernel's log tells of them",
        "gpus=1",
        "H100",
        machine={
            **machines.nvidia(),
            **machines.kernel_log(
                "NVRM: Xid (PCI:0000:10:00): 43, pid=459, name=python, channel 0x00000018",
                (
                    "NVRM: Xid (PCI:0000:10:00): 31, pid=653, name=python, channel "
                    "0x00000016, intr 00000000. MMU Fault: ENGINE GRAPHICS"
                ),
                (
                    "NVRM: Xid (PCI:0000:10:00): 13, Graphics SM Warp Exception on (GPC 1, "
                    "TPC 4, SM 0): Misaligned Address"
                ),
            ),
        },
    ),
    "static-exclusive": _well(
        "a cluster: one process for each GPU",
        "gpus=4;mode=3",
        "H100",
        machine=machines.nvidia(gpus=4),
        worst="note",
    ),
    "static-mig": _well(
        "MIG with instances", "gpus=1;mig=1;migs=2", "H100", machine=machines.nvidia()
    ),
    "nvswitch-container": _well(
        "a privileged container: switches, and the fabric manager on the host",
        "gpus=8;fabric=3,0;nvlinks=18",
        "8 x NVIDIA H100",
        machine={**machines.nvidia(gpus=8, switches=6), "/.dockerenv": ""},
    ),
    "gb10": _well(
        "a DGX Spark: memory is the machine's own, and NVML does not tell it",
        "gpus=1;name=NVIDIA GB10;cc=12.1;error.memory=3",
        "GB10",
        machine=machines.nvidia(name="NVIDIA GB10", machine="aarch64"),
    ),
    "jetson": Scenario(
        why="a Jetson with JetPack 5, whose driver counts otherwise",
        machine={
            "/proc/driver/nvidia/version": (
                f"{_JETPACK}  35.4.1  Release Build  (buildbrain@mobile)\n"
            ),
            "/sys/module/nvidia/version": "35.4.1\n",
            "/etc/nv_tegra_release": (
                "# R35 (release), REVISION: 4.1, GCID: 33958178, BOARD: t186ref, EABI: aarch64\n"
            ),
            "/dev/nvhost-gpu": "",
            "/dev/nvhost-ctrl-gpu": "",
            "/dev/nvmap": "",
        },
        libcuda="35.4.1",
        nvml=None,
        built=Built(version="2.1.0", cuda="11.4"),
        static=True,
        worst="note",
    ),
    "wsl": _well(
        "Windows drives the GPU, and WSL has its libraries",
        "gpus=1;name=NVIDIA GeForce RTX 4090;cc=8.9;driver=581.57",
        "RTX 4090",
        machine={**machines.wsl(), "/usr/lib/wsl/lib/libcuda.so.1": "x"},
    ),
    "wsl-docker": _well(
        "Docker on WSL: of the driver, only libdxcore.so lies where WSL keeps it",
        "gpus=1;name=NVIDIA GeForce RTX 4090;cc=8.9;driver=581.57",
        "RTX 4090",
        machine=machines.wsl(),
    ),
    "gvisor": _well(
        "gVisor shows nodes and no version",
        "gpus=1;name=NVIDIA H200",
        "NVIDIA H200",
        machine=machines.gvisor(),
    ),
    "asleep": _well(
        "eight GPUs that each take a second to wake",
        "gpus=8;slow.handle=1000",
        "8 x NVIDIA H100",
        machine=machines.nvidia(gpus=8),
    ),
    "compat-in-its-folder": _well(
        "a container brings the library of a newer driver, as NVIDIA allows on data center GPUs",
        "gpus=1;driver=550.54.15;cuda=13000",
        "H100",
        machine=machines.nvidia("550.54.15"),
        libcuda="550.54.15",
        compat="580.65.06",
    ),
    "compat-in-the-standard-folder": _well(
        "the container hook mounts it beside the driver's other libraries",
        "gpus=1;driver=550.54.15;cuda=13000",
        "H100",
        machine=machines.nvidia("550.54.15"),
        libcuda="580.65.06",
    ),
    "rocm": Scenario(
        why="an MI300X, and everything may be opened",
        machine=machines.amd(),
        libcuda=None,
        built=Built(version="2.13.0+rocm7.1", cuda=None, hip="7.1.25424"),
        static=True,
        tells=("gfx942",),
        hides=("no NVIDIA driver",),
    ),
    "xpu": Scenario(
        why="an Arc B580, and everything may be opened",
        machine=machines.intel(),
        libcuda=None,
        built=Built(version="2.13.0+xpu", cuda=None, xpu="20250301"),
        static=True,
        hides=("no NVIDIA driver",),
    ),
    "no-gpu": Scenario(
        why="a laptop without any GPU, and torch from PyPI",
        machine=machines.nothing(),
        libcuda=None,
        static=True,
        worst="note",
    ),
}
