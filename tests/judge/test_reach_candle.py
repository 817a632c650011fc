"""A workspace that builds candle for a GPU: what is said where no check of it computed there."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from doctor.catalog.loading import load
from doctor.facts.derive import derive
from doctor.judge.match import diagnose
from doctor.model.findings import Detection
from doctor.model.observation import Target, TargetKind
from doctor.model.scales import Severity
from tests import toy

_WORKSPACE = Target(name="workspace", kind=TargetKind.CARGO, path="/work")
_MACHINE: dict[str, Any] = {
    "host.os": "linux",
    "candle.features": ["cuda"],
    "nvidia.gpus": [{"index": 0, "name": "NVIDIA H100 80GB HBM3", "capability": "9.0"}],
    "nvidia.visible": [{"index": 0, "name": "NVIDIA H100 80GB HBM3", "capability": "9.0"}],
    "nvidia.gpu_present": True,
    "nvidia.driver_version": "580.65.06",
}
_CLOSED = (
    "the device does not open: DriverError(CUDA_ERROR_NO_DEVICE, no CUDA-capable device is "
    "detected)"
)
_NO_NVCC = "there is no nvcc on this machine to build candle's kernels with"


def found(
    verdict: str,
    reason: str,
    device: str = "cuda:0",
    check: str = "candle-noncontiguous-matmul",
    **changes: Any,
) -> tuple[Detection, ...]:
    """Judge a workspace one check of which ended so on the GPU, and passed on the processor."""
    facts = _MACHINE | {name.replace("__", "."): value for name, value in changes.items()}
    ended = msgspec.structs.replace(toy.outcome(verdict, check=check, device=device), reason=reason)
    seen = toy.seen(facts, toy.outcome("passed", check=check), ended, targets=(_WORKSPACE,))
    return diagnose(
        msgspec.structs.replace(seen, facts=derive(seen.facts, load())), load()
    ).findings


def test_a_gpu_that_candle_does_not_open_is_an_error_in_its_own_words() -> None:
    (told,) = found("skipped", _CLOSED)
    assert (told.id, told.severity, told.target) == ("reach/candle", Severity.ERROR, "workspace")
    assert "NVIDIA H100" in told.title
    assert "CUDA_ERROR_NO_DEVICE" in told.message
    assert told.recipes


def test_a_build_that_cannot_begin_is_a_warning() -> None:
    (told, *_) = [each for each in found("skipped", _NO_NVCC) if each.id == "reach/candle"]
    assert told.severity is Severity.WARNING
    assert "nvcc" in told.message


def test_metal_on_a_mac() -> None:
    (told,) = found(
        "skipped",
        "the device does not open: no Metal device",
        "metal",
        candle__features=["metal"],
        metal__chip="Apple M3",
        host__os="macos",
    )
    assert (told.id, told.severity) == ("reach/candle", Severity.ERROR)
    assert "Apple M3" in told.title


@pytest.mark.parametrize(
    ("verdict", "changes"),
    [
        ("passed", {}),
        ("skipped", {"candle__features": []}),
        ("skipped", {"env__CUDA_VISIBLE_DEVICES": "-1"}),
        ("skipped", {"env__NVIDIA_VISIBLE_DEVICES": "void", "host__container": "docker"}),
        (
            "skipped",
            {
                "nvidia__gpus": None,
                "nvidia__visible": None,
                "nvidia__gpu_present": False,
                "nvidia__driver_version": None,
            },
        ),
        ("skipped", {"check": "candle-of-none", "device": "cpu"}),
    ],
    ids=[
        "it computes",
        "built for the processor",
        "hidden",
        "a container without GPUs",
        "no GPU",
        "no check of the GPU ran",
    ],
)
def test_no_alarm_where_nothing_is_missed(verdict: str, changes: dict[str, Any]) -> None:
    assert [
        each for each in found(verdict, _CLOSED, **changes) if each.id.startswith("reach/")
    ] == []


def test_a_driver_that_is_not_loaded_is_told_in_its_place_and_without_any_check() -> None:
    """Files and NVML tell it.

    A workspace with the feature cuda counts as one that wants the GPU.
    """
    unloaded: dict[str, Any] = {
        "nvidia__gpus": None,
        "nvidia__visible": None,
        "nvidia__driver_version": None,
        "nvidia__nvml": "Driver Not Loaded",
        "nvidia__device_nodes": False,
        "host__container": None,
        "host__wsl": None,
        "host__jetson": None,
        "nvidia__bound_to": None,
    }
    first, *more = found("skipped", _CLOSED, **unloaded)
    assert (first.id, first.severity) == ("nvidia/driver-not-loaded", Severity.ERROR)
    assert "reach/candle" not in {each.id for each in more}
    assert found("passed", "", "cpu", **unloaded)[0].id == "nvidia/driver-not-loaded"
