"""An H100 with driver 580.159.04 in a container, with one part of the driver broken at a time.

The words of torch 2.11, of JAX 0.11.2 and of NVML are those that they had there.
"""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from doctor.catalog.loading import load
from doctor.facts.conditions import may_apply
from doctor.facts.derive import derive
from doctor.judge.match import diagnose
from doctor.model.findings import Detection
from doctor.model.outcomes import Outcome
from doctor.model.scales import Severity
from tests import toy

_H100 = {
    "index": 0,
    "name": "NVIDIA H100 80GB HBM3",
    "capability": "9.0",
    "memory_bytes": 85_520_809_984,
    "memory_used_bytes": 0,
    "pci_bus_id": "0000:00:06.0",
    "mig": False,
}
_NONE = (
    "Jax plugin configuration error: Exception when calling jax_plugins.xla_cuda13.initialize(): "
    "jaxlib/cuda/versions_helpers.cc:135: operation cuInit(0) failed: "
)
_MACHINE: dict[str, Any] = {
    "host.os": "linux",
    "host.container": "docker",
    "host.wsl": None,
    "host.jetson": None,
    "packages": {},
    "torch.version": "2.11.0",
    "torch.build": "cuda",
    "torch.cuda_version": "13.0",
    "torch.cuda_available": False,
    "torch.devices": ["cpu"],
    "torch.cuda_error": "No CUDA GPUs are available",
    "jax.build": "cuda",
    "jax.devices": ["cpu"],
    "jax.error": f"{_NONE}CUDA_ERROR_NO_DEVICE",
    "package.jax-cuda13-plugin.version": "0.11.2",
    "nvidia.gpu_present": True,
    "nvidia.driver_version": "580.159.04",
    "nvidia.driver_branch": 580,
    "nvidia.cards": [{"pci_bus_id": "0000:00:06.0", "device": "0x2330", "driver": "nvidia"}],
    "nvidia.module_kind": "open",
    "nvidia.device_nodes": True,
    "nvidia.device_file_mode": "0666",
    "nvidia.uvm": True,
    "nvidia.uvm_node": True,
    "nvidia.libcuda": "/usr/local/nvidia/lib64/libcuda.so.1",
    "nvidia.libcuda_version": "580.159.04",
    "nvidia.modprobe": None,
    "nvidia.nvml": None,
    "nvidia.gpus": [_H100],
    "nvidia.visible": [_H100],
    "nvidia.gpu_errors": None,
    "nvidia.nodes_refused": None,
    "nvidia.nodes_barred": None,
    "nvidia.nodes_stale": None,
    "nvidia.nodes_wrong": None,
    "nvidia.nodes_missing": None,
    "nvidia.gpus_refused": None,
    "nvidia.gpus_barred": None,
    "nvidia.libraries_empty": None,
    "nvidia.nvml_missing": None,
    "nvidia.fabric_manager": None,
    "nvidia.nvswitch": False,
    "env.CUDA_VISIBLE_DEVICES": None,
}
_SKIPPED = (
    toy.outcome("skipped", check="torch-runtime", device="cuda"),
    toy.outcome("skipped", check="jax-devices"),
)
_NO_ANSWER: dict[str, Any] = {
    "nvidia.nvml": "GPU access blocked by the operating system",
    "nvidia.gpus": ...,
    "nvidia.visible": ...,
}


def found(*outcomes: Outcome, **changes: Any) -> tuple[Detection, ...]:
    """Judge the machine with changes; `...` is a fact that nobody knows."""
    facts = _MACHINE | {name.replace("__", "."): value for name, value in changes.items()}
    seen = toy.seen({name: value for name, value in facts.items() if value is not ...}, *outcomes)
    return diagnose(
        msgspec.structs.replace(seen, facts=derive(seen.facts, load())), load()
    ).findings


def first_fix(told: Detection, **changes: Any) -> str:
    """Return the title of the first fix that the facts leave."""
    facts = _MACHINE | {name.replace("__", "."): value for name, value in changes.items()}
    seen = toy.seen({name: value for name, value in facts.items() if value is not ...}).facts
    return next(recipe.title for recipe in told.recipes if may_apply(recipe, derive(seen, load())))


_WRONG = ["/dev/nvidiactl has the number 1:3, and the driver's is 195:255"]
_GPU_WRONG = ["/dev/nvidia0 has the number 1:3, and the driver's is 195:0"]
_UNKNOWN = (
    "CUDA initialization: CUDA unknown error - this may be due to an incorrectly set up environment"
)
_UVM = "/dev/nvidia-uvm has the number 1, and nvidia-uvm is 238 in /proc/devices"
_BROKEN: dict[str, tuple[dict[str, Any], str, str]] = {
    "nvidiactl is another device": (
        {**_NO_ANSWER, "nvidia.nodes_wrong": _WRONG},
        "nvidia/device-files-wrong",
        "Make /dev/nvidiactl anew",
    ),
    "nvidia0 is another device": (
        {"nvidia.gpus": [], "nvidia.visible": [], "nvidia.nodes_wrong": _GPU_WRONG},
        "nvidia/device-files-wrong",
        "Make /dev/nvidia0 anew",
    ),
    "nvidia0 is closed": (
        {
            "nvidia.gpus": [],
            "nvidia.visible": [],
            "nvidia.device_nodes": False,
            "nvidia.nodes_refused": ["/dev/nvidia0"],
            "nvidia.gpus_refused": ["/dev/nvidia0"],
        },
        "nvidia/nvml-insufficient-permissions",
        "Give the device files the mode that the driver wants them to have, 0666",
    ),
    "the control group refuses nvidia0": (
        {
            "nvidia.gpus": [],
            "nvidia.visible": [],
            "nvidia.device_nodes": False,
            "nvidia.nodes_barred": ["/dev/nvidia0"],
            "nvidia.gpus_barred": ["/dev/nvidia0"],
        },
        "container/nvml-unknown-error",
        "Start the container anew, which brings its GPUs back",
    ),
    "nvidia-uvm is another device": (
        {
            "torch.cuda_error": _UNKNOWN,
            "jax.error": f"{_NONE}CUDA_ERROR_UNKNOWN",
            "nvidia.nodes_stale": _UVM,
        },
        "cuda/driver-lost-its-memory-module",
        "Make the device files anew on the host",
    ),
    "the image has a newer libcuda of its own": (
        {
            **_NO_ANSWER,
            "nvidia.nvml": "Driver/library version mismatch",
            "torch.cuda_error": "Error 803: system has unsupported display driver / cuda driver "
            "combination",
            "jax.error": f"{_NONE}CUDA_ERROR_SYSTEM_DRIVER_MISMATCH",
            "nvidia.libcuda": "/usr/lib/x86_64-linux-gnu/libcuda.so.1",
            "nvidia.libcuda_version": "580.999.04",
            "nvidia.libcuda_mounted": False,
            "host.package_manager": "apt",
        },
        "nvidia/driver-library-mismatch",
        "Take the driver's packages out of the image",
    ),
    "libcuda has no content": (
        {
            "torch.cuda_error": "Found no NVIDIA driver on your system.",
            "jax.error": f"{_NONE}Unknown CUDA error 303; cuGetErrorName failed.",
            "nvidia.libcuda": None,
            "nvidia.libcuda_version": None,
            "nvidia.libraries_empty": ["/usr/local/nvidia/lib64/libcuda.so.1"],
        },
        "cuda/driver-library-missing",
        "Delete the files without content from the image, in a layer of its own",
    ),
}


@pytest.mark.parametrize("name", _BROKEN)
@pytest.mark.parametrize("asked", [True, False], ids=["asked", "static"])
def test_one_broken_part_is_one_finding_with_its_cure_first(name: str, asked: bool) -> None:
    changes, rule, fix = _BROKEN[name]
    if not asked:
        unasked = ("torch.cuda_available", "torch.devices", "torch.cuda_error")
        changes = changes | dict.fromkeys((*unasked, "jax.devices", "jax.error"), ...)
    told = found(*(_SKIPPED if asked else ()), **changes)
    first = told[0]
    assert (first.id, first.severity) == (rule, Severity.ERROR)
    assert {one.id for one in told[1:]} <= {*first.symptoms}
    assert first_fix(told[0], **changes) == fix


_JAX = "Unable to initialize backend 'cuda': FAILED_PRECONDITION: No visible GPU devices."
_NOT_LINKED = "/usr/bin/ld: cannot find -lcuda: No such file or directory"
_DIVIDED = [{**_H100, "mig": True, "mig_devices": []}]
_CAUSES: dict[str, dict[str, Any]] = {
    "nvidia/mig-without-instances": {"nvidia.gpus": _DIVIDED, "nvidia.visible": _DIVIDED},
    "cuda/driver-lost-its-memory-module": {
        "torch.cuda_error": _UNKNOWN,
        "nvidia.nodes_stale": _UVM,
    },
    "nvidia/fabric-manager-not-running": {
        "torch.cuda_error": "Error 802: system not yet initialized",
        "nvidia.nvswitch": True,
    },
    "container/compute-not-handed-in": {
        "torch.cuda_error": "Found no NVIDIA driver on your system.",
        "nvidia.libcuda": None,
        "nvidia.libcuda_version": None,
        "env.NVIDIA_DRIVER_CAPABILITIES": "utility",
    },
    "cuda/driver-and-libcuda-differ": {
        "torch.cuda_error": "Error 803: system has unsupported display driver / cuda driver "
        "combination",
        "nvidia.libcuda": "/usr/lib/x86_64-linux-gnu/libcuda.so.1",
        "nvidia.libcuda_version": "580.95.05",
        "nvidia.libcuda_mounted": False,
    },
}


@pytest.mark.parametrize("cause", _CAUSES)
def test_what_jax_and_a_linker_repeat_follows_from_the_cause(cause: str) -> None:
    changes = _CAUSES[cause]
    red = msgspec.structs.replace(toy.outcome("failed", check="jax-devices"), reason=_JAX)
    told = found(_SKIPPED[0], red, **changes, **{"jax.devices": ...})
    assert told[0].id == cause
    assert {one.id for one in told[1:]} <= {*told[0].symptoms}
    linker = toy.outcome("failed", check="inductor-compile")
    linker = msgspec.structs.replace(linker, reason=_NOT_LINKED)
    told = found(*_SKIPPED, linker, **changes)
    follows = "cuda/driver-library-not-linked" in told[0].symptoms
    # Where the library is there, its plain name is missing for another reason.
    assert follows == ("nvidia.libcuda" in changes and changes["nvidia.libcuda"] is None)


def test_a_driver_that_is_too_old_for_torch_and_jax_is_one_cause() -> None:
    told = found(
        *_SKIPPED,
        **{
            "nvidia.driver_version": "550.54.15",
            "nvidia.driver_branch": 550,
            "nvidia.libcuda_version": "550.54.15",
            "torch.cuda_error": "The NVIDIA driver on your system is too old (found 12040).",
        },
    )
    assert told[0].id == "torch/driver-too-old"
    assert told[0].symptoms[-1:] == ("compat/jax-cuda13/driver",)
    assert "reach/jax" in next(one for one in told if one.id.startswith("compat/")).symptoms


def test_jax_that_finds_no_gpu_without_nvml_is_told_so() -> None:
    changes = {
        "torch.cuda_available": True,
        "torch.devices": ["cpu", "cuda:0"],
        "torch.cuda_error": None,
        "jax.devices": ...,
        "nvidia.nvml": "NVML Shared Library Not Found",
        "nvidia.gpus": ...,
        "nvidia.visible": ...,
        "nvidia.nvml_missing": "the loader finds no libnvidia-ml.so.1",
    }
    red = msgspec.structs.replace(
        toy.outcome("failed", check="jax-devices"),
        reason="RuntimeError: Unable to initialize backend 'cuda': FAILED_PRECONDITION: "
        "No visible GPU devices.",
    )
    torch = toy.outcome("passed", check="torch-runtime", device="cuda:0")
    (told,) = found(torch, red, **changes)
    assert (told.id, told.severity) == ("nvidia/nvml-library-missing", Severity.ERROR)
    (static,) = found(torch, **changes)
    assert (static.id, static.severity) == ("nvidia/nvml-library-missing", Severity.WARNING)


_FULL = [{**_H100, "memory_used_bytes": 85_400_000_000}]
_SAID = "no supported devices found for platform CUDA: CUDA_ERROR_OUT_OF_MEMORY: out of memory"


def test_a_full_card_is_one_warning_for_torch_and_jax() -> None:
    changes = {
        "torch.cuda_available": True,
        "torch.cuda_error": None,
        "torch.cuda_devices": [{"index": 0, "pci_bus_id": "0000:00:06.0"}],
        "jax.devices": [],
        "jax.error": _SAID,
        "nvidia.gpus": _FULL,
        "nvidia.visible": _FULL,
    }
    skipped = msgspec.structs.replace(
        toy.outcome("skipped", check="torch-runtime", device="cuda:0"), data={"state": "full"}
    )
    (told,) = found(skipped, toy.outcome("skipped", check="jax-devices"), **changes)
    assert (told.id, told.severity) == ("reach/cuda-full", Severity.WARNING)
    assert "JAX reaches none for the same reason" in told.message


def test_a_full_card_that_torch_was_not_asked_about_is_one_warning_too() -> None:
    changes = {
        "torch.cuda_available": ...,
        "torch.devices": ...,
        "torch.cuda_error": ...,
        "jax.devices": [],
        "jax.error": _SAID,
        "onnxruntime.build": "cuda",
        "onnxruntime.error": "CUDA failure 2: out of memory",
        "nvidia.gpus": _FULL,
        "nvidia.visible": _FULL,
    }
    (told,) = found(toy.outcome("skipped", check="jax-devices"), **changes)
    assert (told.id, told.severity) == ("reach/cuda-full", Severity.WARNING)
    assert told.title.startswith("JAX and ONNX Runtime reach no GPU")


def test_memory_that_runs_out_on_an_empty_card_is_an_error() -> None:
    changes = {"torch.cuda_available": ..., "torch.devices": ..., "torch.cuda_error": ...}
    told = found(**changes, **{"jax.devices": [], "jax.error": _SAID})
    assert told[0].severity is Severity.ERROR
    assert "CUDA_ERROR_OUT_OF_MEMORY" in f"{told[0].message} {told[0].evidence}"


def test_frameworks_that_the_same_driver_turned_away_are_one_finding() -> None:
    (told,) = found(*_SKIPPED)
    assert told.id == "reach/cuda"
    assert told.title.startswith("torch and JAX are built for CUDA and reach no GPU")
    assert "CUDA_ERROR_NO_DEVICE" in told.message


def test_a_framework_with_a_reason_of_its_own_is_told_by_itself() -> None:
    words = "Unable to load cuDNN. Is it installed?"
    told = found(*_SKIPPED, **{"jax.error": words})
    assert {one.id for one in told} >= {"reach/cuda"}
    assert len(told) == 2


def test_words_of_wsl_on_another_machine_are_not_called_wsl() -> None:
    told = found(*_SKIPPED, **_NO_ANSWER)
    assert all(one.severity is Severity.NOTE for one in told if one.id.startswith("wsl/"))
