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


_FOUR = [
    {"index": index, "name": "NVIDIA A100", "uuid": f"GPU-{name}0"}
    for index, name in enumerate("abcd")
]


@pytest.mark.parametrize(
    ("value", "gpus", "kept", "replaced", "stale"),
    [
        (
            "GPU-a0,GPU-x0,GPU-c0,GPU-d",
            _FOUR,
            "GPU-a0,GPU-c0,GPU-d",
            "GPU-a0,GPU-b0,GPU-c0,GPU-d",
            "GPU-x0",
        ),
        # Two are unnamed, and either may be meant.
        ("GPU-a0,GPU-x0,GPU-c0", _FOUR, "GPU-a0,GPU-c0", None, "GPU-x0"),
        ("GPU-a0,GPU-a,GPU-c0", _FOUR, "GPU-a0,GPU-c0", None, "the second GPU-a"),
        ("GPU-a0,1", _FOUR[:1], "GPU-a0", None, "1"),
        ("0,1,2,7", _FOUR[:3], "0,1,2", None, "7"),
        ("0,9,1,-1,2", _FOUR, "0,1", None, "9"),
        ("GPU-x0", _FOUR, None, None, None),
        ("7", _FOUR, None, None, None),
        # A GPU that does not answer is no replacement.
        (
            "GPU-a0,GPU-x0",
            [_FOUR[0], {**_FOUR[1], "error": "GPU is lost"}],
            "GPU-a0",
            None,
            "GPU-x0",
        ),
    ],
)
def test_a_mended_list_keeps_every_entry_that_fits(
    value: str,
    gpus: list[dict[str, Any]],
    kept: str | None,
    replaced: str | None,
    stale: str | None,
) -> None:
    facts = derived(
        env__CUDA_VISIBLE_DEVICES=value, nvidia__gpus=gpus, nvidia__visible_error="wrong"
    )
    assert value_of(facts, "nvidia.visible_kept") == kept
    assert value_of(facts, "nvidia.visible_replaced") == replaced
    assert value_of(facts, "nvidia.visible_stale") == stale


def test_an_instance_of_another_divided_gpu_is_no_choice() -> None:
    gpus = [
        {"index": 0, "mig": True, "mig_devices": []},
        {"index": 1, "mig": True, "mig_devices": [{"uuid": "MIG-b"}]},
    ]
    facts = derived(
        env__CUDA_VISIBLE_DEVICES="MIG-x", nvidia__gpus=gpus, nvidia__visible_error="wrong"
    )
    assert value_of(facts, "nvidia.choices") == ["MIG-b on GPU 1"]
    assert value_of(facts, "nvidia.choice") is None


def test_a_wrong_number_does_not_hide_what_ails_the_gpus() -> None:
    gpus = [_gpu(0), _gpu(1, licensed=False)]
    facts = derived(env__CUDA_VISIBLE_DEVICES="8", nvidia__gpus=gpus, nvidia__visible_error="wrong")
    assert value_of(facts, "nvidia.vgpu_unlicensed") is not None
    assert value_of(derived(nvidia__gpus=gpus), "nvidia.vgpu_unlicensed") is None


def test_a_gpu_without_health_says_nothing_of_the_fabric() -> None:
    joined, lost = _gpu(0, fabric_state="completed"), {"index": 1, "error": "GPU is lost"}
    assert value_of(derived(nvidia__visible=[joined, lost]), "nvidia.fabric_completed") is True
    waiting = _gpu(2, fabric_state="in progress")
    assert value_of(derived(nvidia__visible=[joined, waiting]), "nvidia.fabric_completed") is None
    assert value_of(derived(nvidia__visible=[lost]), "nvidia.fabric_completed") is None


def test_what_computes_is_named_with_its_gpu() -> None:
    gpus = [
        {"index": 0, "processes": [{"pid": 4711}]},
        {"index": 1, "processes": [{"pid": 4711}, {"pid": 12}]},
        {"index": 2},
    ]
    facts = derived(nvidia__gpus=gpus)
    assert value_of(facts, "nvidia.computing") == [
        "process 4711 on GPU 0",
        "process 4711 on GPU 1",
        "process 12 on GPU 1",
    ]
    assert value_of(facts, "nvidia.computing.pids") == "4711,12"


def test_a_gpu_that_mps_shares_out_is_not_busy() -> None:
    server, exclusive = {"pid": 2143}, {"compute_mode": "exclusive_process"}
    one = {**_gpu(0), **exclusive, "processes": [server, {"pid": 88121}]}
    two = {**_gpu(1), **exclusive, "processes": [server]}
    by_mps = derived(nvidia__gpus=[one, two], nvidia__visible=[two])
    assert value_of(by_mps, "nvidia.taken") is None
    alone = derived(nvidia__gpus=[two], nvidia__visible=[two])
    assert value_of(alone, "nvidia.taken") == "busy"


@pytest.mark.parametrize("where", [{"host__container": "docker"}, {"env__SLURM_JOB_ID": "881"}])
def test_where_others_count_the_gpus_otherwise_a_command_takes_the_address(
    where: dict[str, Any],
) -> None:
    facts = derived(nvidia__visible=[_gpu(0, remap_pending=True)], **where)
    assert value_of(facts, "nvidia.remap_pending.which") == "GPU 0 (0000:41:00.0)"
    assert value_of(facts, "nvidia.remap_pending.index") == "0000:41:00.0"


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        ("cuda:0,cuda:1", "0,1"),
        ("cuda:0,cuda:9", None),
        ("'0,1'", "0,1"),
        ('"0"', "0"),
        ('"GPU-a0","GPU-c0"', "GPU-a0,GPU-c0"),
        ("[0]", "0"),
        ("0;1", "0,1"),
        ("0 1", "0,1"),
        ("0,0", None),
        ("0, 1", None),
        # Without them it would be wrong as well.
        ("'7'", None),
        ("0,1", None),
    ],
)
def test_marks_in_the_value_that_are_no_commas(value: str, plain: str | None) -> None:
    facts = derived(
        env__CUDA_VISIBLE_DEVICES=value, nvidia__gpus=_FOUR, nvidia__visible_error="wrong"
    )
    assert value_of(facts, "nvidia.visible_plain") == plain
