"""GPUs in the few words of a title, and as a command takes them."""

from __future__ import annotations

from typing import Any

import pytest

from doctor.model.facts import value_of
from tests.facts.test_driver import derived


def _gpu(index: int, **health: Any) -> dict[str, Any]:
    return {
        "index": index,
        "name": "NVIDIA H100",
        "pci_bus_id": f"0000:{0x41 + index:02x}:00.0",
        "health": health,
    }


def test_one_gpu_is_named_by_its_place_and_several_by_their_numbers() -> None:
    one = derived(nvidia__visible=[_gpu(0), _gpu(2, remap_pending=True)])
    assert (
        value_of(one, "nvidia.remap_pending.which"),
        value_of(one, "nvidia.remap_pending.index"),
    ) == ("GPU 2 (0000:43:00.0)", "2")
    three = derived(nvidia__visible=[_gpu(index, remap_pending=index > 0) for index in range(4)])
    assert (
        value_of(three, "nvidia.remap_pending.which"),
        value_of(three, "nvidia.remap_pending.index"),
    ) == ("GPUs 1, 2 and 3", "1,2,3")
    assert value_of(three, "nvidia.ecc_uncorrected.which") is None


@pytest.mark.parametrize(
    ("errors", "told"),
    [
        (["GPU 2 (0000:81:00.0): GPU is lost"], "GPU 2 (0000:81:00.0) is lost"),
        (
            ["GPU 2 (NVIDIA L4, 0000:81:00.0): Unknown Error"],
            "GPU 2 (0000:81:00.0) cannot be asked: Unknown Error",
        ),
        (
            ["GPU 2: NVML did not answer within 4 s"],
            "GPU 2 cannot be asked: NVML did not answer within 4 s",
        ),
        (["GPU 1 (0000:41:00.0): GPU is lost", "GPU 2: GPU is lost"], "GPUs 1 and 2 are lost"),
        (["GPU 1: GPU is lost", "GPU 2: Timeout"], None),
        (["something else"], None),
        (None, None),
    ],
)
def test_gpus_that_do_not_answer(errors: list[str] | None, told: str | None) -> None:
    assert value_of(derived(nvidia__gpu_errors=errors), "nvidia.gpu_errors.told") == told


def test_what_the_variable_may_name() -> None:
    gpus = [
        {
            "index": 0,
            "name": "NVIDIA A100",
            "uuid": "GPU-a",
            "mig_devices": [{"uuid": "MIG-b"}, {"uuid": "MIG-c"}],
        }
    ]
    given: dict[str, Any] = {"nvidia__gpus": gpus, "nvidia__visible_error": "wrong"}
    by_mig = derived(env__CUDA_VISIBLE_DEVICES="MIG-x", **given)
    assert value_of(by_mig, "nvidia.choices") == ["MIG-b on GPU 0", "MIG-c on GPU 0"]
    assert value_of(by_mig, "nvidia.choice") == "MIG-b"
    assert value_of(derived(env__CUDA_VISIBLE_DEVICES="GPU-x", **given), "nvidia.choice") == "GPU-a"
    assert value_of(derived(env__CUDA_VISIBLE_DEVICES="7", **given), "nvidia.choices") == [
        "GPU 0 (NVIDIA A100)"
    ]
    assert value_of(derived(nvidia__gpus=gpus), "nvidia.choices") is None
