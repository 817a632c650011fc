"""Names, number and capabilities of the GPUs that a program would see."""

from __future__ import annotations

from typing import Any

import pytest

from doctor.facts.derive import derive
from doctor.facts.derive.devices import target_arch
from doctor.model.facts import Fact, State, absent, present, unknown, value_of
from tests import toy

OLD, NEW = (
    {"index": 0, "name": "GT 1030", "capability": "6.1"},
    {"index": 1, "name": "RTX 4090", "capability": "8.9"},
)


def derived(**facts: Any) -> dict[str, Fact]:
    given = {
        name.replace("__", "."): fact if isinstance(fact, Fact) else present(fact, "t")
        for name, fact in facts.items()
    }
    return derive(given, toy.catalog())


def told(facts: dict[str, Fact]) -> tuple[Any, ...]:
    names = ("gpu_names", "gpu_count", "capabilities", "capability_min", "capability_max")
    return tuple(value_of(facts, f"nvidia.{name}") for name in names)


def test_a_hidden_gpu_is_not_judged() -> None:
    facts = derived(
        nvidia__gpus=[OLD, NEW],
        nvidia__visible=[NEW],
        torch__build="cuda",
        torch__arch_list=["sm_86"],
    )
    assert told(facts) == (["RTX 4090"], 1, ["8.9"], "8.9", "8.9")
    assert facts["gpu.unsupported_by_torch"].state is State.ABSENT


def test_torch_tells_where_the_driver_does_not() -> None:
    h200 = [{"index": 0, "name": "NVIDIA H200", "capability": "9.0"}]
    for visible in (absent("NVML"), unknown("a guess")):
        facts = derived(nvidia__visible=visible, torch__build="cuda", torch__cuda_devices=h200)
        assert told(facts) == (["NVIDIA H200"], 1, ["9.0"], "9.0", "9.0")
    assert (
        told(derived(nvidia__visible=absent("NVML"), torch__build="rocm", torch__cuda_devices=h200))
        == (None,) * 5
    )


def test_gpus_that_are_all_hidden_are_not_judged() -> None:
    facts = derived(
        nvidia__gpus=[OLD], nvidia__visible=absent("CUDA_VISIBLE_DEVICES"), torch__build="cuda"
    )
    assert told(facts) == (None,) * 5


def test_what_is_visible_may_be_unknown() -> None:
    facts = derived(nvidia__gpus=[OLD, NEW], nvidia__visible=unknown("a guess"))
    assert {
        facts[f"nvidia.{name}"].state for name in ("capabilities", "gpu_names", "gpu_count")
    } == {State.UNKNOWN}


def test_a_lost_gpu_does_not_hide_the_others() -> None:
    lost = {"index": 0, "name": None, "capability": None, "error": "GPU is lost"}
    assert told(derived(nvidia__visible=[lost, NEW])) == (["RTX 4090"], 2, ["8.9"], "8.9", "8.9")


def test_a_gpu_that_does_not_tell_its_capability_leaves_it_unknown() -> None:
    facts = derived(nvidia__visible=[{"index": 0, "name": "Quadro K620", "capability": None}, NEW])
    assert facts["nvidia.capabilities"].state is State.UNKNOWN


@pytest.mark.parametrize(
    ("here", "compiled", "torch", "arch"),
    [
        (["8.9"], None, True, "sm_89"),
        (["6.1", "12.1"], ["sm_75", "sm_90", "sm_120"], True, "sm_120"),
        (["12.1"], ["sm_90a", "sm_120", "compute_120"], True, "sm_120"),
        (["12.1"], ["sm_120"], False, "sm_121"),
        (["8.0"], ["sm_120"], True, "sm_80"),
        ([], ["sm_120"], True, None),
    ],
)
def test_torch_builds_for_nothing_newer_than_itself(
    here: list[str], compiled: list[str] | None, torch: bool, arch: str | None
) -> None:
    gpus = [{"index": place, "name": "GPU", "capability": one} for place, one in enumerate(here)]
    facts = {"nvidia.visible": present(gpus, "t"), "torch.arch_list": present(compiled, "t")}
    assert target_arch(facts, torch=torch) == arch
    assert (
        target_arch({**facts, "nvidia.capabilities": present(["9.0"], "assumed")}, torch=False)
        == "sm_90"
    )
