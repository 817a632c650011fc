"""What follows for a build of candle."""

from __future__ import annotations

from typing import Any

import pytest

from doctor.facts.derive import derive
from doctor.model.facts import Fact, State, value_of
from tests import toy

_ASKS = ["driver", "cuda-version-from-build-system"]


def derived(**facts: Any) -> dict[str, Fact]:
    return derive(
        toy.seen({name.replace("__", "."): value for name, value in facts.items()}).facts,
        toy.catalog(),
    )


@pytest.mark.parametrize(
    ("toolkit", "driver", "ahead"),
    [
        ("12.4", "12.2", True),
        ("12.4", "12.4", False),
        ("12.4", "13.0", False),
        ("12.10", "12.9", True),
    ],
)
def test_a_toolkit_newer_than_the_driver(toolkit: str, driver: str, ahead: bool) -> None:
    assert (
        value_of(
            derived(cuda__version=toolkit, nvidia__cuda_version=driver), "cuda.ahead_of_driver"
        )
        is ahead
    )


def test_a_libcuda_for_forward_compatibility_speaks_for_itself() -> None:
    facts = derived(
        cuda__version="12.4",
        nvidia__cuda_version="12.2",
        nvidia__libcuda="/usr/local/cuda/compat/libcuda.so.1",
    )
    assert facts["cuda.ahead_of_driver"].state is State.ABSENT


@pytest.mark.parametrize(
    ("nvcc", "features", "setting", "expected"),
    [
        ("13.0.88", _ASKS, None, True),
        ("12.9.1", _ASKS, None, False),
        ("13.0.88", [*_ASKS, "cuda-12080"], None, None),
        ("13.0.88", ["driver"], None, None),
        ("13.0.88", _ASKS, "12090", None),
    ],
)
def test_a_toolkit_that_cudarc_does_not_know(
    nvcc: str, features: list[str], setting: str | None, expected: bool | None
) -> None:
    seen = {
        "cuda.nvcc_version": nvcc,
        "cudarc.known_cuda": ["12.8", "12.9"],
        "crate.cudarc.features": features,
        "crate.cudarc.version": "0.16.6",
    }
    assert (
        value_of(
            derive(toy.seen({**seen, "env.CUDARC_CUDA_VERSION": setting}).facts, toy.catalog()),
            "cudarc.rejects_toolkit",
        )
        is expected
    )


def test_an_older_cudarc_does_not_heed_the_variable() -> None:
    seen = {
        "cuda.nvcc_version": "13.0.88",
        "cudarc.known_cuda": ["12.6"],
        "crate.cudarc.features": _ASKS,
        "crate.cudarc.version": "0.13.9",
    }
    assert (
        value_of(
            derive(toy.seen({**seen, "env.CUDARC_CUDA_VERSION": "12060"}).facts, toy.catalog()),
            "cudarc.rejects_toolkit",
        )
        is True
    )


@pytest.mark.parametrize(
    ("variable", "gpus", "built", "too_new_for"),
    [
        ("86", ["7.5", "8.6"], "8.6", ["7.5"]),
        ("120", ["12.0"], "12.0", None),
        ("90a", ["9.0"], "9.0", None),
        (None, ["8.9", "8.0"], "8.9", ["8.0"]),
        (None, None, None, None),
        ("native", ["8.9"], None, None),
    ],
)
def test_what_kernels_are_compiled_for(
    variable: str | None, gpus: list[str] | None, built: str | None, too_new_for: list[str] | None
) -> None:
    facts = derive(
        toy.seen(
            {
                "candle.features": ["cuda"],
                "env.CUDA_COMPUTE_CAP": variable,
                "nvidia.capabilities": gpus,
            }
        ).facts,
        toy.catalog(),
    )
    assert (value_of(facts, "candle.built_for"), value_of(facts, "candle.built_too_new_for")) == (
        built,
        too_new_for,
    )


def test_without_cuda_nothing_is_compiled_for_a_gpu() -> None:
    facts = derive(
        toy.seen({"candle.features": ["metal"], "env.CUDA_COMPUTE_CAP": "86"}).facts, toy.catalog()
    )
    assert facts["candle.built_for"].state is State.ABSENT


def test_a_crate_whose_own_kernels_are_off() -> None:
    seen = {
        "crate.candle-core.features": ["metal"],
        "crate.candle-nn.used": True,
        "crate.candle-nn.features": [],
        "crate.candle-transformers.used": False,
    }
    assert value_of(derive(toy.seen(seen).facts, toy.catalog()), "candle.without_kernels") == [
        "candle-nn without metal"
    ]
    assert (
        value_of(
            derive(toy.seen({**seen, "crate.candle-nn.features": ["metal"]}).facts, toy.catalog()),
            "candle.without_kernels",
        )
        is None
    )


@pytest.mark.parametrize(
    ("here", "wanted", "expected"),
    [("1.74.0", "1.80", True), ("1.80.1", "1.80", False), ("1.97.0-nightly", "1.80", False)],
)
def test_a_rustc_that_is_too_old(here: str, wanted: str, expected: bool | None) -> None:
    assert (
        value_of(derived(rust__rustc=here, cargo__rust_wanted=wanted), "rust.too_old") is expected
    )


@pytest.mark.parametrize(
    "name", ["cudarc.rejects_toolkit", "candle.built_for", "candle.built_too_new_for"]
)
def test_without_a_workspace_nothing_follows(name: str) -> None:
    assert (
        derived(cuda__nvcc_version="13.0.88", nvidia__capabilities=["7.5"])[name].state
        is State.UNKNOWN
    )
