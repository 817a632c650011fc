"""GPUs are there, and torch reaches none: what a real torch says above a driver that refuses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.rig import machines
from tests.rig.scenario import Scenario

REACH = "reach/cuda"
_TWO = "gpus=2"
_MACHINE = machines.nvidia(gpus=2)
_SWITCHES = machines.nvidia(gpus=8, switches=6)
_FABRIC = "nvidia/fabric-manager-not-running"
_FULL = "gpus=2;used=85500000000;processes=4242:84900000000"


def _refuses(
    why: str, cuinit: str, *first: str, says: tuple[str, ...] = (), **more: Any
) -> Scenario:
    """The driver's start ends with a code; NVML lists two H100 none the less."""
    told: Mapping[str, Any] = {
        "machine": _MACHINE,
        "nvml": _TWO,
        "code": 1,
        "severity": "error",
        **more,
    }
    told = {"args": ("--only", "torch-runtime"), **told}
    return Scenario(why=why, cuinit=cuinit, first=first, says=says, **told)


def _shown(value: str, why: str, *says: str, **more: Any) -> Scenario:
    """CUDA_VISIBLE_DEVICES leaves nothing."""
    return _refuses(
        why,
        "100",
        REACH,
        "nvidia/.*visible.*",
        "cuda/.*visible.*",
        env={"CUDA_VISIBLE_DEVICES": value},
        says=says,
        **more,
    )


def _hidden(value: str) -> Scenario:
    """Somebody hid every GPU, and meant it: a note at most."""
    why = f"CUDA_VISIBLE_DEVICES={value!r} is how one asks for the CPU"
    return Scenario(
        why=why,
        machine=_MACHINE,
        nvml=_TWO,
        env={"CUDA_VISIBLE_DEVICES": value},
        args=("--only", "torch-runtime"),
        worst="note",
    )


def _fabric(why: str, **more: Any) -> Scenario:
    """Error 802 on a machine with NVSwitch."""
    told: Mapping[str, Any] = {"machine": _SWITCHES, "nvml": "gpus=8;fabric=2,0", **more}
    return _refuses(why, "802", _FABRIC, says=("802|fabric",), **told)


SCENARIOS = {
    "cuinit-100": _refuses(
        "no device is handed in, or the last GPU fell off the bus", "100", REACH, says=("H100",)
    ),
    "cuinit-3": _refuses(
        "half an update, device files without rights", "3", "cuda/driver-does-not-start"
    ),
    "cuinit-2": _refuses(
        "the start needs memory, and the cards are empty",
        "2",
        REACH,
        "cuda/no-memory-to-start",
        says=("memory",),
    ),
    "cuinit-2-full": _refuses(
        "somebody else's job fills both cards",
        "2",
        "reach/cuda-full",
        "cuda/no-memory-to-start",
        nvml=_FULL,
        code=0,
        severity="warning",
        says=("4242|process",),
    ),
    "cuinit-999": _refuses(
        "after a suspend, or a driver in a bad state",
        "999",
        "cuda/driver-lost-its-memory-module",
        "cuda/.*",
    ),
    "cuinit-803": _refuses(
        "library and kernel module of two releases",
        "803",
        "nvidia/driver-library-mismatch",
        "cuda/driver-and-libcuda-differ",
    ),
    "cuinit-46": _refuses(
        "a process of somebody else holds both cards in exclusive-process mode",
        "46",
        "reach/cuda-busy",
        "torch/cuda-devices-busy",
        nvml="gpus=2;mode=3;processes=4242:629145600",
        code=0,
        severity="warning",
        says=("(?i)exclusive",),
    ),
    "cuinit-34": _refuses(
        "the toolkit's stub stands in for the driver's library", "34", "cuda/stub-library-loaded"
    ),
    "cuinit-304": _refuses(
        "the system refuses a call to the driver", "304", "cuda/driver-does-not-start", "cuda/.*"
    ),
    "cuinit-hangs": _refuses(
        "a GPU that does not answer",
        "hang",
        "nvidia/driver-does-not-answer",
        says=("look for cuda",),
        red=("torch-runtime cuda",),
        args=("--only", "torch-runtime", "--timeout", "20"),
    ),
    "cuinit-804": _refuses(
        "a container brings a newer CUDA's library to a GPU that may not have it",
        "804",
        "cuda/forward-compatibility-refused",
        nvml="gpus=2;name=NVIDIA GeForce RTX 4090;cc=8.9;driver=550.54.15;cuda=12040",
        machine=machines.nvidia("550.54.15", gpus=2, name="NVIDIA GeForce RTX 4090"),
        libcuda="550.54.15",
        compat="580.65.06",
    ),
    "cuinit-804-container": _refuses(
        "the same in a container, whose host has a driver for CUDA 12.4",
        "804",
        "cuda/forward-compatibility-refused",
        nvml="gpus=1;name=NVIDIA GeForce RTX 4090;cc=8.9;driver=550.54.15;cuda=13000",
        machine={**machines.nvidia("550.54.15", name="NVIDIA GeForce RTX 4090"), "/.dockerenv": ""},
        libcuda="550.54.15",
        compat="580.65.06",
        says=("/compat/libcuda.so.1", "550.54.15", r"torch==2\.13\.0\+cu12"),
        hides=("Restart the host", "toolkit is incomplete", "cannot link"),
    ),
    "cuinit-802-absent": _fabric("the fabric manager is not installed"),
    "cuinit-802-stopped": _fabric(
        "the fabric manager is installed and does not run",
        tools={"nv-fabricmanager": "echo 'Fabric Manager version is : 580.95.05'"},
    ),
    "cuinit-802-other-release": _fabric(
        "the driver was updated, the fabric manager was not",
        tools={"nv-fabricmanager": "echo 'Fabric Manager version is : 575.57.08'"},
    ),
    "cuinit-802-container": _fabric(
        "a container is shown the GPUs and not the switches",
        machine={**machines.nvidia(gpus=8), "/.dockerenv": ""},
    ),
    "no-libcuda": _refuses(
        "a container with the capability utility alone: nvidia-smi works, CUDA does not",
        "100",
        "container/compute-not-handed-in",
        machine={**_MACHINE, "/.dockerenv": ""},
        libcuda=None,
        nvml="gpus=2;error.cuda=12",
        env={"NVIDIA_DRIVER_CAPABILITIES": "utility"},
        says=("NVIDIA_DRIVER_CAPABILITIES|libcuda",),
    ),
    "driver-too-old": _refuses(
        "a driver for CUDA 12.4 under a torch for CUDA 13",
        "0",
        "torch/driver-too-old",
        speaks=12040,
        nvml="gpus=2;driver=550.54.15;cuda=12040",
        machine=machines.nvidia("550.54.15", gpus=2),
        libcuda="550.54.15",
    ),
    "mig-without-instances": _refuses(
        "MIG is on and nobody made an instance",
        "100",
        "nvidia/mig-without-instances",
        nvml="gpus=1;mig=1",
        says=("MIG",),
    ),
    "visible-out-of-range": _shown(
        "7", "the variable of another machine", "CUDA_VISIBLE_DEVICES", "7"
    ),
    "visible-unknown-uuid": _shown(
        "GPU-deadbeef",
        "the UUID of a card that was exchanged",
        "CUDA_VISIBLE_DEVICES",
        "GPU-deadbeef",
    ),
    "visible-wrong-first": _shown(
        "7,0", "a wrong entry ends the list, so nothing is left", "CUDA_VISIBLE_DEVICES", "7"
    ),
    "visible-mig-unknown": _shown(
        "MIG-12345678-0000-0000-0000-000000000000",
        "a MIG instance that is gone",
        "CUDA_VISIBLE_DEVICES",
        nvml="gpus=2;mig=1;migs=2",
    ),
    "hidden-by-empty": _hidden(""),
    "hidden-by-minus-one": _hidden("-1"),
}
