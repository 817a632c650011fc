"""Each way in which CUDA does not start, in the words of torch 2.13, leads to its issue."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from doctor.catalog.loading import load
from doctor.facts.derive import derive
from doctor.judge.match import diagnose
from doctor.model.findings import Detection
from doctor.model.scales import Severity
from tests import toy

_UNEXPECTED = (
    "CUDA initialization: Unexpected error from cudaGetDeviceCount(). Did you run some "
    "cuda functions before calling NumCudaDevices() that "
    "might have already set an error? {} (Triggered internally at "
    "/__w/pytorch/pytorch/c10/cuda/CUDAFunctions.cpp:119.)"
)
_REFUSALS = {
    "Error 2: out of memory": "cuda/no-memory-to-start",
    "Error 34: CUDA driver is a stub library": "cuda/stub-library-loaded",
    "Error 46: CUDA-capable device(s) is/are busy or unavailable": "torch/cuda-devices-busy",
    "Error 101: invalid device ordinal": "cuda/invalid-device-at-start",
    "Error 304: OS call failed or operation not supported on this OS": "cuda/driver-does-not-start",
    "Error 802: system not yet initialized": "nvidia/fabric-manager-not-running",
    (
        "Error 803: system has unsupported display driver / cuda driver combination"
    ): "cuda/driver-and-libcuda-differ",
    (
        "Error 804: forward compatibility was attempted on non supported HW"
    ): "cuda/forward-compatibility-refused",
    (
        "Error 805: MPS client failed to connect to the MPS control daemon or the MPS server"
    ): "cuda/mps-not-reachable",
}
WORDS = {_UNEXPECTED.format(words): leads for words, leads in _REFUSALS.items()} | {
    "CUDA initialization: CUDA driver initialization failed, you might not have a CUDA "
    "gpu. (Triggered internally at "
    "/__w/pytorch/pytorch/c10/cuda/CUDAFunctions.cpp:119.)": "cuda/driver-does-not-start",
    "CUDA initialization: CUDA unknown error - this may be due to an incorrectly set up "
    "environment, e.g. changing env variable "
    "CUDA_VISIBLE_DEVICES after program start. "
    "Setting the available devices to be zero.": "cuda/driver-lost-its-memory-module",
    (
        "CUDA initialization: The NVIDIA driver on your system is too old (found version "
        "12040). Please update your GPU driver"
    ): ("torch/driver-too-old"),
    "No CUDA GPUs are available": "reach/cuda",
    "Found no NVIDIA driver on your system. Please check that you have an NVIDIA GPU": "reach/cuda",
    _UNEXPECTED.format("Error 800: operation not permitted"): "canary/torch-runtime",
}
_MACHINE: dict[str, Any] = {
    "host.os": "linux",
    "torch.version": "2.13.0+cu130",
    "torch.build": "cuda",
    "torch.cuda_version": "13.0",
    "torch.cuda_available": False,
    "torch.devices": ["cpu"],
    "nvidia.gpus": [
        {"index": 0, "name": "NVIDIA H100 80GB HBM3", "capability": "9.0", "mig": False}
    ],
    "nvidia.gpu_present": True,
    "nvidia.driver_version": "580.65.06",
    "nvidia.nvswitch": False,
    "nvidia.fabric_manager": None,
    "packages": {},
}


def found(words: str, verdict: str, **changes: Any) -> tuple[Detection, ...]:
    """Judge a machine on which torch says these words, and torch-runtime ends with the verdict."""
    driver = "550.54.15" if "too old" in words else "580.65.06"
    facts = (
        _MACHINE
        | {"torch.cuda_error": words, "nvidia.driver_version": driver}
        | {name.replace("__", "."): value for name, value in changes.items()}
    )
    said = msgspec.structs.replace(
        toy.outcome(verdict, check="torch-runtime", device="cuda"), reason=words
    )
    seen = toy.seen(facts, toy.outcome("passed", check="torch-runtime"), said)
    return diagnose(
        msgspec.structs.replace(seen, facts=derive(seen.facts, load())), load()
    ).findings


@pytest.mark.parametrize(
    ("words", "leads"), WORDS.items(), ids=[words.rpartition("Error ")[2][:24] for words in WORDS]
)
def test_the_right_issue_leads_as_an_error(words: str, leads: str) -> None:
    first = found(words, "skipped" if leads == "reach/cuda" else "failed")[0]
    assert (first.id, first.severity) == (leads, Severity.ERROR)


@pytest.mark.parametrize(
    "words", [words for words, leads in WORDS.items() if leads != "canary/torch-runtime"]
)
def test_where_the_check_only_skips_it_is_an_error_all_the_same(words: str) -> None:
    (first, *_) = found(words, "skipped")
    assert (first.id, first.severity) == (WORDS[words], Severity.ERROR)


_CARD = {**_MACHINE["nvidia.gpus"][0], "memory_bytes": 80 << 30, "memory_used_bytes": 1 << 30}
_HOLDER = {"pid": 4242, "memory_bytes": 79 << 30}
_EXCLUSIVE = {**_CARD, "compute_mode": "exclusive_process", "processes": [_HOLDER]}
_FULL = {**_CARD, "memory_used_bytes": 80 << 30, "processes": [_HOLDER]}
_SAID = {
    "full": _UNEXPECTED.format("Error 2: out of memory"),
    "busy": next(words for words in WORDS if "Error 46" in words),
}


@pytest.mark.parametrize(("state", "card"), [("full", _FULL), ("busy", _EXCLUSIVE)])
def test_gpus_that_other_processes_have_are_a_warning_with_the_holders(
    state: str, card: dict[str, Any]
) -> None:
    told = found(_SAID[state], "skipped", nvidia__visible=[card, {**card, "index": 1}])
    assert [(each.id, each.severity) for each in told if each.severity is not Severity.NOTE] == [
        (f"reach/cuda-{state}", Severity.WARNING)
    ]
    assert "process 4242 (79.0 GiB)" in told[0].message


@pytest.mark.parametrize(
    ("state", "cards"),
    [
        ("full", [_FULL, _CARD]),
        ("full", [{**_FULL, "mig": True}]),
        ("busy", [{**_EXCLUSIVE, "processes": []}]),
        ("busy", [_FULL]),
        ("busy", []),
    ],
    ids=[
        "one has room",
        "parts of a card",
        "nobody is on it",
        "full is not held",
        "NVML tells nothing",
    ],
)
def test_gpus_that_nvml_does_not_see_taken_stay_an_error(
    state: str, cards: list[dict[str, Any]]
) -> None:
    (first, *more) = found(_SAID[state], "skipped", nvidia__visible=cards)
    assert (first.id, first.severity) == (WORDS[_SAID[state]], Severity.ERROR)
    assert not [each for each in more if each.severity is not Severity.NOTE]


@pytest.mark.parametrize("state", ["full", "busy"])
def test_a_driver_that_says_so_in_a_sandbox_that_shows_no_gpu_is_heard(state: str) -> None:
    nothing = {
        "nvidia__gpus": None,
        "nvidia__gpu_present": False,
        "nvidia__driver_version": None,
        "nvidia__visible": None,
    }
    (first, *_) = found(_SAID[state], "skipped", **nothing)
    assert (first.id, first.severity) == (WORDS[_SAID[state]], Severity.ERROR)


def test_a_machine_without_a_gpu_is_no_fault() -> None:
    words = "Found no NVIDIA driver on your system. Please check that you have an NVIDIA GPU"
    nothing = {"nvidia__gpus": None, "nvidia__gpu_present": False, "nvidia__driver_version": None}
    assert found(words, "skipped", **nothing) == ()


@pytest.mark.parametrize(
    "host",
    [
        {},
        {"host__container": "docker", "nvidia__nvswitch": None},
        {"nvidia__fabric_manager": "580.65.06"},
    ],
)
def test_a_fabric_that_is_not_ready_is_told_wherever_its_manager_is(host: dict[str, Any]) -> None:
    words = _UNEXPECTED.format("Error 802: system not yet initialized")
    assert found(words, "failed", **host)[0].id == "nvidia/fabric-manager-not-running"


def test_a_pascal_card_beside_an_ampere_one() -> None:
    words = (
        "RuntimeError: Found Quadro P4000 which is too old to be supported by the triton "
        "GPU compiler, which is used as the backend. "
        "Triton only supports devices of CUDA Capability >= 7.0, but your device is of "
        "CUDA capability 6.1"
    )
    facts = {
        **_MACHINE,
        "torch.cuda_available": True,
        "torch.devices": ["cpu", "cuda:0", "cuda:1"],
        "triton.version": "3.7.1",
    }
    facts["nvidia.gpus"] = [
        {"index": 0, "name": "A40", "capability": "8.6"},
        {"index": 1, "name": "Quadro P4000", "capability": "6.1"},
    ]
    red = msgspec.structs.replace(
        toy.outcome(check="inductor-compile", device="cuda:1"), reason=words
    )
    seen = toy.seen(facts, red)
    told = diagnose(
        msgspec.structs.replace(seen, facts=derive(seen.facts, load())), load()
    ).findings
    assert [each.id for each in told if each.severity is Severity.ERROR] == [
        "triton/gpu-before-volta"
    ]


def test_a_p100_alone_is_no_error_for_want_of_a_compiler() -> None:
    """Triton takes Volta and later.

    Everything else of torch runs there, so the check is skipped.
    """
    words = (
        "RuntimeError: Found Tesla P100-PCIE-16GB which is too old to be supported by the "
        "triton GPU compiler, which is used as the "
        "backend. Triton only supports devices of CUDA Capability >= 7.0, but your device "
        "is of CUDA capability 6.0"
    )
    card = {"index": 0, "name": "Tesla P100-PCIE-16GB", "capability": "6.0"}
    facts = {
        **_MACHINE,
        "torch.version": "2.7.1+cu126",
        "torch.cuda_version": "12.6",
        "torch.cuda_available": True,
    }
    facts |= {
        "torch.devices": ["cpu", "cuda:0"],
        "torch.arch_list": ["sm_50", "sm_60", "sm_70", "sm_90"],
        "triton.version": "3.3.1",
    }
    facts |= {"nvidia.gpus": [card], "nvidia.visible": [card], "torch.cuda_devices": [card]}
    skipped = msgspec.structs.replace(
        toy.outcome("skipped", check="inductor-compile", device="cuda:0"), reason=words
    )
    seen = toy.seen(facts, toy.outcome("passed", check="torch-runtime", device="cuda:0"), skipped)
    told = diagnose(
        msgspec.structs.replace(seen, facts=derive(seen.facts, load())), load()
    ).findings
    assert [each.id for each in told if each.severity is Severity.ERROR] == []
