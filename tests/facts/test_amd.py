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


_CARD, _SMALL = (
    {"gfx": "gfx1100", "node": 1, "uuid": "GPU-1f83b05c72d9a4e6"},
    {"gfx": "gfx1036", "node": 2},
)
_NUMBER = "leaves the processor's own gfx1036 alone, and hides gfx1100, which is number"


@pytest.mark.parametrize(
    ("gpus", "env", "said", "card"),
    [
        ([_CARD, _SMALL], {"HIP": "1"}, f"HIP_VISIBLE_DEVICES=1 {_NUMBER} 0", 0),
        ([_SMALL, _CARD], {"CUDA": "0"}, f"CUDA_VISIBLE_DEVICES=0 {_NUMBER} 1", 1),
        ([_SMALL, _CARD], {"ROCR": "0"}, f"ROCR_VISIBLE_DEVICES=0 {_NUMBER} 1", 1),
        # HIP counts what the runtime leaves anew.
        ([_CARD, _SMALL], {"ROCR": "1,0", "HIP": "0"}, f"HIP_VISIBLE_DEVICES=0 {_NUMBER} 1", 1),
        ([_CARD, _SMALL], {"HIP": "0"}, None, None),
        ([_CARD, _SMALL], {"HIP": "1,0"}, None, 0),
        ([_CARD, _SMALL], {"HIP": "-1"}, None, None),
        ([_CARD, _SMALL], {"ROCR": "GPU-1f83b05c72d9a4e6"}, None, None),
        # Which GPU an unknown id stands for is not known.
        ([_CARD, _SMALL], {"ROCR": "GPU-deadbeef"}, None, None),
        ([_CARD, dict(_CARD, node=2)], {"HIP": "1"}, None, None),
        ([_SMALL], {"HIP": "0"}, None, None),
    ],
)
def test_variables_that_leave_only_gpus_without_code(
    gpus: list[dict[str, object]], env: dict[str, str], said: str | None, card: int | None
) -> None:
    facts = {
        "amd.gpus": gpus,
        "torch.build": "rocm",
        "torch.local": "rocm7.1",
        "env.HSA_OVERRIDE_GFX_VERSION": None,
        **{f"env.{name}_VISIBLE_DEVICES": env.get(name) for name in ("HIP", "ROCR", "CUDA")},
    }
    found = derive(toy.seen(facts).facts, toy.catalog())
    names = ("card_hidden", "card", "unsupported_by_torch")
    assert tuple(value_of(found, f"amd.{name}") for name in names) == (
        said,
        card,
        ["gfx1036"] if gpus == [_SMALL] else None,
    )


@pytest.mark.parametrize(
    ("release", "chip", "lacks"),
    [
        ("2.5.1", "gfx1151", True),
        ("2.5.1", "gfx1201", True),
        ("2.9.0", "gfx1151", None),
        ("2.5.1", "gfx1100", None),
        ("2.9.0", "gfx1031", True),
    ],
)
def test_a_build_of_pytorch_that_is_older_than_the_chip(
    release: str, chip: str, *, lacks: bool | None
) -> None:
    facts = {
        "amd.gpus": [{"gfx": chip, "node": 1}],
        "torch.build": "rocm",
        "torch.version": f"{release}+rocm6.2",
        "torch.release": release,
        "torch.local": "rocm6.2",
    }
    found = value_of(derive(toy.seen(facts).facts, toy.catalog()), "amd.unsupported_by_torch")
    assert (found == [chip]) == bool(lacks)
