"""Machines as the operators of fleets meet them: images, lists of GPUs, cards without a slot."""

from __future__ import annotations

from typing import Any

from tests.rig import machines
from tests.rig.machine import LINK
from tests.rig.scenario import Scenario

_TWO = machines.nvidia(gpus=2)
_DOCKER = {**_TWO, "/.dockerenv": ""}
_MISMATCH = "error.init=18"
_ONE_ERROR = r"\b1 error, 0 warnings, 0 notes"
_UBUNTU = {"/etc/os-release": "ID=ubuntu\nVERSION_ID=24.04\n"}
_SLOT = machines.address(0)
_KERNEL = "6.8.0-88-generic"


def _told(why: str, nvml: str | None, first: str, **more: Any) -> Scenario:
    """The static check ends with this one error."""
    tells = (*more.pop("tells", ()), _ONE_ERROR)
    told = {"machine": _TWO, "code": 1, "severity": "error", **more}
    return Scenario(why=why, nvml=nvml, static=True, first=(first,), tells=tells, **told)


def _list(why: str, value: str, mended: str, **more: Any) -> Scenario:
    """CUDA_VISIBLE_DEVICES holds other marks than commas."""
    fix = f"export CUDA_VISIBLE_DEVICES={mended}"
    told: dict[str, Any] = {
        "machine": _TWO,
        "env": {"CUDA_VISIBLE_DEVICES": value},
        "first": ("cuda/visible-devices-wrong",),
        "tells": (f"fix .{{0,20}}Write the list with commas alone.{{0,60}}{fix}",),
        **more,
    }
    return Scenario(why=why, nvml="gpus=2", static=True, **told)


def _in_job(gpus: int) -> dict[str, str]:
    """A job of Slurm that was given the first GPU of a node."""
    files = machines.nvidia(gpus=gpus)
    others = tuple(f"/dev/nvidia{number}" for number in range(1, gpus))
    held = {
        f"/sys/bus/pci/devices/{machines.address(place)}/driver": (
            f"{LINK}../../../../bus/pci/drivers/nvidia"
        )
        for place in range(gpus)
    }
    return {**{path: text for path, text in files.items() if path not in others}, **held}


SCENARIOS = {
    "image-with-newer-libraries": _told(
        "the Dockerfile installs libnvidia-compute, which is newer than the host's driver",
        _MISMATCH,
        "nvidia/driver-library-mismatch",
        machine=_DOCKER,
        libcuda="580.105.08",
        says=("580.105.08", "580.95.05", "image"),
        tells=("fix Take the driver's packages out of the image",),
        hides=("reboot", "Restart the host", "docker restart"),
    ),
    "image-with-older-libraries": _told(
        "the image was made on a machine with an older driver",
        _MISMATCH,
        "nvidia/driver-library-mismatch",
        machine=_DOCKER,
        libcuda="535.54.03",
        tells=("fix Take the driver's packages out of the image",),
        hides=("reboot", "Restart the host"),
    ),
    "image-with-its-own-libcuda-alone": _told(
        "NVML is the host's, libcuda is the image's",
        "gpus=2",
        "cuda/driver-and-libcuda-differ",
        machine=_DOCKER,
        libcuda="580.105.08",
        says=("the image has a libcuda of its own",),
        hides=("reboot", "Restart the host"),
    ),
    "host-updated-below-a-container": _told(
        "the toolkit hands in what an update put on the host's disk; the old module runs",
        _MISMATCH,
        "nvidia/driver-library-mismatch",
        machine=_DOCKER,
        libcuda="580.105.08",
        handed_in=True,
        tells=("fix Restart the host of the container", "drain the node first"),
        hides=("purge",),
    ),
    "container-older-than-the-module": _told(
        "the host's module was exchanged while the container ran",
        _MISMATCH,
        "nvidia/driver-library-mismatch",
        machine=_DOCKER,
        libcuda="580.65.06",
        handed_in=True,
        tells=("fix If nvidia-smi works on the host: Start the container anew",),
        hides=("purge",),
    ),
    "libraries-handed-in": Scenario(
        why="a container as it should be",
        machine=_DOCKER,
        nvml="gpus=2",
        handed_in=True,
        static=True,
        tells=("2 x NVIDIA H100",),
    ),
    "newer-compat-in-a-container": Scenario(
        why="the CUDA that NVML tells is that of the compatibility library",
        machine={**machines.nvidia("550.54.15"), "/.dockerenv": ""},
        nvml="gpus=1;driver=550.54.15;cuda=13000",
        libcuda="550.54.15",
        compat="580.65.06",
        static=True,
        tells=("550.54.15, good for CUDA 13.0 with the compatibility library of 580.65.06",),
    ),
    "list-in-quotation-marks": _list(
        "docker run --env-file keeps quotation marks", "'0,1'", "0,1", code=1, severity="error"
    ),
    "list-in-brackets": _list(
        "a list of Python as the value", "[0]", "0", code=1, severity="error"
    ),
    "list-with-semicolons": _list(
        "CUDA reads the first number alone", "0;1", "0,1", severity="warning"
    ),
    "list-with-blanks-behind-commas": Scenario(
        why="blanks beside commas are fine",
        machine=_TWO,
        nvml="gpus=2",
        env={"CUDA_VISIBLE_DEVICES": "0, 1"},
        static=True,
    ),
    "mig-on-one-of-two": Scenario(
        why="MIG was switched on for one GPU, and nobody made an instance; the other computes",
        machine=_TWO,
        nvml="gpus=2;0.mig=1;1.mig=0",
        static=True,
        first=("nvidia/mig-without-instances",),
        severity="note",
        says=("GPU 0 .0000:10:00.0.: MIG is on, without an instance",),
        hides=("CUDA finds no device",),
    ),
    "firmware-missing-on-ubuntu": _told(
        "the module came with an update, its firmware did not",
        "gpus=0",
        "nvidia/adapter-cannot-be-started",
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
            **_UBUNTU,
        },
        tells=("nvidia-firmware-580-580.95.05",),
        hides=("poweroff",),
    ),
    "module-not-built-yet": _told(
        "the driver was installed without the kernel's headers: DKMS built nothing",
        "error.init=9",
        "nvidia/driver-not-loaded",
        machine={
            **machines.pci(_SLOT, kind="0x030000", device="0x2684"),
            "/proc/sys/kernel/osrelease": f"{_KERNEL}\n",
            f"/lib/modules/{_KERNEL}/modules.dep": "kernel/fs/ext4.ko:\n",
            **_UBUNTU,
        },
        says=("no kernel here has its module",),
        tells=("dkms autoinstall",),
        hides=("modprobe nvidia",),
    ),
    "module-refused": _told(
        "Secure Boot is on, and the key of DKMS is not enrolled: one cause, one error",
        "error.init=9",
        "nvidia/module-refused-by-secure-boot",
        machine={
            **machines.pci(_SLOT),
            "/proc/sys/kernel/osrelease": f"{_KERNEL}\n",
            f"/lib/modules/{_KERNEL}/modules.dep": "updates/dkms/nvidia.ko.zst:\n",
            f"/lib/modules/{_KERNEL}/updates/dkms/nvidia.ko.zst": "a module",
            **machines.kernel_log("Loading of module with unavailable key is rejected"),
            **_UBUNTU,
        },
        tells=("mokutil --import", "causes . The NVIDIA driver is installed"),
    ),
    "nouveau-on-debian": _told(
        "a fresh Debian with a GeForce RTX 4090",
        None,
        "nvidia/driver-not-loaded",
        machine={
            **machines.pci(_SLOT, kind="0x030000", device="0x2684"),
            f"/sys/bus/pci/devices/{_SLOT}/driver": f"{LINK}../../../../bus/pci/drivers/nouveau",
            "/etc/os-release": "ID=debian\nVERSION_ID=13\n",
        },
        libcuda=None,
        tells=("nvidia-open",),
    ),
    "lanes-of-a-module-that-is-soldered": Scenario(
        why="an H100 on SXM with one lane: nobody takes it out of a slot",
        machine=_TWO,
        nvml="gpus=2;1.width=1;width=16;width_max=16;reasons=0",
        static=True,
        first=("nvidia/pcie-lanes-missing",),
        severity="warning",
        hides=("Seat the card",),
    ),
    "exclusive-and-held": Scenario(
        why="somebody's process has the only GPU: one warning, below it the mode",
        machine=machines.nvidia(),
        nvml="gpus=1;mode=3;processes=4242:629145600",
        static=True,
        first=("reach/cuda-busy",),
        severity="warning",
        says=("4242",),
        tells=("0 errors, 1 warning, 0 notes",),
    ),
    "job-with-one-gpu-of-four": Scenario(
        why="a job of Slurm sees the node's other GPUs on PCI alone",
        machine=_in_job(4),
        nvml="gpus=1",
        env={"SLURM_JOB_ID": "7", "SLURM_JOB_GPUS": "2", "CUDA_VISIBLE_DEVICES": "0"},
        static=True,
    ),
    "card-at-work": Scenario(
        why="another program computes, half of the memory is left, and rows were remapped",
        machine=machines.nvidia(gpus=4),
        nvml=(
            "gpus=4;used=40000000000;processes=4242:39000000000;reasons=4;ecc=0;"
            "ecc_corrected=120;remap=3,0,0,0"
        ),
        static=True,
    ),
}
