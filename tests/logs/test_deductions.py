"""What a pasted environment implies of torch's build, and of a vendor's image."""

from __future__ import annotations

import pytest

from doctor.model.facts import value_of
from tests.logs.test_implied import facts_of

_BANNER = """Ultralytics YOLOv8.1.3 🚀 Python-3.10.11 torch-2.1.0+cpu

Video card: 3060ti
"""
_PLAN = """  environment location: D:\\anaconda3
    package                    |            build
    ---------------------------|-----------------
    cudatoolkit-10.2.89        |       h74a9793_1       317.2 MB  defaults
    pytorch-1.12.1             |      py3.8_cpu_0       133.8 MB  pytorch
"""
_NEW = """The following NEW packages will be INSTALLED:
  cudatoolkit    pkgs/main/win-64::cudatoolkit-11.3.1-h59b6b97_2
  pytorch        conda-forge/win-64::pytorch-1.11.0-cpu_py39h4bbd3b7_1
"""
_NVCC = """Cuda compilation tools, release 12.2, V12.2.140
No CUDA runtime is found, using CUDA_HOME='C:\\Users\\ada\\anaconda3'
"""
_IMAGE = """Python: 3.12.12
CUDA available: True
GPU 0: NVIDIA GB300
PyTorch: 2.9.1+cu130
sglang: 0.5.5.post3
"""


@pytest.mark.parametrize(
    ("text", "name", "value"),
    [
        (_BANNER, "torch.build", "cpu"),
        (_BANNER, "nvidia.gpu_names", ["NVIDIA GeForce RTX 3060 Ti"]),
        (_PLAN, "torch.build", "cpu"),
        (_PLAN, "package.cudatoolkit.version", "10.2.89"),
        (_PLAN.replace("py3.8_cpu_0", "py3.8_cuda11.3_cudnn8_0"), "torch.build", "cuda"),
        (_NEW, "torch.build", "cpu"),
        (_NEW, "host.os", "windows"),
        (_NVCC, "torch.no_runtime_in_report", True),
        (_IMAGE, "requires.sglang.torch.met", None),
        (_IMAGE.replace("2.9.1+cu130", "2.9.1+cu128"), "requires.sglang.torch.met", False),
    ],
)
def test_a_text_implies_a_fact(text: str, name: str, value: object) -> None:
    assert value_of(facts_of(text), name) == value
