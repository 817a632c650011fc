"""Builds in a pasted list that name another torch, another CUDA or another release."""

from __future__ import annotations

import pytest

from doctor.logs.described import described_facts
from doctor.model.facts import value_of
from doctor.model.observation import Log

_NUMPY = "numpy==1.26.4"


def _value(name: str, *lines: str) -> object:
    return value_of(described_facts(Log(source="list", lines=(*lines, _NUMPY))), name)


@pytest.mark.parametrize(
    ("lines", "other"),
    [
        (
            ("torch==2.3.0+cu121", "torch-scatter==2.1.2+pt21cu118"),
            ["torch-scatter 2.1.2 (torch 2.1 and CUDA 11.8)"],
        ),
        (("torch==2.10.0+cu126", "torch-scatter==2.1.2+pt210cu126"), None),
        (("torch==2.1.0+cu121", "natten==0.17.1+torch210cu121"), None),
        (("torch==2.1.0+cu121", "dgl==1.1.2+cu118"), ["dgl 1.1.2 (CUDA 11.8)"]),
        (("torch==2.4.1+cu124", "xformers==0.0.28+cu121"), None),
        (("torch==2.3.0+cu121", "cupy-cuda11x==13.1.0"), ["cupy-cuda11x 13.1.0 (CUDA 11)"]),
        (("torch==2.3.0+cu121", "cupy-cuda12x==13.1.0"), None),
        (
            ("torch==2.3.0+cu121", "torch-cluster==1.6.3+pt23cpu"),
            ["torch-cluster 1.6.3 (torch 2.3 and the processor)"],
        ),
    ],
)
def test_a_suffix_names_what_a_package_was_built_beside(
    lines: tuple[str, ...], other: list[str] | None
) -> None:
    assert _value("text.built_for_another", *lines) == other


@pytest.mark.parametrize(
    ("lines", "local"),
    [
        (("torch==2.9.0+cpu", "torchvision==0.24.0"), "cuda"),
        (("torch==2.9.0+cpu", "torchvision==0.24.0+cpu"), "cpu"),
        # PyPI's torchvision for Windows is for the processor.
        (("torch==2.9.0+cpu", "torchvision==0.24.0", "pywin32==308"), None),
        (("torch==2.9.0", "torchvision==0.24.0"), None),
    ],
)
def test_a_torchvision_of_pypi_beside_a_torch_for_the_processor_is_for_cuda(
    lines: tuple[str, ...], local: str | None
) -> None:
    assert _value("package.torchvision.local", *lines) == local


def test_cudnn_and_the_runtime_are_compared_with_torch() -> None:
    assert _value("text.other_cudnn", "torch==2.5.1", "nvidia-cudnn-cu12==8.9.7.29") == "8.9.7.29"
    assert _value("text.other_cudnn", "torch==2.5.1", "nvidia-cudnn-cu12==9.1.0.70") is None
    runtime = ("torch==2.7.0+cu128", "nvidia-cuda-runtime-cu12==12.6.77")
    assert _value("text.other_cuda_packages", *runtime) == "nvidia-cuda-runtime-cu12 12.6.77"
    fits = ("torch==2.7.0+cu128", "nvidia-cuda-runtime-cu12==12.8.57")
    assert _value("text.other_cuda_packages", *fits) is None


def test_two_releases_of_torch_in_one_environment() -> None:
    conda = (
        "# Name                    Version                   Build  Channel",
        "numpy                     1.26.4          py310h5f9d8c6_0",
        "pytorch                   2.2.0           py3.10_cuda12.1_cudnn8.9.2_0    pytorch",
    )
    other = "torch                     2.4.0                    pypi_0    pypi"
    assert _value("text.torch_listed_twice", *conda, other) == ["2.2.0", "2.4.0"]
    assert _value("text.torch_listed_twice", *conda) is None
    same = other.replace("2.4.0", "2.2.0")
    assert _value("text.torch_listed_twice", *conda, same) is None


def test_the_parts_of_jax_are_compared() -> None:
    parts = ("jax==0.4.30", "jaxlib==0.4.30")
    assert _value("text.jax_plugin_differs", *parts, "jax-cuda12-plugin==0.4.28") == "0.4.28"
    assert _value("text.jax_plugin_differs", *parts, "jax-cuda12-plugin==0.4.30") is None
