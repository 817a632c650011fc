"""Which line of a manifest asks for a package: each dialect, and texts that are none."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doctor.observe.manifests import LOCK, kind_of

_REQUIREMENTS = """\
# torch==1.0
--index-url https://download.pytorch.org/whl/cu126
torch==2.7.1 --hash=sha256:abc \\
    --hash=sha256:def
torchvision
-r torchaudio.txt
flash_attn @ https://example.org/flash_attn-2.8.3+cu12torch2.7-cp311-cp311-linux_x86_64.whl
https://example.org/xformers-0.0.31-cp39-abi3-manylinux_2_28_x86_64.whl
-e git+https://github.com/huggingface/transformers#egg=transformers
numpy<2 ; python_version < "3.13"
vllm[audio] >= 0.9
"""
_PYPROJECT = """\
[build-system]
requires = ["torch"]
[project]
name = "torch"
keywords = ["torch", "triton"]
dependencies = [
  "torch==2.7.1",  # "triton==1"
  "vllm[audio]>=0.9",
  "numpy",
]
urls = { torch = "https://example.org" }
[project.optional-dependencies]
gpu = ["flash-attn==2.8.3", "xformers"]
[dependency-groups]
dev = [
  {include-group = "gpu"}, "torchaudio",
]
[tool.uv]
override-dependencies = ["triton==3.3.1"]
[tool.uv.sources]
torchvision = { index = "pytorch" }
[tool.poetry.dependencies]
python = "^3.11"
accelerate = "*"
diffusers = { version = "^0.35", extras = ["torch"] }
[tool.poetry.group.dev.dependencies.peft]
version = "0.17"
"""
_ENVIRONMENT = """\
name: torch
channels:
  - pytorch
  - nvidia
dependencies:
  - python=3.11
  - pytorch::pytorch=2.5.1
  - torchvision
  - pip:
    - "flash-attn==2.8.3"
    - xformers  # torchaudio
"""
_DOCKERFILE = """\
ARG BASE
FROM nvidia/cuda:12.6.3-cudnn-devel-ubuntu22.04 AS build
RUN apt-get update && apt-get install -y torch-tools
# RUN pip install triton
RUN python -m pip install --no-cache-dir --index-url https://download.pytorch.org/whl/cu126 \\
      torch==2.7.1 \\
      # a comment within
      'torchvision' && \\
    python -c "import torchaudio; print(torchaudio.__version__)"
RUN uv pip install -r requirements.txt -c xformers.txt "flash-attn==2.8.3"
RUN conda install -c pytorch torchaudio=2.5
RUN cargo add peft
FROM --platform=linux/amd64 nvcr.io/nvidia/pytorch:25.01-py3
RUN echo triton
"""
_CARGO = """\
[package]
name = "candle-app"
version = "0.1.0"
[dependencies]
candle-core = { version = "0.9", features = [
  "cuda",
] }
candle-nn.workspace = true
cc = { package = "cudarc", version = "0.13" }
[target.'cfg(target_os = "macos")'.dependencies]
candle-metal-kernels = "*"
[workspace.dependencies.candle-transformers]
git = "https://github.com/huggingface/candle"
[patch.crates-io]
half = { git = "https://example.org/half" }
[features]
candle-flash-attn = []
"""
_LOCK = """\
version = 1

[[package]]
name = "torch"
version = "2.7.1"
dependencies = [
    { name = "triton" },
]

[package.metadata]
name = "numpy"

[[package]]
name = "candle-core"
"""


def _pins(name: str, text: str, folder: str = "project") -> dict[str, tuple[int, bool]]:
    kind = kind_of(folder, name)
    assert kind
    return {pin.name: (pin.line, pin.firm) for pin in kind.read(text)}


def test_requirements_of_pip() -> None:
    assert _pins("requirements.txt", _REQUIREMENTS) == {
        "torch": (3, True),
        "torchvision": (5, False),
        "flash_attn": (7, True),
        "xformers": (8, True),
        "transformers": (9, True),
        "numpy": (10, True),
        "vllm": (11, True),
    }


def test_a_pyproject_in_each_dialect() -> None:
    assert _pins("pyproject.toml", _PYPROJECT) == {
        "torch": (7, True),
        "vllm": (8, True),
        "numpy": (9, False),
        "flash-attn": (13, True),
        "xformers": (13, False),
        "gpu": (16, False),
        "torchaudio": (16, False),
        "triton": (19, True),
        "python": (23, True),
        "accelerate": (24, False),
        "diffusers": (25, True),
        "peft": (27, True),
    }


def test_an_environment_of_conda() -> None:
    assert _pins("environment.yml", _ENVIRONMENT) == {
        "python": (6, True),
        "torch": (7, True),
        "torchvision": (8, False),
        "flash-attn": (10, True),
        "xformers": (11, False),
    }


def test_an_image_and_what_it_installs() -> None:
    assert _pins("Dockerfile.gpu", _DOCKERFILE) == {
        "cuda": (2, True),
        "torch": (13, True),
        "torchvision": (8, False),
        "flash-attn": (10, True),
        "torchaudio": (11, True),
    }


def test_a_manifest_of_cargo() -> None:
    assert _pins("Cargo.toml", _CARGO) == {
        "candle-core": (5, True),
        "candle-nn": (8, False),
        "cudarc": (9, True),
        "candle-metal-kernels": (11, False),
        "candle-transformers": (12, True),
        "half": (15, True),
    }


@pytest.mark.parametrize("name", ["uv.lock", "poetry.lock", "Cargo.lock"])
def test_a_lock_names_each_package_once(name: str) -> None:
    assert _pins(name, _LOCK) == {"torch": (4, True), "candle-core": (14, True)}


def test_pipenv_and_pixi() -> None:
    assert _pins("Pipfile", '[packages]\ntorch = "==2.7.1"\n[scripts]\ntriton = "x"\n') == {
        "torch": (2, True)
    }
    text = (
        '[feature.gpu.dependencies]\npytorch-gpu = "2.7.*"\n[feature.gpu.pypi-dependencies]\nvllm '
        '= "*"\n'
    )
    assert _pins("pixi.toml", text) == {"torch": (2, True), "vllm": (4, False)}


@pytest.mark.parametrize(
    ("folder", "name", "known"),
    [
        ("project", "requirements-dev.txt", True),
        ("project", "dev_requirements.in", True),
        ("project", "constraints.txt", True),
        ("requirements", "gpu.txt", True),
        ("project", "gpu.txt", False),
        ("project", "environment.gpu.yaml", True),
        ("project", "gpu.Dockerfile", True),
        ("project", "Dockerfile", True),
        ("project", "Dockerfile\n::error::x", False),
        ("project", "my-pyproject.toml", False),
        ("project", "requirements.txt.bak", False),
    ],
)
def test_a_manifest_is_known_by_its_name(folder: str, name: str, known: bool) -> None:
    assert (kind_of(folder, name) is not None) is known


def test_locks_rank_last() -> None:
    ranks = [
        kind.rank
        for name in ("requirements.txt", "pyproject.toml", "Dockerfile", "uv.lock")
        if (kind := kind_of("", name))
    ]
    assert ranks == sorted(ranks)
    assert ranks[-1] == LOCK


_FILES = (
    "requirements.txt",
    "pyproject.toml",
    "environment.yml",
    "Dockerfile",
    "Cargo.toml",
    "uv.lock",
    "Pipfile",
    "pixi.toml",
)


@given(
    name=st.sampled_from(_FILES),
    text=st.text() | st.text("[]{}=\"'#\n ,torch.-@:&|\\RUNpipinstall"),
)
def test_a_text_that_is_no_manifest_is_read_without_a_fault(name: str, text: str) -> None:
    assert all(1 <= line <= text.count("\n") + 1 for line, _ in _pins(name, text).values())


@pytest.mark.parametrize("name", _FILES)
@pytest.mark.parametrize(
    "text",
    [
        "[" * 200_000,
        "a" * 1_000_000,
        "torch " * 300 + "\n",
        '[[package]]\nname = "x"\n' * 20_000,
        "\"'" * 900 + "\n",
    ],
)
def test_no_text_takes_long(name: str, text: str) -> None:
    started = time.process_time()
    _pins(name, text * (1 + 200_000 // len(text)))
    assert time.process_time() - started < 3
