"""Failures of installations and builds: the facts of a log decide which cure comes first."""

from __future__ import annotations

import io
from typing import NamedTuple

from doctor.model.findings import Finding
from doctor.pipeline.assess import assess
from doctor.pipeline.logs import observation_from_logs, read_log
from tests.analyzers.explained import catalog
from tests.each import each


class Row(NamedTuple):
    """A text, the id of its first finding, and a part of what the first fix says or runs."""

    text: str
    id: str
    first: str
    never: str = ""


ARM = "ResolvePackageNotFound: \n  - cudatoolkit=11.3\n  - pytorch=1.11.0\n  - python=3.8.5\n"
NO_NVCC = (
    "(venv) ada@DESKTOP-ABCDEF1:~/work$ pip install flash-attn\n"
    "RuntimeError: flash_attn was requested, but nvcc was not found.  Are you sure your "
    "environment has nvcc available?  If you're installing within a container from "
    "https://hub.docker.com/r/pytorch/pytorch, only images whose names contain 'devel' will "
    "provide nvcc.\n\n  torch.__version__  = 2.0.1+cu117\n"
)
UV = (
    '[project]\ndependencies = ["torch==2.4.0+cu124"]\n[tool.uv.pip]\nextra-index-url = [\n'
    '"https://download.pytorch.org/whl/cu124",\n]\n\n$ uv sync\n'
    "  x No solution found when resolving dependencies:\n"
    "  ╰─▶ Because there is no version of torch==2.4.0+cu124 and your project depends on "
    "torch==2.4.0+cu124, we can conclude that your project's requirements are unsatisfiable.\n"
)
ROWS = {
    "an image of Debian without non-free": Row(
        "Hit:1 http://deb.debian.org/debian bookworm InRelease\n"
        "E: Package 'nvidia-cuda-toolkit' has no installation candidate",
        "failure/package-not-in-apt",
        "contrib non-free",
    ),
    "a package of NVIDIA's source": Row(
        "E: Unable to locate package cuda-toolkit-12-4", "failure/package-not-in-apt", "NVIDIA's"
    ),
    "a package that was renamed": Row(
        "E: Package 'libgl1-mesa-glx' has no installation candidate",
        "failure/package-not-in-apt",
        "Install libgl1",
    ),
    "a Python that the distribution lacks": Row(
        "E: Unable to locate package python3.12-venv", "failure/package-not-in-apt", "by uv"
    ),
    "a step of an image, quoted with blanks": Row(
        '    #0 0.895   File "./X.py", line 15\n    #0 0.895 RuntimeError: Found no NVIDIA driver '
        "on your system. Please check that you have an NVIDIA GPU",
        "failure/no-gpu-while-building",
        "start of the container",
    ),
    "a Jetson, and PyPI": Row(
        "Linux gubert 4.9.140-tegra aarch64 GNU/Linux\nPython version: 3.6.9\n"
        "ERROR: Could not find a version that satisfies the requirement onnxruntime-gpu\n"
        "ERROR: No matching distribution found for onnxruntime-gpu",
        "failure/no-wheel-for-jetson",
        "JetPack 4",
        never="install --upgrade onnxruntime-gpu",
    ),
    "an option that a project's CMakeLists.txt names": Row(
        "CMake Error at CMakeLists.txt:51 (message):\n  Please pass hipcc/build or hipcc/bin using "
        "-DHIPCC_BIN_DIR.\n\n-- Configuring incomplete, errors occurred!",
        "failure/own-advice",
        "-DHIPCC_BIN_DIR",
    ),
    "what a project's CMakeLists.txt says": Row(
        "CMake Error at cmake/Deps.cmake:12 (message):\n  GroundingKit only builds together with "
        "the sources of its sister project.\n\n-- Configuring incomplete, errors occurred!",
        "failure/message-says",
        "sister project",
    ),
    "a list of conda for x86-64, on ARM": Row(
        f"OS: Ubuntu 22.04.1 LTS aarch64\n{ARM}", "failure/package-not-in-channels", "python=3.8.5"
    ),
    "a list of conda, of another channel": Row(
        "ResolvePackageNotFound: \n  - cudatoolkit=11.1\n  - dgl-cuda11.1\n",
        "failure/package-not-in-channels",
        "conda-forge, dglteam",
    ),
    "an index for uv pip alone": Row(
        UV, "failure/index-for-uv-pip-alone", "[[tool.uv.index]]", never="uv venv"
    ),
    "cuDNN 7, which no package brings": Row(
        "ImportError: /env/jaxlib/xla_extension.so: symbol cudnnSetCTCLossDescriptorEx version "
        "libcudnn.so.7 not defined in file libcudnn.so.7 with link time reference",
        "failure/cuda-libraries-mixed",
        "7.6.5",
        never="LD_LIBRARY_PATH=''",
    ),
    "bitsandbytes by somebody else": Row(
        "Windows 10\nSuccessfully installed bitsandbytes-windows-0.37.5\nCould not find module "
        r"'E:\envs\llm\lib\site-packages\bitsandbytes\cuda_setup\libbitsandbytes_cuda116.dll' (or "
        "one of its dependencies).",
        "bitsandbytes/cuda-setup-failed",
        "bitsandbytes>=0.43",
    ),
    "a gcc for an early CUDA": Row(
        "/usr/local/cuda-9.1/include/crt/host_config.h:121:2: error: #error -- unsupported GNU "
        "version! gcc versions later than 6 are not supported!\nmake: *** [x.so] Error 1",
        "cuda/host-compiler-too-new",
        "gcc-6:",
    ),
    "torchvision beside NVIDIA's own torch": Row(
        "RuntimeError: Couldn't load custom C++ ops. Your PyTorch version is "
        "2.1.0a0+41361538.nv23.06 and your torchvision version is 0.16.1.",
        "torchvision/other-torch",
        "pytorch/vision@v",
        never="--upgrade torch",
    ),
    "mmcv's operators on Windows": Row(
        "mmcv 2.1.0\nImportError: DLL load failed while importing _ext: 找不到指定的模块。",
        "mmcv/operators-missing",
        "openmim",
    ),
    "a DLL of torch that Intel's extension has no part in": Row(
        "OSError: [WinError 126] The specified module could not be found. Error loading "
        r'"C:\envs\x\lib\site-packages\torch\lib\backend_with_compiler.dll" or one of its '
        "dependencies.",
        "torch/windows-dll-missing",
        "VCRedist",
        never="xpu",
    ),
    "ROCm in its own folder": Row(
        "Check for working CXX compiler: /opt/rocm/hip/bin/hipcc - broken\nclang-13: error: cannot "
        "find ROCm device library. Provide its path via --rocm-path",
        "rocm/device-library-missing",
        "ROCM_PATH",
    ),
    "releases that all ask for one torch": Row(
        "ERROR: Cannot install one==0.0.1 and one==0.0.2 because these package versions have "
        "conflicting dependencies.\n\nThe conflict is caused by:\n    one 0.0.2 depends on "
        "torch==1.7.1\n    one 0.0.1 depends on torch==1.7.1\n",
        "failure/requirement-not-offered",
        "Python 3.",
    ),
    "releases that all ask for what Alpine lacks": Row(
        "Alpine Linux 3.20\nERROR: Cannot install torch because these package versions have "
        "conflicting dependencies.\n\nThe conflict is caused by:\n    jinja2 3.1.3 depends on "
        "MarkupSafe>=2.0\n    jinja2 3.1.2 depends on MarkupSafe>=2.0\n",
        "failure/requirement-not-offered",
        "slim",
    ),
    "a version whose line a console broke": Row(
        "/home/R/torch/lib/liblantern.so - /lib64/libstdc++.so.6: version `GLIBCXX_3.4.20' \n"
        "not found (required by /home/R/torch/lib/liblantern.so)",
        "failure/cxx-library-too-old",
        "",
    ),
    "an option of CMake that another one requires": Row(
        "CMake Error at ggml/src/CMakeLists.txt:291 (message):\n  GGML_CPU_ALL_VARIANTS requires "
        "GGML_BACKEND_DL\n\n-- Configuring incomplete, errors occurred!",
        "failure/own-advice",
        "-DGGML_BACKEND_DL=ON",
    ),
    "headers that torch 0.4 lacks, in other words": Row(
        "gcc -I/envs/SSD/lib/python3.6/site-packages/torch/lib/include -c vision.cpp\n"
        "/ext/cpu/vision.h:3:10: fatal error: torch/extension.h: File or directory does not exist",
        "cuda/torch-headers-not-found",
        "torch>=1.0",
    ),
    "a target of OpenCV that is no library": Row(
        "/usr/bin/ld: cannot find -lopencv_dep_cudart\ncollect2: error: ld returned 1 exit status",
        "failure/library-not-linked",
        "CUDA_USE_STATIC_CUDA_RUNTIME=OFF",
    ),
    "protobuf in TensorFlow's import": Row(
        r'  File "C:\Python36\lib\site-packages\tensorflow\python\pywrap_tensorflow.py", line 52'
        "\n    from google.protobuf.pyext import _message\nImportError: DLL load failed: The "
        "specified procedure could not be found.",
        "failure/dll-function-missing",
        "protobuf==3.6.0",
    ),
    "the graphics of a Ryzen": Row(
        "Ryzen 7 4800U, rocm/pytorch:rocm4.0_ubuntu18.04\nhip_code_object.cpp:120: "
        'guarantee(false && "hipErrorNoBinaryForGpu: Coudn\'t find binary for current devices!")',
        "torch/rocm-no-code-for-gpu",
        "9.0.0",
    ),
    "a chip that no wheel serves": Row(
        "hipErrorNoBinaryForGpu: Coudn't find binary for current devices!\nRX470 (gfx803)",
        "torch/rocm-no-code-for-gpu",
        "PYTORCH_ROCM_ARCH",
        never="unset",
    ),
    "an index without the old torch, on Linux": Row(
        "  Using cached ninja-1.11.1.1-py2.py3-none-manylinux1_x86_64.whl\nERROR: Could not find a "
        "version that satisfies the requirement torch==2.1.2 (from versions: 2.2.0, 2.2.1, 2.2.2)",
        "failure/release-not-offered",
        "Python 3.11",
        never="Intel",
    ),
    "a Python that had this torch on Linux alone": Row(
        "ERROR: Could not find a version that satisfies the requirement torch==1.13.1 (from "
        "versions: 2.0.0, 2.0.1)",
        "failure/release-not-offered",
        "Python 3.10",
        never="Python 3.11",
    ),
    "a release that never was, between two others": Row(
        "ERROR: Could not find a version that satisfies the requirement torchtext==0.6.9 (from "
        "versions: 0.5.0, 0.6.0, 0.15.1, 0.15.2)",
        "failure/release-not-offered",
        "torchtext==0.6.0",
    ),
    "an old release where betas came before the first one": Row(
        "ERROR: Could not find a version that satisfies the requirement tensorrt==7.0 (from "
        "versions: 10.0.0b6, 10.0.1, 10.1.0)",
        "failure/release-not-offered",
        "tensorrt==10.0.1",
        never="10.0.0b6",
    ),
    "what uv lacks uv installs": Row(
        "Using Python 3.11.7 environment at: venv\nerror: No solution found when resolving "
        "dependencies\n  cause: Because numba==0.60.0 depends on numpy>=1.22,<2.1 and you require "
        "numpy==2.2, we can conclude that your requirements are unsatisfiable.",
        "failure/resolver-conflict",
        "argv=('uv', 'pip', 'install', 'numpy",
        never="python3",
    ),
    "a library for a later macOS": Row(
        "ImportError: dlopen(/Users/ada/x/torch/_C.cpython-39-darwin.so, 2): Library not loaded: "
        "@loader_path/../.dylibs/libomp.dylib\n  Reason: no suitable image found.  Did find:\n"
        "    /Users/ada/x/libomp.dylib: cannot load 'libomp.dylib' (load command 0x80000034 is "
        "unknown)",
        "failure/macos-too-old",
        "older release",
        never="brew",
    ),
    "NCCL on an Italian Windows": Row(
        "C:\\work> cargo build --features cuda\n  = note: LINK : fatal error LNK1181: non è "
        "possibile aprire il file di input 'nccl.lib'",
        "failure/library-of-unix",
        "newest state",
    ),
    "no compiler, and no container": Row(
        NO_NVCC, "flash-attn/nvcc-missing", "/usr/local/cuda", never="runtime"
    ),
}


def _first(text: str) -> Finding:
    log = read_log("log", io.BytesIO(text.encode()), catalog())
    return assess(observation_from_logs((log,)), catalog(), command="diagnose").findings[0]


def _shows(row: Row) -> None:
    found = _first(row.text)
    assert found.id == row.id
    shown = [_said(one) for one in found.fixes[:2]]
    assert row.first in shown[0], shown[0]
    assert not row.never or not any(row.never in one for one in shown), shown


def _said(fix: object) -> str:
    return str(fix)


def test_the_first_cure_fits_what_the_log_shows() -> None:
    each(ROWS.items(), _shows)
