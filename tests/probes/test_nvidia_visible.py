"""Which GPUs CUDA_VISIBLE_DEVICES leaves."""

from __future__ import annotations

import msgspec
import pytest

from doctor.host.nvml import Gpu
from doctor.observe.probes.nvidia.visible import visible

PARTS = (
    {"uuid": "MIG-aa11", "gpu_instance": 5, "compute_instance": 0},
    {"uuid": "MIG-aa22", "gpu_instance": 6, "compute_instance": 0},
)
H100 = [
    Gpu(index=0, name="NVIDIA H100", capability="9.0", uuid="GPU-1abc", mig_devices=PARTS),
    Gpu(index=1, name="NVIDIA H100", capability="9.0", uuid="GPU-1abd"),
    Gpu(index=2, name="NVIDIA H100", capability="9.0", uuid="GPU-2abc"),
]
MIXED = [
    Gpu(index=0, name="GT 1030", capability="6.1", uuid="GPU-1"),
    Gpu(index=1, name="RTX 4090", capability="8.9", uuid="GPU-2"),
]
BY_BUS = {"CUDA_DEVICE_ORDER": "PCI_BUS_ID"}


def left(
    gpus: list[Gpu], value: str | None, order: dict[str, str] | None = None
) -> tuple[list[int] | None, str]:
    told = visible(
        gpus, {**({} if value is None else {"CUDA_VISIBLE_DEVICES": value}), **(order or {})}
    )
    return None if told.gpus is None else [gpu.index for gpu in told.gpus], told.error


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        *(
            (None, [0, 1, 2]),
            ("0", [0]),
            ("2,1", [1, 2]),
            (" 0, 2", [0, 2]),
            ("1gpu,2", [1, 2]),
            ("0,2,-1,1", [0, 2]),
        ),
        *(
            ("GPU-2", [2]),
            ("GPU-1abd,GPU-1abc", [0, 1]),
            ("MIG-aa11,MIG-aa22", [0]),
            ("MIG-GPU-1abc/6/0", [0]),
        ),
    ],
)
def test_what_is_chosen_is_left(value: str | None, expected: list[int]) -> None:
    assert left(H100, value) == (expected, "")


@pytest.mark.parametrize(
    ("value", "expected", "says"),
    [
        ("7", [], "CUDA_VISIBLE_DEVICES=7, but this machine has GPUs 0 to 2, so CUDA shows no GPU"),
        (
            "1,7,0",
            [1],
            (
                "CUDA_VISIBLE_DEVICES=1,7,0, but this machine has GPUs 0 to 2, so CUDA shows the "
                "first 1 of the list alone"
            ),
        ),
        ("1,1", [], "CUDA_VISIBLE_DEVICES=1,1 names 1 twice, so CUDA shows no GPU"),
        (
            "GPU-2abc,GPU-2",
            [],
            "CUDA_VISIBLE_DEVICES=GPU-2abc,GPU-2 names GPU-2 twice, so CUDA shows no GPU",
        ),
        ("GPU-9", [], "CUDA_VISIBLE_DEVICES=GPU-9: no GPU here is GPU-9, so CUDA shows no GPU"),
        ("GPU-1", [], "CUDA_VISIBLE_DEVICES=GPU-1: no GPU here is GPU-1, so CUDA shows no GPU"),
        (
            "MIG-zz",
            [],
            "CUDA_VISIBLE_DEVICES=MIG-zz: no MIG device here is MIG-zz, so CUDA shows no GPU",
        ),
        (
            "MIG-GPU-1abc/1/0",
            [],
            (
                "CUDA_VISIBLE_DEVICES=MIG-GPU-1abc/1/0: no MIG device here is MIG-GPU-1abc/1/0, so "
                "CUDA shows no GPU"
            ),
        ),
        (
            "GPU-2abc,0",
            [2],
            (
                "CUDA_VISIBLE_DEVICES=GPU-2abc,0: no GPU here is 0, so CUDA shows the first 1 of "
                "the "
                "list alone"
            ),
        ),
        (
            "0,GPU-2abc",
            [0],
            (
                "CUDA_VISIBLE_DEVICES=0,GPU-2abc: GPU-2abc is neither a number nor a UUID, so CUDA "
                "shows the first 1 of the list alone"
            ),
        ),
        (
            "-2",
            [],
            "CUDA_VISIBLE_DEVICES=-2, but this machine has GPUs 0 to 2, so CUDA shows no GPU",
        ),
        (
            "cuda:1",
            [],
            (
                "CUDA_VISIBLE_DEVICES=cuda:1: cuda:1 is neither a number nor a UUID, so CUDA shows "
                "no GPU"
            ),
        ),
    ],
)
def test_what_is_wrong_is_said(value: str, expected: list[int], says: str) -> None:
    assert left(H100, value) == (expected, says)


@pytest.mark.parametrize("value", ["", "-1", "NoDevFiles", "none"])
def test_gpus_that_are_hidden_on_purpose(value: str) -> None:
    told = visible(H100, {"CUDA_VISIBLE_DEVICES": value})
    assert (told.gpus, told.error, told.meant) == ((), "", True)


@pytest.mark.parametrize(
    ("value", "order", "expected"),
    [
        ("1", {}, None),
        ("0", {}, None),
        ("0,1", {}, [0, 1]),
        ("1", BY_BUS, [1]),
        ("GPU-2", {}, [1]),
        ("5", {}, []),
    ],
)
def test_a_number_among_different_gpus_is_a_guess(
    value: str, order: dict[str, str], expected: list[int] | None
) -> None:
    assert left(MIXED, value, order)[0] == expected


def test_numbers_count_what_the_job_was_given() -> None:
    gpus = [msgspec.structs.replace(H100[0], error="Insufficient Permissions"), *H100[1:]]
    assert left(gpus, "0") == ([1], "")


def test_numbers_beside_a_lost_gpu_are_a_guess() -> None:
    gpus = [Gpu(index=0, error="GPU is lost"), *H100[1:]]
    assert left(gpus, "0", BY_BUS) == (None, "")


def test_uuids_beside_a_lost_gpu_may_be_certain() -> None:
    gpus = [Gpu(index=0, error="GPU is lost"), *H100[1:]]
    assert left(gpus, "GPU-2abc") == ([2], "")
    assert left(gpus, "GPU-9") == (None, "")
