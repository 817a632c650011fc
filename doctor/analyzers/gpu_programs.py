"""Explain what CuPy, Numba, faiss, TensorFlow and TensorRT miss on the machine.

| event | what is read |
| --- | --- |
| a toolkit, a compiler or a device that a program does not find | the program |
| a package for the CPU where one for the GPU is needed | the name that it lacks |
| a package older or newer than its partner | the names |
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from doctor.analyzers.case import Case, Explanation, Precision
from doctor.analyzers.recipes import LINUX, UNIX, WINDOWS, code, command, newest
from doctor.analyzers.texts import Text, explained
from doctor.analyzers.trt_operators import UNKNOWN_OPERATOR, is_of_parser
from doctor.model.issues import Action, Condition, Option, Recipe
from doctor.model.scales import Severity


def explain(case: Case) -> Iterator[Explanation]:
    """Yield what a program for GPUs misses."""
    table = dict(_TABLE)
    if any(_REASON.search(line) for line in case.log.lines):
        del table["engine-is-none"]  # the line of TensorRT above it says why
    if is_of_parser(case):
        table["trt-plugin-missing"] = UNKNOWN_OPERATOR
    yield from explained(case, table)


_REASON = re.compile(
    r"could not find (?:plugin|creator)|[Pp]lugin not found|please rebuild|Version tag does not"
)


_CONDA = Condition(fact="python.conda", present=True)
_FREE = command("See what holds the memory of the GPU", "nvidia-smi", look=True)
_TABLE: dict[str, Text] = {
    "cuda-path-unknown": Text(
        "CuPy does not find a CUDA toolkit, which it needs to compile its kernels",
        "CuPy's wheels bring no headers and no NVRTC. They come from the toolkit of the system, "
        "named by CUDA_PATH, or since CuPy 13 from packages of NVIDIA.",
        (
            Recipe(
                title="Install CuPy with the toolkit that it needs, from PyPI",
                use_if=("CuPy is 14 or newer; the driver is for CUDA 12",),
                steps=(Action(install=("cupy-cuda12x[ctk]",), options=(Option.UPGRADE,)),),
            ),
            Recipe(
                title="Name the toolkit that is installed",
                use_if=(UNIX, "the folder holds bin/nvcc"),
                steps=(Action(env={"CUDA_PATH": "/usr/local/cuda"}),),
            ),
        ),
    ),
    "cuda-python-moved": Text(
        "The installed cuda-python does not have cuda.{name} in the form that is asked for",
        "Release 13 of cuda-python removed the modules cuda, cudart and nvrtc; they are now "
        "driver, runtime and nvrtc in cuda.bindings. A package that was compiled against one "
        "release can fail with another one (wrong signature).",
        (
            Recipe(
                title="Take the cuda-python that still has the old names",
                steps=(Action(install=("cuda-python<13",), options=(Option.HOLD_TORCH,)),),
                note="Where RAPIDS asks for it, take the release that its metadata name.",
            ),
            code(
                "Import from the new place",
                "the program",
                "from cuda.bindings import runtime as cudart",
                before="from cuda import cudart",
                use_if=("it is your own program",),
            ),
        ),
        severity=Severity.ERROR,
        precision=Precision.EXACT,
    ),
    "rmm-memory": Text(
        "The GPU has no memory left for RAPIDS",
        "cuDF and cuML ask RMM for memory of the GPU, and there was none.",
        (
            _FREE,
            code(
                "Let RMM use the memory of the machine as well",
                "the start of the program, before data are loaded",
                "import rmm\nrmm.reinitialize(managed_memory=True)",
                note="Slower, but more fits. WSL and virtual GPUs may not have it. Dask: "
                "LocalCUDACluster(rmm_managed_memory=True, device_memory_limit=0.6).",
            ),
        ),
        severity=Severity.ERROR,
        precision=Precision.EXACT,
    ),
    "numba-older-than-numpy": Text(
        "The installed Numba does not know the installed NumPy",
        "Numba's compiled part reads the inside of NumPy and stops where a newer NumPy changed it.",
        (
            newest("numba", title="Take a Numba that knows it"),
            Recipe(
                title="Put back a NumPy that the older Numba knows",
                use_if=("another package holds Numba back",),
                steps=(Action(install=("numpy<1.24",), options=()),),
            ),
        ),
        severity=Severity.ERROR,
        precision=Precision.EXACT,
    ),
    "nvvm-refuses": Text(
        "NVVM of the toolkit refuses what Numba gives it",
        "Numba writes code for this GPU, and the libNVVM of the toolkit that it found is older "
        "than the GPU, or newer than this Numba.",
        (
            Recipe(
                title="Take NVIDIA's Numba for CUDA with a toolkit of its own",
                use_if=("the driver is for CUDA 12 or newer",),
                steps=(
                    Action(
                        install=("numba-cuda[cu12]",), options=(Option.UPGRADE, Option.HOLD_TORCH)
                    ),
                ),
            ),
            command(
                "See which toolkit, libNVVM and GPU Numba finds",
                "{python.executable}",
                "-c",
                "from numba import cuda; cuda.detect(); "
                "from numba.cuda.cudadrv.libs import test; test()",
                look=True,
            ),
        ),
        severity=Severity.ERROR,
    ),
    "faiss-for-cpu": Text(
        "The installed faiss is the one for the CPU: it has no {name}",
        "faiss-cpu and the packages for the GPU install the same module. The one for the CPU was "
        "installed last, or alone.",
        (
            Recipe(
                title="Put the faiss for the GPU in its place (CUDA 12)",
                use_if=(LINUX,),
                steps=(
                    Action(uninstall=("faiss-cpu", "faiss-gpu")),
                    Action(install=("faiss-gpu-cu12",), options=(Option.HOLD_TORCH,)),
                ),
                note="PyPI has it for Linux only.",
            ),
            command(
                "Install it from conda",
                *("conda", "install", "-c", "pytorch", "-c", "nvidia", "-c", "conda-forge"),
                "faiss-gpu",
                use_if=(LINUX, _CONDA),
            ),
        ),
        severity=Severity.ERROR,
        precision=Precision.EXACT,
    ),
    "faiss-memory": Text(
        "GPU {gpu} has no {bytes} bytes left for faiss ({what})",
        "StandardGpuResources takes a part of the GPU's memory for temporary results at once, "
        "1.5 GiB by default. Another program, or torch in this one, holds the rest.",
        (
            _FREE,
            code(
                "Have faiss take less at once",
                "the place where the resources are made",
                "res = faiss.StandardGpuResources()\nres.setTempMemory(256 * 1024 * 1024)",
            ),
        ),
        severity=Severity.ERROR,
        precision=Precision.EXACT,
    ),
    "xgboost-for-cpu": Text(
        "The XGBoost that is loaded was built without its part for GPUs",
        "PyPI's wheels of xgboost for Linux (x86-64, and ARM since 2.1) and Windows have the part "
        "for NVIDIA GPUs; xgboost-cpu, the builds for Macs, and builds of one's own without "
        "USE_CUDA have not. A copy that was built by hand may hide the wheel.",
        (
            Recipe(
                title="Put the wheel from PyPI in its place",
                use_if=(Condition(fact="host.os", one_of=("linux", "windows")),),
                steps=(
                    Action(uninstall=("xgboost", "xgboost-cpu")),
                    Action(install=("xgboost",), options=(Option.NO_CACHE,)),
                ),
                note="A wheel of 2.1 and newer needs glibc 2.28 and Python 3.8. On a Jetson build "
                "it with CUDA.",
            ),
            command(
                "Build it with CUDA, in a clone of its sources",
                *("cmake", "-B", "build", "-S", ".", "-DUSE_CUDA=ON"),
                use_if=(LINUX, "nvcc and CMake are there"),
                note="Then cmake --build build -j 4, and pip install . in its folder "
                "python-package. In the program: device='cuda', before 2.0 "
                "tree_method='gpu_hist'.",
            ),
        ),
        severity=Severity.ERROR,
        precision=Precision.EXACT,
    ),
    "tf-no-gpu-device": Text(
        (
            "TensorFlow has no device {device}: it sees no GPU",
            "This TensorFlow has no {operator}: it was built, or started, without a GPU",
        ),
        "TensorFlow is a build for the CPU, or skipped the GPU at its start because a library of "
        "CUDA was missing; its first lines name the library. For Windows there are builds for "
        "GPUs up to 2.10 only.",
        (
            Recipe(
                title="Install TensorFlow with its CUDA libraries",
                use_if=(LINUX, "Python and the driver are of 2023 or newer"),
                steps=(
                    Action(
                        install=("tensorflow[and-cuda]",),
                        options=(Option.UPGRADE, Option.HOLD_TORCH),
                    ),
                ),
            ),
            Recipe(
                title="Take the last TensorFlow with GPUs on Windows",
                use_if=(WINDOWS, "Python is 3.7 to 3.10, and CUDA 11.2 and cuDNN 8.1 are there"),
                steps=(Action(install=("tensorflow==2.10.*", "numpy<2"), options=()),),
                note="Newer releases use the GPU in WSL.",
            ),
            command(
                "See which GPUs TensorFlow sees, and why not",
                "{python.executable}",
                "-c",
                "import tensorflow as tf; print(tf.__version__, "
                "tf.config.list_physical_devices('GPU'))",
                look=True,
            ),
        ),
        severity=Severity.ERROR,
        precision=Precision.EXACT,
    ),
    "tf-keras-twice": Text(
        "Keras and TensorFlow are of different releases",
        "TensorFlow 2 before 2.16 brings the Keras of its own number; another keras was installed "
        "over it, and both register the same metrics.",
        (
            command(
                "See the releases",
                "{python.executable}",
                "-m",
                "pip",
                "show",
                "tensorflow",
                "keras",
                look=True,
                note="Then install the keras with TensorFlow's number: keras==2.15.* for "
                "tensorflow 2.15.",
            ),
        ),
        severity=Severity.ERROR,
        precision=Precision.EXACT,
    ),
    "engine-is-none": Text(
        "TensorRT gave no engine, and the program asks it for {name}",
        "deserialize_cuda_engine or build_engine returned None. The lines of [TRT] [E] above say "
        "why; most often the engine was made by another release of TensorRT or on another GPU.",
        (
            command(
                "Build the engine again, here, with the installed TensorRT",
                "trtexec",
                "--onnx=<model>",
                "--saveEngine=<engine>",
                ask={
                    "model": "the ONNX file of the model",
                    "engine": "the file of the engine; it is written anew",
                },
                note="An application that builds engines itself makes a new one when the old file "
                "(.engine, .trt, .plan) is moved away.",
            ),
            command(
                "See the release of TensorRT",
                "{python.executable}",
                "-c",
                "import tensorrt; print(tensorrt.__version__)",
                look=True,
            ),
        ),
        severity=Severity.ERROR,
        precision=Precision.EXACT,
    ),
    "trt-plugin-missing": Text(
        (
            "TensorRT does not find the plugin {plugin} in this process",
            "TensorRT does not find a plugin that the model or the engine names",
        ),
        "The plugins lie in a library of their own (libnvinfer_plugin, or one of the project), "
        "which has to be loaded before a model is parsed or an engine is read. trtexec loads it "
        "by itself, a Python program does not.",
        (
            code(
                "Load TensorRT's plugins first",
                "the program, before the engine is read or the ONNX file is parsed",
                'trt.init_libnvinfer_plugins(TRT_LOGGER, "")',
            ),
            code(
                "Load the project's own plugin",
                "the program, before the engine is read",
                'import ctypes\nctypes.CDLL("libmyplugins.so")',
                use_if=("the plugin is one of the project; its README says how to build it",),
            ),
        ),
        severity=Severity.ERROR,
        precision=Precision.EXACT,
        contradicts=("tensorrt/engine-of-another-release",),
    ),
    "trt-kernel-failed": Text(
        "TensorRT failed inside ONNX Runtime ({node})",
        "The engine that ONNX Runtime made of a part of the model failed: an old engine in the "
        "cache, too little memory, or shapes that the engine was not made for.",
        (
            code(
                "Compute with CUDA in the place of TensorRT",
                "the place where the session is made",
                'providers=["CUDAExecutionProvider", "CPUExecutionProvider"]',
                before='providers=["TensorrtExecutionProvider", "CUDAExecutionProvider"]',
            ),
            code(
                "Have the engines made anew",
                "the options of the provider",
                '"trt_engine_cache_enable": False',
            ),
        ),
        severity=Severity.ERROR,
    ),
}
