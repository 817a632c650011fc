"""Explain what XLA, Vulkan, OpenVINO, candle and NCCL miss on the machine."""

from __future__ import annotations

from collections.abc import Iterator

from doctor.analyzers.case import Case, Explanation, Precision
from doctor.analyzers.recipes import LINUX, by_system, code, command, variables
from doctor.analyzers.texts import Text, explained
from doctor.model.issues import Action, Option, Recipe
from doctor.model.scales import Severity


def explain(case: Case) -> Iterator[Explanation]:
    """Yield what a runtime for GPUs misses."""
    yield from explained(case, _TABLE)


_LESS_LAYERS = command(
    "Put fewer layers of the model on the GPU, and take a shorter context",
    "llama-server",
    "-m",
    "<model>",
    "-ngl",
    "20",
    "-c",
    "4096",
    ask={"model": "the file of the model"},
    use_if=("the program is llama.cpp",),
    note="LM Studio, Jan and Ollama have the same settings: GPU offload (num_gpu) and context.",
)
_TABLE: dict[str, Text] = {
    "ptxas-not-usable": Text(
        "XLA has no ptxas that it can use for this GPU",
        "XLA compiles by ptxas, which it takes from the toolkit in PATH, from CUDA_HOME or from "
        "NVIDIA's package. It found none, one that fails, or one older than the GPU.",
        (
            Recipe(
                title="Install the ptxas that JAX and TensorFlow look for (CUDA 12)",
                use_if=("JAX or TensorFlow is a build for CUDA 12",),
                steps=(
                    Action(
                        install=("nvidia-cuda-nvcc-cu12",),
                        options=(Option.UPGRADE, Option.HOLD_TORCH),
                    ),
                ),
                note="RTX 50 and B200 need 12.8 or newer. With conda: cuda-nvcc from conda-forge.",
            ),
            Recipe(
                title="Put the newest toolkit of the machine first in PATH",
                use_if=(LINUX, "/usr/local/cuda/bin holds a newer ptxas"),
                steps=(Action(env={"PATH": "/usr/local/cuda/bin:$PATH"}),),
            ),
        ),
        severity=Severity.ERROR,
        precision=Precision.EXACT,
    ),
    "xla-no-cudnn": Text(
        "JAX's part for GPUs finds no cuDNN that fits it",
        "jaxlib was built for one release of CUDA and cuDNN. It finds another one, or none, mostly "
        "because the machine (Colab, a cluster) has an older cuDNN than the newest jaxlib wants.",
        (
            Recipe(
                title="Install JAX with its own CUDA and cuDNN",
                use_if=(LINUX, "the driver is for CUDA 12, and Python is 3.9 or newer"),
                steps=(
                    Action(install=("jax[cuda12]",), options=(Option.UPGRADE, Option.HOLD_TORCH)),
                ),
            ),
            Recipe(
                title="Go back to the release that worked here",
                use_if=("JAX has to take the CUDA of the machine",),
                shown=(r"jax\[cuda\]",),
                steps=(
                    Action(
                        install=("jax[cuda]==0.4.2",),
                        find_links=(
                            "https://storage.googleapis.com/jax-releases/jax_cuda_releases.html"
                        ),
                    ),
                ),
                note="Reported for Colab in February 2023: 0.4.2 worked there, and 0.4.3 did not.",
            ),
        ),
        severity=Severity.ERROR,
        precision=Precision.EXACT,
    ),
    "xla-solver": Text(
        "{library} does not start, mostly since the GPU has no memory left for it",
        "JAX takes three quarters of the GPU's memory at once, and the libraries of CUDA need some "
        "beside it. A library of another CUDA release on LD_LIBRARY_PATH shows the same error.",
        (
            variables(
                "Have JAX leave memory to the libraries",
                {"XLA_PYTHON_CLIENT_MEM_FRACTION": ".60"},
                note="Or XLA_PYTHON_CLIENT_PREALLOCATE=false, which takes memory as needed.",
            ),
            variables(
                "Start without LD_LIBRARY_PATH, so that JAX loads its own libraries",
                {"LD_LIBRARY_PATH": ""},
                use_if=(LINUX, "jax[cuda12] or jax[cuda13] is installed"),
            ),
        ),
        severity=Severity.ERROR,
        precision=Precision.EXACT,
    ),
    "vulkan-memory": Text(
        "The GPU has no memory left for Vulkan",
        "The model, its context and what the screen needs do not fit together, or one buffer is "
        "larger than the driver allows.",
        (_LESS_LAYERS,),
        severity=Severity.ERROR,
        precision=Precision.EXACT,
    ),
    "vulkan-device": Text(
        "The Vulkan driver lost the GPU, or has not what the program asks for",
        "The driver is older than the program expects, or it stopped the GPU because a call took "
        "too long or failed.",
        (
            command(
                "See the GPUs, drivers and releases of Vulkan",
                "vulkaninfo",
                "--summary",
                look=True,
                note="Install the newest driver of the GPU's maker; llvmpipe in the list is the "
                "CPU. GGML_VK_VISIBLE_DEVICES=0 names the GPU to llama.cpp.",
            ),
            _LESS_LAYERS,
        ),
        severity=Severity.ERROR,
    ),
    "vulkan-sdk-missing": Text(
        "The build does not find {parts} of Vulkan",
        "The libraries, headers and the shader compiler of Vulkan belong to packages of their own.",
        (
            Recipe(
                title="Install them with the system's package manager",
                use_if=(LINUX,),
                steps=(
                    Action(
                        system={
                            "apt": ("libvulkan-dev", "glslc"),
                            "dnf": ("vulkan-loader-devel", "glslc"),
                            "pacman": ("vulkan-headers", "vulkan-icd-loader", "shaderc"),
                        }
                    ),
                ),
                note="Ubuntu 22.04 has no glslc: take the Vulkan SDK of LunarG.",
            ),
        ),
        severity=Severity.ERROR,
        precision=Precision.EXACT,
    ),
    "openvino-program": Text(
        "The driver of the Intel GPU does not compile OpenVINO's kernels",
        "OpenVINO gives its kernels to the OpenCL compiler of the driver, which failed: the driver "
        "is older than this OpenVINO expects, or the GPU has no memory left.",
        (
            by_system(
                "Update Intel's compute driver",
                apt=("intel-opencl-icd",),
                note="Where the distribution's is too old, Intel's pages on GPU drivers name a "
                "source of packages. On Windows install Intel's newest graphics driver.",
            ),
            code(
                "Compute on the CPU",
                "the place where the model is compiled",
                'core.compile_model(model, "CPU")',
            ),
        ),
        severity=Severity.ERROR,
    ),
    "candle-without-cuda": Text(
        "The program was built without candle's feature {feature}",
        "Cargo builds candle for the CPU unless the feature is named.",
        (
            Recipe(
                title="Build it with the feature",
                steps=(Action(run=("cargo", "run", "--release", "--features", "{log.feature}")),),
                note="cuda needs nvcc in PATH. In one's own crate: candle-core = { version = …, "
                'features = ["cuda"] }, and the same for candle-nn and candle-transformers.',
            ),
        ),
        severity=Severity.ERROR,
        precision=Precision.EXACT,
    ),
    "nccl-releases-differ": Text(
        "The ranks run different releases of NCCL",
        "All processes of a job need the same NCCL. Machines with different images or "
        "environments, or an NCCL of the system in one of them, differ.",
        (
            command(
                "Print the release on each machine, in the environment of the job",
                "{python.executable}",
                "-c",
                "import torch; print(torch.__version__, torch.cuda.nccl.version())",
                look=True,
                note="Then install the same torch, or use the same image, everywhere.",
            ),
            variables(
                "Take torch's own NCCL on all machines",
                {"LD_LIBRARY_PATH": "", "LD_PRELOAD": ""},
                use_if=(LINUX, "these variables name an NCCL of the system"),
            ),
        ),
        severity=Severity.ERROR,
        precision=Precision.EXACT,
    ),
}
