"""Lists of packages, nvidia-smi and ds_report, as people paste them."""

from __future__ import annotations

import pytest

from doctor.logs.environment import environment_facts
from doctor.model.facts import value_of

PIP = """
Package                  Version
------------------------ ---------
numpy                    2.2.1
torch                    2.6.0+cu124
torchvision              0.20.1
vllm                     0.8.5
"""
CONDA = """
# packages in environment at /opt/conda:
#
# Name                    Version                   Build  Channel
numpy                     1.26.4          py310h5f9d8c6_0
python                    3.10.13              h955ad1f_0
pytorch                   2.1.0           py3.10_cuda11.8_cudnn8.7.0_0    pytorch
torchvision               0.15.2               py310_cu118    pytorch
"""
FROZEN = "numpy==1.26.4\ntorch==2.1.0+cu118\ntorchvision==0.15.2\n"
SMI = """
+-----------------------------------------------------------------------------+
| NVIDIA-SMI 470.57.02    Driver Version: 470.57.02    CUDA Version: 11.4     |
|-------------------------------+----------------------+----------------------+
|   0  Tesla K80           Off  | 00000000:00:1E.0 Off |                    0 |
+-------------------------------+----------------------+----------------------+
"""
DEEPSPEED = """
DeepSpeed general environment info:
torch version .................... 2.1.0+cu118
deepspeed info ................... 0.12.3, unknown, unknown
torch cuda version ............... 11.8
nvcc version ..................... 12.2
"""
SHORT = """
- `Accelerate` version: 0.31.0
- Platform: Linux-5.15.0-105-generic-x86_64-with-glibc2.35
- Python version: 3.10.12
- PyTorch version (GPU?): 2.7.0+cpu (False)
- GPU type: NVIDIA GeForce RTX 4090
"""


@pytest.mark.parametrize(
    ("text", "name", "value"),
    [
        (PIP, "torch.version", "2.6.0+cu124"),
        (PIP, "torch.cuda_version", "12.4"),
        (PIP, "package.torchvision.version", "0.20.1"),
        (CONDA, "torch.version", "2.1.0"),
        (CONDA, "torch.cuda_version", "11.8"),
        (CONDA, "python.version", "3.10.13"),
        (FROZEN, "torch.cuda_version", "11.8"),
        (FROZEN + "pip install of a program\nfailed\n", "torch.version", None),
        (SMI, "nvidia.driver_version", "470.57.02"),
        (SMI, "nvidia.gpu_names", ["Tesla K80"]),
        (DEEPSPEED, "torch.cuda_version", "11.8"),
        (DEEPSPEED, "cuda.nvcc_version", "12.2"),
        (DEEPSPEED, "package.deepspeed.version", "0.12.3"),
        (SHORT, "torch.build", "cpu"),
    ],
)
def test_what_a_list_says(text: str, name: str, value: object) -> None:
    found = value_of(environment_facts(text.split("\n")), name)
    assert (list(found) if isinstance(found, tuple) else found) == value
