"""The environment reports of detectron2, MMCV and Lightning."""

from __future__ import annotations

import pytest

from doctor.logs.environment import environment_facts
from doctor.model.facts import value_of

TABLE = """
----------------------  -------------------------------------------------
sys.platform            linux
Python                  3.9.18 (main, Sep 11 2023, 13:41:44) [GCC 11.2.0]
numpy                   1.24.4
detectron2              0.6 @/home/ada/detectron2/detectron2
CUDA compiler           Cuda compilation tools, release 11.3, V11.3.109
PyTorch                 1.12.1+cu116 @/opt/env/lib/python3.9/site-packages/torch
GPU available           Yes
GPU 0,1                 Tesla V100-SXM2-16GB (arch=7.0)
Driver version          510.47.03
torchvision             0.13.1+cu116 @/opt/env/lib/python3.9/site-packages/torchvision
----------------------  -------------------------------------------------
"""
COLONS = """
sys.platform: linux
Python: 3.8.5 (default, Sep  4 2020, 07:30:14) [GCC 7.3.0]
CUDA available: True
GPU 0: NVIDIA A30
CUDA_HOME: /usr/local/cuda
NVCC: Cuda compilation tools, release 11.1, V11.1.105
GCC: gcc (Ubuntu 9.3.0-17ubuntu1~20.04) 9.3.0
PyTorch: 1.13.1
PyTorch compiling details: PyTorch built with:
  - GCC 9.3
  - CUDA Runtime 11.7
TorchVision: 0.14.1
MMCV: 2.0.1
"""
LISTS = """
* CUDA:
\t- GPU:
\t\t- NVIDIA A40
\t\t- NVIDIA A40
\t- available:         True
\t- version:           11.8
* Lightning:
\t- lightning:         2.2.1
\t- torch:             2.2.1
* Packages:
\t- numpy:             1.26.4
* System:
\t- OS:                Linux
\t- architecture:
\t\t- 64bit
\t- python:            3.11.8
"""


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        pytest.param(
            TABLE,
            {
                "torch.version": "1.12.1+cu116",
                "torch.cuda_version": "11.6",
                "torch.cuda_available": True,
                "cuda.version": "11.3",
                "python.version": "3.9.18",
                "nvidia.driver_version": "510.47.03",
                "nvidia.gpu_names": ["Tesla V100-SXM2-16GB"] * 2,
                "package.torchvision.version": "0.13.1+cu116",
                "host.os": "linux",
            },
            id="detectron2",
        ),
        pytest.param(
            COLONS,
            {
                "torch.version": "1.13.1",
                "torch.cuda_version": "11.7",
                "cuda.version": "11.1",
                "compiler.cxx_version": "9.3.0",
                "nvidia.gpu_names": ["NVIDIA A30"],
                "package.mmcv.version": "2.0.1",
            },
            id="mmcv",
        ),
        pytest.param(
            LISTS,
            {
                "torch.version": "2.2.1",
                "torch.cuda_version": "11.8",
                "torch.cuda_available": True,
                "nvidia.gpu_names": ["NVIDIA A40", "NVIDIA A40"],
                "package.lightning.version": "2.2.1",
                "package.numpy.version": "1.26.4",
                "python.version": "3.11.8",
                "host.os": "linux",
            },
            id="lightning",
        ),
    ],
)
def test_a_report_of_another_project(text: str, wanted: dict[str, object]) -> None:
    facts = environment_facts(text.split("\n"))
    assert {name: value_of(facts, name) for name in wanted} == wanted


@pytest.mark.parametrize(
    "text",
    ["sys.platform: linux\nPython: 3.8.5", "* CUDA:\n\t- version: 11.8", "PyTorch: 2.0 is here"],
)
def test_parts_of_a_report_are_none(text: str) -> None:
    assert not environment_facts(text.split("\n"))
