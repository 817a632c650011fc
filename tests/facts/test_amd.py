"""What HIP_VISIBLE_DEVICES and ROCR_VISIBLE_DEVICES leave of AMD's GPUs."""

from __future__ import annotations

import pytest

from doctor.facts.derive import derive
from doctor.model.facts import value_of
from tests import toy

GPUS = [{"gfx": "gfx942", "node": node} for node in (1, 2)]


def said(
    rocr: str | None = None, hip: str | None = None, cuda: str | None = None, gpus: object = GPUS
) -> object:
    facts = {
        "amd.gpus": gpus,
        "env.ROCR_VISIBLE_DEVICES": rocr,
        "env.HIP_VISIBLE_DEVICES": hip,
        "env.CUDA_VISIBLE_DEVICES": cuda,
    }
    return value_of(derive(toy.seen(facts).facts, toy.catalog()), "amd.visible_error")


def test_a_number_that_is_right_for_all_gpus_is_wrong_for_those_that_are_left() -> None:
    assert said("1", "1") == (
        "HIP_VISIBLE_DEVICES=1, but ROCR_VISIBLE_DEVICES=1 leaves 1 of 2 GPUs, which HIP "
        "counts anew: 0"
    )
    assert said("GPU-deadbeef", None, "1") == (
        "CUDA_VISIBLE_DEVICES=1, but ROCR_VISIBLE_DEVICES=GPU-deadbeef leaves 1 of 2 "
        "GPUs, which HIP counts anew: 0"
    )


def test_a_number_that_no_gpu_has() -> None:
    assert said(None, "2") == "HIP_VISIBLE_DEVICES=2, but this machine has 2 GPUs, counted from 0"


@pytest.mark.parametrize(
    ("rocr", "hip", "cuda"),
    [
        ("1", "0", None),
        ("0,1", "1", None),
        (None, "1", "9"),
        ("1", None, None),
        ("", "1", None),
        (None, "-1", None),
        ("0", "0,1", None),
    ],
)
def test_a_choice_that_leaves_a_gpu_or_means_none_is_no_error(
    rocr: str | None, hip: str | None, cuda: str | None
) -> None:
    assert said(rocr, hip, cuda) is None


@pytest.mark.parametrize("gpus", [None, [], "odd"])
def test_without_gpus_nothing_is_said(gpus: object) -> None:
    assert said("1", "1", gpus=gpus) is None


@pytest.mark.parametrize(
    ("override", "gfx", "differs"),
    [
        ("10.3.0", ["gfx90a"], True),
        ("9.0.0", ["gfx942"], True),
        ("11.0.0", ["gfx1201"], True),
        ("9.0.10", ["gfx90a"], False),
        ("9.0.0", ["gfx90c"], False),
        ("10.3.0", ["gfx1031"], False),
        ("11.0.0", ["gfx1151"], False),
        ("11.0.0", ["gfx1101", "gfx1036"], False),
        ("nonsense", ["gfx90a"], False),
        (None, ["gfx90a"], False),
    ],
)
def test_an_override_for_a_chip_that_is_not_related(
    override: str | None, gfx: list[str], differs: bool
) -> None:
    facts = {"env.HSA_OVERRIDE_GFX_VERSION": override, "amd.gpus": [{"gfx": one} for one in gfx]}
    said = value_of(derive(toy.seen(facts).facts, toy.catalog()), "amd.override_differs")
    assert (said is not None) is differs
    if differs:
        assert f"HSA_OVERRIDE_GFX_VERSION={override} stands for gfx" in str(said)
