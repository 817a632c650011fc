"""What a pasted environment implies."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest

from doctor.logs import reading
from doctor.logs.described import described_facts
from doctor.model.facts import Facts, State, value_of
from tests.command import doctor

_SHORT_REPORT = """- `diffusers` version: 0.4.0.dev0
- Platform: Linux-4.4.0-19041-Microsoft-x86_64-with-glibc2.31
- Python version: 3.9.13
- PyTorch version (GPU?): 1.12.1+cu116 (False)
"""
_WINDOWS = """(venv) PS C:\\work> pip list
Package            Version
------------------ -----------
torch              2.3.1
torchvision        0.18.1
GPU: NVIDIA GeForce RTX 3060
"""
_CONSOLE = """>>> torch.__version__
'1.8.0'
>>> torch.version.cuda
'10.2'
>>> torch.cuda.get_device_name(0)
'NVIDIA GeForce RTX 3080'
"""
_AMD = """OS: Ubuntu 22.04, ROCm 6.0
GPU: Radeon RX 6700 XT (gfx1031)
$ pip list | grep -E "torch|nvidia"
torch              2.3.0
nvidia-cublas-cu12 12.1.3.1
$ python -c "import torch; print(torch.cuda.is_available())"
False
"""
_CHIPS = """GPU: Radeon RX 6700 XT (gfx1031)
$ pip list | grep -E "torch|numpy"
numpy              1.26.4
torch              2.3.1+rocm6.0
torchvision        0.18.1+rocm6.0
>>> torch.cuda.get_arch_list()
['gfx906', 'gfx90a', 'gfx1030']
$ printenv | grep HSA
"""
_JAX = """jax:    0.4.32
jaxlib: 0.4.32
numpy:  2.1.2
jax.devices (1 total, 1 local): [CpuDevice(id=0)]
"""
_MAC = """System: macOS 13.4, Apple M1
Python 3.8.8 (x86_64, Anaconda)
torch 2.0.1
"""
_LIST = """keras==3.0.5
numpy==2.0.0
tensorflow==2.15.0
torch==2.3.1
"""


def facts_of(text: str) -> Facts:
    """Return the facts of a pasted text."""
    return described_facts(reading.read(io.BytesIO(text.encode()), "text", ()))


@pytest.mark.parametrize(
    ("text", "name", "value"),
    [
        (_SHORT_REPORT, "host.kernel", "4.4.0-19041-Microsoft"),
        (_WINDOWS, "torch.build", "cpu"),
        (_WINDOWS, "package.torch.installer", "pip"),
        (_WINDOWS, "python.conda", None),
        (_WINDOWS.replace("2.3.1", "2.3.1+cu121"), "torch.build", "cuda"),
        (_WINDOWS.replace("PS C:\\work", "ada@host:/work"), "torch.build", None),
        (_CONSOLE, "torch.cuda_version", "10.2"),
        (_CONSOLE.replace("'10.2'", "None"), "torch.cuda_version", None),
        (_AMD, "torch.build", "cuda"),
        (_AMD, "torch.cuda_available", False),
        (_AMD, "amd.gpus", [{"gfx": "gfx1031"}]),
        ("torch==2.3.0\nnvidia-nccl-cu12==2.20.5\nnumpy==1.26.4", "host.os", "linux"),
        ("torch==2.3.0\nnvidia-nccl-cu12==2.20.5\nnumpy==1.26.4", "host.machine", "x86_64"),
        ("torch==2.9.1\nnvidia-nccl-cu12==2.27.5\nnumpy==1.26.4", "host.machine", None),
        ("torch==2.3.0\nnvidia-cublas-cu12==12.1.3.1\nnumpy==1.26.4", "host.os", None),
        (_CHIPS, "amd.gpus", [{"gfx": "gfx1031"}]),
        (_CHIPS, "torch.arch_list", ["gfx906", "gfx90a", "gfx1030"]),
        (_CHIPS, "torch.build", "rocm"),
        (_JAX, "jax.devices", ["cpu:0"]),
        (_JAX.replace("CpuDevice", "CudaDevice"), "jax.devices", None),
        (_MAC, "host.rosetta", True),
        (_MAC.replace("x86_64, ", ""), "host.rosetta", None),
        (_LIST, "requires.tensorflow.numpy.met", False),
        (_LIST, "requires.tensorflow.numpy.specifier", "<2.0.0,>=1.23.5"),
        (_LIST, "requires.tensorflow.keras.installed", "3.0.5"),
        (_LIST.replace("2.0.0", "1.26.4"), "requires.tensorflow.numpy.met", True),
    ],
)
def test_what_a_text_implies(text: str, name: str, value: Any) -> None:
    assert value_of(facts_of(text), name) == value


def test_a_stated_build_is_not_deduced_anew() -> None:
    text = _AMD.replace("torch              2.3.0", "torch              2.3.0+rocm6.0")
    assert value_of(facts_of(text), "torch.build") == "rocm"


def test_a_variable_that_a_list_of_all_leaves_out_is_not_set() -> None:
    name = "env.HSA_OVERRIDE_GFX_VERSION"
    assert facts_of(_CHIPS)[name].state is State.ABSENT
    assert name not in facts_of(_CHIPS.replace("$ printenv | grep HSA", ""))
    assert name not in facts_of(_CHIPS + "HSA_OVERRIDE_GFX_VERSION=10.3.0\n")


def test_two_answers_are_none() -> None:
    text = _AMD + "torch.cuda.is_available() -> True\n"
    assert "torch.cuda_available" not in facts_of(text)


def test_the_gpu_of_another_vendor_rules_one_of_nvidia_out() -> None:
    assert facts_of(_AMD)["nvidia.gpu_present"].state is State.ABSENT


def test_the_plan_for_a_pasted_list_is_for_another_machine(tmp_path: Path) -> None:
    (tmp_path / "list.txt").write_text(_LIST, encoding="utf-8")
    said = doctor("check", "--from", "list.txt", cwd=tmp_path)
    assert "move keras and numpy to what goes together" in said.out
    assert "on that machine, doctor fix --prove tries the plan" in said.out
    assert "in a copy of this environment" not in said.out
