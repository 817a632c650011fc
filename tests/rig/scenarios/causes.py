"""Machines on which the first advice could do harm, or on which one fault stands behind another."""

from __future__ import annotations

from tests.rig import machines
from tests.rig.machine import LINK
from tests.rig.scenario import Built, Scenario

_SLOT = f"/sys/bus/pci/devices/{machines.address(0)}"
_PROVE = "fix --prove"
_ROCM = Built(version="2.13.0+rocm7.1", cuda=None, hip="7.1.25424")
_SECOND = "/sys/class/kfd/kfd/topology/nodes/2/properties"
_GRAPHICS = "simd_count 4\ngfx_target_version 100306\nlocation_id 4352\ndrm_render_minor 129\n"

SCENARIOS = {
    "rows-not-remapped-and-errors": Scenario(
        why="a card to be exchanged also counts the errors of its memory: no reset mends it",
        machine=machines.nvidia(gpus=4),
        nvml="gpus=4;ecc=0;1.ecc=4;remap=0,0,0,0;1.remap=0,8,0,1",
        static=True,
        code=1,
        first=("nvidia/memory-row-not-remapped",),
        tells=("RMA", r"causes .{0,80}uncorrectable ECC"),
        hides=("gpu-reset", _PROVE),
    ),
    "no-memory-module-and-a-wrong-index": Scenario(
        why="nvidia_uvm is not loaded, and CUDA_VISIBLE_DEVICES names a third GPU of two",
        machine=machines.nvidia(gpus=2, uvm=False),
        nvml="gpus=2",
        env={"CUDA_VISIBLE_DEVICES": "2"},
        static=True,
        code=1,
        first=("cuda/driver-lost-its-memory-module",),
        tells=("nvidia_uvm is not loaded", "modprobe nvidia_uvm", "2, but this machine has GPUs 0"),
        hides=("standby", _PROVE),
    ),
    "firmware-missing": Scenario(
        why="the driver's package without its firmware: the module is loaded, and no GPU starts",
        machine={
            **{
                path: text
                for path, text in machines.nvidia().items()
                if not path.startswith("/proc/driver/nvidia/gpus")
            },
            **machines.kernel_log(
                "nvidia 0000:10:00.0: Direct firmware load for nvidia/580.95.05/gsp_ga10x.bin "
                "failed with error -2",
                "NVRM: GPU 0000:10:00.0: RmInitAdapter failed! (0x61:0x56:1852)",
            ),
        },
        nvml="gpus=0",
        static=True,
        code=1,
        first=("nvidia/adapter-cannot-be-started",),
        says=("gsp_ga10x.bin",),
    ),
    "prime-select-intel": Scenario(
        why="a laptop that shows its display with the other GPU alone: nothing is to be built",
        machine={
            **machines.pci(machines.address(0), device="0x28e0"),
            "/usr/lib/modprobe.d/blacklist-nvidia.conf": "blacklist nvidia\nalias nvidia off\n",
        },
        nvml="error.init=9",
        tools={"prime-select": "echo intel", "nvidia-smi": "exit 9"},
        static=True,
        code=1,
        first=("nvidia/module-blacklisted",),
        tells=("prime-select nvidia", "restart the machine, and check again"),
        hides=("dkms", _PROVE),
    ),
    "k80-and-its-last-driver": Scenario(
        why="the card is dropped, and its last driver is too old for torch: one cause",
        machine=machines.nvidia("470.256.02", name="Tesla K80", open_module=False),
        libcuda="470.256.02",
        nvml="gpus=1;driver=470.256.02;cuda=11040;name=Tesla K80;cc=3.7;memory=12884901888",
        static=True,
        code=1,
        first=("torch/k80-dropped",),
        tells=("cu118",),
        hides=("cu126", "CUDA_VISIBLE_DEVICES"),
    ),
    "fabric-manager-stopped": Scenario(
        why="the fabric manager has the driver's version and does not run: nothing to install",
        machine=machines.nvidia(gpus=8, switches=4),
        nvml="gpus=8;fabric=1,0",
        tools={"nv-fabricmanager": "echo 'Fabric Manager version is : 580.95.05'"},
        static=True,
        code=1,
        first=("nvidia/fabric-manager-not-running",),
        tells=("systemctl enable --now nvidia-fabricmanager", "check again"),
        hides=("apt-get install", _PROVE),
    ),
    "torch-for-cuda-on-an-mi300x": Scenario(
        why="PyPI's torch beside AMD's GPU",
        machine=machines.amd(),
        libcuda=None,
        static=True,
        code=1,
        first=("rocm/cuda-build-beside-amd-gpu",),
        says=("gfx942",),
    ),
    "kept-for-a-virtual-machine": Scenario(
        why="vfio-pci holds the only GPU",
        machine={
            **machines.pci(machines.address(0)),
            f"{_SLOT}/driver": f"{LINK}../../../../bus/pci/drivers/vfio-pci",
        },
        nvml="error.init=9",
        static=True,
        first=("nvidia/vfio-holds-the-gpu",),
        severity="warning",
    ),
    "card1-is-no-number-of-hip": Scenario(
        why="the variable names the graphics of the processor, and a card is hidden",
        machine={**machines.amd(gfx=110000, gpus=2), _SECOND: _GRAPHICS},
        libcuda=None,
        built=_ROCM,
        env={"HIP_VISIBLE_DEVICES": "1"},
        static=True,
        code=1,
        first=("rocm/card-hidden-behind-graphics",),
        says=("hides gfx1100, which is number 0",),
        tells=("export HIP_VISIBLE_DEVICES=0",),
        hides=("HSA_OVERRIDE_GFX_VERSION=",),
    ),
    "firmware-older-than-the-card": Scenario(
        why="amdgpu gave the card up for want of firmware, and drives the processor's graphics",
        machine={
            **machines.amd(gfx=100306),
            **machines.pci(machines.address(1), "0x1002", "0x030000", "0x7550"),
            **machines.kernel_log(
                "amdgpu 0000:11:00.0: Direct firmware load for amdgpu/psp_14_0_3_sos.bin failed "
                "with error -2",
                "amdgpu 0000:11:00.0: probe with driver amdgpu failed with error -19",
            ),
            "/var/lib/dpkg/status": (
                "Package: linux-firmware\nStatus: hold ok installed\nVersion: 20240318\n\n"
            ),
        },
        libcuda=None,
        built=_ROCM,
        static=True,
        code=1,
        first=("rocm/card-without-driver",),
        says=("1002:7550", "psp_14_0_3_sos.bin", "linux-firmware 20240318"),
        tells=("apt-mark unhold linux-firmware", "no driver at 0000:11:00.0"),
        hides=("HSA_OVERRIDE_GFX_VERSION",),
    ),
    "two-alike-of-which-one-is-a-guests": Scenario(
        why="vfio-pci is told the numbers of the model, and so takes the card of the host as well",
        machine={
            **machines.pci(machines.address(0)),
            **machines.pci(machines.address(1)),
            **{
                f"/sys/bus/pci/devices/{machines.address(place)}/driver": (
                    f"{LINK}../../../../bus/pci/drivers/vfio-pci"
                )
                for place in range(2)
            },
            "/etc/modprobe.d/vfio.conf": "options vfio-pci ids=10de:2330\n",
            "/etc/libvirt/qemu/win11.xml": (
                "<source><address domain='0x0000' bus='0x10' slot='0x00' function='0x0'/></source>"
            ),
        },
        nvml="error.init=9",
        static=True,
        code=1,
        first=("nvidia/vfio-holds-the-gpu",),
        says=("0000:10:00.0", "no virtual machine is defined with 0000:11:00.0"),
        tells=("driverctl set-override 0000:11:00.0 nvidia",),
        hides=("set-override 0000:10:00.0",),
    ),
    "graphics-of-the-processor": Scenario(
        why="a desktop processor of AMD with graphics of its own, and PyPI's torch",
        machine=machines.amd(gfx=100306),
        libcuda=None,
        static=True,
    ),
    "new-torch-of-cuda-12-on-gb10": Scenario(
        why="code for sm_120 runs on a DGX Spark",
        machine=machines.nvidia(name="NVIDIA GB10", machine="aarch64"),
        nvml="gpus=1;name=NVIDIA GB10;cc=12.1;error.memory=3",
        built=Built(version="2.8.0+cu128", cuda="12.8"),
        static=True,
        worst="note",
    ),
}
