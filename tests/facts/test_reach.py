"""Facts say which GPUs the machine shows, what hides them, and which framework reaches none."""

from __future__ import annotations

from typing import Any

import pytest

from doctor.facts.derive import derive
from doctor.model.facts import Fact, value_of
from tests import toy

H100 = {"index": 0, "name": "NVIDIA H100 80GB HBM3"}
MISSED: dict[str, Any] = {
    "torch.build": "cuda",
    "torch.cuda_available": False,
    "torch.devices": ["cpu"],
    "torch.cuda_error": "No CUDA GPUs are available",
    "nvidia.gpus": [H100],
    "nvidia.gpu_present": True,
}


def derived(**changes: Any) -> dict[str, Fact]:
    facts = MISSED | {name.replace("__", "."): value for name, value in changes.items()}
    return derive(toy.seen(facts).facts, toy.catalog())


def test_a_gpu_that_the_machine_shows_and_torch_does_not_reach() -> None:
    facts = derived()
    assert (value_of(facts, "gpu.vendors"), value_of(facts, "torch.unreached")) == (
        ["nvidia"],
        "cuda",
    )


@pytest.mark.parametrize(
    "changes",
    [
        {"nvidia__gpus": None, "nvidia__gpu_present": False},
        {"torch__build": "cpu"},
        {"torch__build": "rocm"},
        {"torch__build": None},
        {"torch__cuda_available": True, "torch__devices": ["cpu", "cuda:0"]},
        {"torch__cuda_available": None},
        {"nvidia__gpus": "odd", "nvidia__gpu_present": "odd"},
    ],
    ids=[
        "no GPU",
        "a CPU build",
        "a build for AMD",
        "no torch",
        "reached",
        "nobody asked",
        "odd values",
    ],
)
def test_where_nothing_is_missed(changes: dict[str, Any]) -> None:
    assert value_of(derived(**changes), "torch.unreached") is None


@pytest.mark.parametrize("value", ["", "-1", "-1,0", " ", "NoDevFiles"])
def test_gpus_that_a_variable_hides_on_purpose_are_not_missed(value: str) -> None:
    facts = derived(env__CUDA_VISIBLE_DEVICES=value)
    assert value_of(facts, "torch.unreached") is None
    assert value_of(facts, "gpu.hidden_by") == f"CUDA_VISIBLE_DEVICES={value}"


@pytest.mark.parametrize("value", ["7", "GPU-nonsense", "0"])
def test_a_choice_that_leaves_none_was_not_meant(value: str) -> None:
    facts = derived(env__CUDA_VISIBLE_DEVICES=value)
    assert (value_of(facts, "torch.unreached"), value_of(facts, "gpu.hidden_by")) == ("cuda", None)


def test_what_the_container_toolkit_was_told_counts_in_a_container_only() -> None:
    inside = derived(env__NVIDIA_VISIBLE_DEVICES="void", host__container="kubernetes")
    assert value_of(inside, "gpu.hidden_by") == "NVIDIA_VISIBLE_DEVICES=void"
    assert value_of(derived(env__NVIDIA_VISIBLE_DEVICES="void"), "torch.unreached") == "cuda"
    assert (
        value_of(
            derived(env__NVIDIA_VISIBLE_DEVICES="all", host__container="docker"), "torch.unreached"
        )
        == "cuda"
    )


def test_gpus_of_amd_and_intel() -> None:
    amd = {
        "torch__build": "rocm",
        "amd__gpus": [{"name": "MI300X"}],
        "nvidia__gpus": None,
        "nvidia__gpu_present": False,
    }
    assert value_of(derived(**amd), "torch.unreached") == "rocm"
    assert value_of(derived(**amd, env__HIP_VISIBLE_DEVICES="-1"), "torch.unreached") is None
    intel = {"torch__build": "xpu", "intel__gpu_present": True}
    assert value_of(derived(**intel), "torch.unreached") == "xpu"
    assert value_of(derived(**intel, torch__devices=["cpu", "xpu:0"]), "torch.unreached") is None


@pytest.mark.parametrize(
    ("value", "kept"), [("cpu", "JAX_PLATFORMS=cpu"), ("cuda,cpu", None), ("", None)]
)
def test_a_variable_that_leaves_jax_the_processor_is_named(value: str, kept: str | None) -> None:
    facts = derived(jax__build="cuda", env__JAX_PLATFORMS=value)
    assert value_of(facts, "jax.kept_on_cpu") == kept
    built_for_none = derived(jax__build="cpu", env__JAX_PLATFORMS=value)
    assert value_of(built_for_none, "jax.kept_on_cpu") is None


def test_jax_and_onnxruntime() -> None:
    assert value_of(derived(jax__build="cuda", jax__devices=["cpu:0"]), "jax.unreached") == "cuda"
    assert value_of(derived(jax__build="cuda", jax__devices=["cuda:0"]), "jax.unreached") is None
    assert value_of(derived(jax__build="cpu", jax__devices=["cpu:0"]), "jax.unreached") is None
    failed = derived(
        onnxruntime__build="cuda",
        onnxruntime__error="libcublasLt.so.12: cannot open shared object file",
    )
    assert value_of(failed, "onnxruntime.unreached") == "cuda"


@pytest.mark.parametrize(
    ("mask", "here", "device", "is_wrong"),
    [
        ("1", 1, "0xe20b", True),
        ("2,3.0", 2, "0xe20b", True),
        ("1", 2, "0xe20b", False),
        ("0,7", 1, "0xe20b", False),
        ("", 1, "0xe20b", False),
        ("GPU-0", 1, "0xe20b", False),
        ("1", 1, "0x0bd5", False),  # its two tiles count as two devices
    ],
)
def test_a_mask_of_level_zero_that_leaves_no_gpu(
    mask: str, here: int, device: str, *, is_wrong: bool
) -> None:
    facts = derived(
        env__ZE_AFFINITY_MASK=mask, intel__on_pci=here, intel__gpus=[{"device": device}]
    )
    assert (value_of(facts, "intel.mask_error") is not None) == is_wrong
