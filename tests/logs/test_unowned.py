"""What doctor finds in texts that name a torch, a CUDA or a card without saying more of it."""

from __future__ import annotations

import io
from pathlib import Path

from packaging.version import Version

from doctor.catalog import loading
from doctor.facts.derive.cells import accepts
from doctor.facts.derive.facts import derive
from doctor.logs import reading
from doctor.logs.described import described_facts
from doctor.model.facts import value_of
from doctor.model.observation import Log, Observation, Target, TargetKind
from doctor.model.scales import Severity
from doctor.pipeline.assess import assess
from tests.each import each

_FREEZE = "$ pip freeze\nnumpy==1.23.5\ntorch==1.9.1\ntorchvision==0.10.1\n"
_CARD = "OS: Ubuntu 22.04\nGPU: NVIDIA GeForce RTX 4090\n"
_OLD_DRIVER = """I have driver version 410.48 installed
 - PyTorch Version (e.g., 1.0): 1.3
 - OS (e.g., Linux): Linux  Ubuntu16.04
 - How you installed PyTorch (`conda`, `pip`, source): pip install
 - CUDA/cuDNN version: cuda 10 /  cudnn 7.6.0
"""
_TF = """- OS Platform and Distribution (e.g., Linux Ubuntu 16.04): Ubuntu 18.04.4 LTS
- TensorFlow version: tensorflow-gpu==1.15
- CUDA/cuDNN version: CUDA Version: 10.1
"""
_ORT = """### OS Version

ubuntu 22.04

### ONNX Runtime Version or Commit ID

onnxruntime-gpu 1.16.2

### Execution Provider Library Version

CUDA12.1
"""
_CUDNN = """Package           Version
----------------- --------
nvidia-cudnn-cu12 8.9.2.26
onnxruntime-gpu   1.19.2
torch             2.1.2
"""
_CHECKS = """YOLOv5 🚀 Python-3.11.6 torch-2.1.1+cu121 CUDA:0 (NVIDIA GeForce GTX 1650)
OS                  Windows-10-10.0.18363-SP0
torch               ✅ 2.1.1+cu121>=1.8.0
torchvision         ✅ 0.16.1>=0.9.0
"""
_COMMAND = (
    "How you installed PyTorch: conda install pytorch pytorch-cuda=11.8 -c pytorch -c nvidia\n"
)
_REPR = (
    _COMMAND
    + "OrderedDict([('sys.platform', 'linux'), ('Python', '3.9.17'), ('CUDA available', False), "
    "('PyTorch', '2.0.1'), ('PyTorch compiling details', '- Build settings: USE_CUDA=0, \\n')])\n"
)
_AMD = "GPU：AMD 7900XTX\nOS：Ubuntu 22.04\nPytorch: 2.0.0\ninstall by: pip install\n"
_FILE = """dependencies:
  - python=3.9.16
  - numpy=1.23.5
  - pytorch=2.0.0=cpu_generic_py39hd5f3d6b_0
  - pip:
      - torch==1.12.1+cu116
      - torchmetrics==0.11.0
"""
_COLON = """sys.platform            linux
PyTorch                 1.6.0 @/srv/env/lib/python3.7/site-packages/torch
CUDA available          True
CUDA_HOME               :/usr/local/cuda
"""
_TEXTS = {
    "PyPI's torch is older than the card": (_CARD + _FREEZE, "torch/gpu-newer-than-its-cuda"),
    "no build of the release": (
        "OS: Windows 11\nGPU: NVIDIA GeForce RTX 5090\nPyTorch: 2.5.1\n",
        "torch/gpu-newer-than-its-cuda",
    ),
    "an index may have the build": (_CARD + "PyTorch: 1.9.1\nPython: 3.8.10\n", ""),
    "conda may have the build": (_CARD + "conda install pytorch\n" + _FREEZE, ""),
    "the newest build knows the card": (_CARD + "PyTorch: 2.1.0\n" + "Python: 3.10.2\n", ""),
    "a driver before PyPI's CUDA": (_OLD_DRIVER, "torch/driver-too-old"),
    "a driver that runs it": (_OLD_DRIVER.replace("410.48", "450.80"), ""),
    "TensorFlow beside another CUDA": (_TF, "compat/tensorflow/named-cuda"),
    "TensorFlow beside its CUDA": (_TF.replace("10.1", "10.0"), ""),
    "ONNX Runtime beside another CUDA": (_ORT, "compat/onnxruntime-gpu/named-cuda"),
    "ONNX Runtime beside its CUDA": (_ORT.replace("12.1", "11.8"), ""),
    "ONNX Runtime beside an older cuDNN": (_CUDNN, "compat/onnxruntime-gpu/named-cudnn"),
    "torchvision of PyPI on Windows": (_CHECKS, "torchvision/cpu-build-beside-cuda-torch"),
    "torchvision of PyPI on Linux": (_CHECKS.replace("Windows-10-10.0.18363-SP0", "Linux-6"), ""),
    "a build for the processor": (_REPR, "torch/cpu-build-beside-nvidia-driver"),
    "PyPI's torch beside a card of AMD": (_AMD, "rocm/cuda-build-beside-amd-gpu"),
    "a build for ROCm beside it": (_AMD.replace("2.0.0", "2.0.0+rocm5.4.2"), ""),
    "CUDA_HOME with a colon": (_COLON, "flashinfer/cuda-home-with-colon"),
    "CUDA_HOME without": (_COLON.replace(":/usr", "/usr"), ""),
    "a file that names torch twice": (_FILE, "torch/asked-of-conda-and-pip"),
    "a file that names it alike": (_FILE.replace("1.12.1+cu116", "2.0.0"), ""),
    "METADATA with a local part": ("torch\t\t1.10.0\ntorchvision\t0.11.0\ncuda\t11.3\n", ""),
}


def _log(text: str) -> Log:
    return reading.read(io.BytesIO(text.encode()), "text", ())


def test_what_is_found_in_a_text() -> None:
    known = loading.load()

    def look(case: tuple[str, str]) -> None:
        text, wanted = case
        log = _log(text)
        target = Target(
            name="interpreter", kind=TargetKind.INTERPRETER, path=str(Path("text")), chosen_by=""
        )
        facts = described_facts(log)
        assert facts, "no environment"
        seen = Observation(doctor_version="", targets=(target,), facts=facts, logs=(log,))
        found = assess(seen, known, command="check").findings
        heavy = [one.id for one in found if wanted or one.severity is not Severity.NOTE]
        assert heavy[:1] == ([wanted] if wanted else []), heavy

    each(_TEXTS.items(), look)


def test_a_cuda_without_an_owner_is_that_of_torch_where_it_is_the_newest() -> None:
    rows = "GPU: RTX3090\npython 3.6\ncuda 10.2\npytorch 1.6.0\n"
    known = loading.load()

    def look(case: tuple[str, str | None]) -> None:
        text, cuda = case
        facts = derive(described_facts(_log(text)), known)
        assert value_of(facts, "torch.cuda_version") == cuda

    each(
        {
            "the newest": (rows, "10.2"),
            "an older one may be the toolkit's": (rows.replace("1.6.0", "1.8.0"), None),
            "no GPU": (rows.replace("GPU: RTX3090\n", ""), None),
        }.items(),
        look,
    )


def test_the_builds_of_pypi_are_those_of_the_table_of_torch() -> None:
    tables = loading.load().tables
    for row in tables["torch"].rows:
        release = str(row["torch"])
        (builds,) = (one for one in tables["torch-cuda"].rows if accepts(one["torch"], release))
        others = [
            str(cuda)
            for one in tables["torch-archs"].rows
            if accepts(one["torch"], release)
            for cuda in (one["cuda"] if isinstance(one["cuda"], list | tuple) else [one["cuda"]])
        ]
        assert builds["pypi"] == row["cuda"], release
        newest = max([*others, str(row["cuda"])], key=Version)
        assert builds["newest"] == newest, release
