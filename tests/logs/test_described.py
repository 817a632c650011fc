"""Texts that describe an environment in any form, and texts that are none."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from doctor.logs import reading
from doctor.logs.described import described_facts
from doctor.model.facts import Fact, value_of
from tests.command import doctor

MMDET = """
2020-11-05 00:57:30,306 - mmdet - INFO - Environment info:
sys.platform: linux
Python: 3.8.8 (default, Feb 24 2021, 21:46:12) [GCC 7.3.0]
CUDA available: True
GPU 0: GeForce RTX 3090
CUDA_HOME: /usr/local/cuda
NVCC: Build cuda_11.1.TC455_06.29069683_0
PyTorch: 1.7.1
PyTorch compiling details: PyTorch built with:
  - CUDA Runtime 11.0
"""
LOGGED = """
INFO:root:sys.platform: linux
INFO:root:CUDA available: True
INFO:root:GPU 0,1: Tesla P40
INFO:root:NVCC: Cuda compilation tools, release 10.0, V10.0.130
INFO:root:PyTorch: 1.9.0+cu111
"""
DETECTRON = """
sys.platform            linux
Python                  3.8.5 (default, Jan 27 2021, 15:41:15) [GCC 9.3.0]
CUDA compiler           CUDA 10.1
PyTorch                 1.8.1+cu111 @/home/user/venv/lib/python3.8/site-packages/torch
GPU available           True
GPU 0                   GeForce GTX 1650 Ti with Max-Q Design (arch=7.5)
CUDA_HOME               /usr
"""
SGLANG = """
Python: 3.11.11 (main, Dec 11 2024, 16:28:39) [GCC 11.2.0]
CUDA available: True
GPU 0: NVIDIA A100-SXM4-80GB
GPU 0 Compute Capability: 8.0
NVCC: Cuda compilation tools, release 11.7, V11.7.64
CUDA Driver Version: 535.54.03
PyTorch: 2.5.1+cu124
sglang: 0.4.5
flashinfer: Module Not Found
huggingface_hub: 0.30.2
"""
XFORMERS = """
xFormers 0.0.22.post7+cu118
memory_efficient_attention.cutlassF:               unavailable
pytorch.version:                                   2.0.1+cu118
pytorch.cuda:                                      available
gpu.name:                                          Tesla P100-PCIE-16GB
"""
FORM = """
### TensorFlow version

tf 2.13.0

### OS platform and distribution

Windows 10

### Python version

3.11.4

### GPU model and memory

RTX 3500 Ada generation mobile 12GB
"""
YOLO = (
    "Ultralytics YOLOv8.0.221 🚀 Python-3.11.6 torch-2.1.1+cu121 CUDA:0 (NVIDIA GeForce GTX 1650 "
    "SUPER, 4096MiB)\nOS                  Windows-10-10.0.18363-SP0\n"
)
CHINESE = (
    "torch方法查看CUDA版本： 9.2.148\n查看torch版本： 0.4.1\nGPU名称： NVIDIA GeForce RTX 3090\n"
)
COMFY = """
- **OS:** posix
- **Python Version:** 3.12.9 | packaged by conda-forge | (main, Mar  4 2025, 22:48:41)
- **PyTorch Version:** 2.6.0+cu126
- **Name:** cuda:0 NVIDIA GeForce RTX 4090 : cudaMallocAsync
"""
NVCC = """
nvcc: NVIDIA (R) Cuda compiler driver
Cuda compilation tools, release 12.1, V12.1.66
torch 2.1.0+cu118
"""
OLD = """
PyTorch version: 1.3.1
Is debug build: No
CUDA used to build PyTorch: 10.1.243

OS: Ubuntu 16.04.4 LTS
Is CUDA available: No
GPU models and configuration: GPU 0: TITAN Xp
Nvidia driver version: 410.48
"""
ORT = "$ pip freeze | grep onnxruntime\nonnxruntime==1.22.0\nonnxruntime-gpu==1.22.0\n"
JETSON = "- Device: Jetson TX2\n- JetPack: 4.6 [L4T 32.6.1]\n- Image: ros:foxy-l4t-r35.4.1\n"


@pytest.mark.parametrize(
    ("text", "name", "value"),
    [
        (MMDET, "cuda.version", "11.1"),
        (MMDET, "torch.cuda_version", "11.0"),
        (LOGGED, "cuda.selected", True),
        (LOGGED, "nvidia.gpu_count", 2),
        (DETECTRON, "cuda.version", "10.1"),
        (SGLANG, "cuda.version", "11.7"),
        (SGLANG, "nvidia.driver_version", "535.54.03"),
        (SGLANG, "package.huggingface-hub.version", "0.30.2"),
        (XFORMERS, "package.xformers.version", "0.0.22.post7+cu118"),
        (XFORMERS, "torch.cuda_version", "11.8"),
        (XFORMERS, "torch.version", "2.0.1+cu118"),
        (FORM, "package.tensorflow.version", "2.13.0"),
        (FORM, "host.os", "windows"),
        (FORM, "python.version", "3.11.4"),
        (YOLO, "torch.version", "2.1.1+cu121"),
        (YOLO, "nvidia.gpu_names", ["NVIDIA GeForce GTX 1650 SUPER"]),
        (CHINESE, "torch.version", "0.4.1"),
        (CHINESE, "torch.cuda_version", "9.2"),
        (COMFY, "torch.version", "2.6.0+cu126"),
        (COMFY, "nvidia.gpu_names", ["NVIDIA GeForce RTX 4090"]),
        (NVCC, "cuda.selected", True),
        (OLD, "torch.cuda_version", "10.1"),
        (OLD, "host.jetson", None),
        (ORT, "package.onnxruntime.version", "1.22.0"),
        (JETSON, "host.jetson", "Jetson TX2"),
    ],
)
def test_what_a_text_says(text: str, name: str, value: object) -> None:
    found = value_of(_facts(text), name)
    assert (list(found) if isinstance(found, tuple) else found) == value


@pytest.mark.parametrize(
    "text",
    [
        "text",
        "RuntimeError: operator torchvision::nms does not exist\ntorch 2.5.1\nPython 3.10.4\n",
        "Epoch 1: loss 2.5.1\nEpoch 2: loss 0.1\n",
        "OS: Linux\nPython version: 3.10.4\n",
        "GPU: yes\ndriver: 3\n",
        "torch 2.5.1\nnumpy 1.26.4\n" + "step\n" * 500,
    ],
)
def test_what_is_no_environment(text: str) -> None:
    assert not _facts(text)


def test_a_form_of_an_issue_is_judged(tmp_path: Path) -> None:
    """TensorFlow above 2.10 on native Windows beside a GPU."""
    (tmp_path / "form.txt").write_text(FORM, encoding="utf-8")
    said = doctor("check", "--from", "form.txt", cwd=tmp_path)
    assert said.code == 0
    assert "computes on the processor only on native Windows" in said.out
    assert "a pasted environment" in said.out


def _facts(text: str) -> dict[str, Fact]:
    return described_facts(reading.read(io.BytesIO(text.encode()), "pasted.txt", ()))
