"""Write the recipes that bring a build of a program, not of torch, with code for a GPU."""

from __future__ import annotations

from doctor.analyzers.gpu_extensions import rebuild
from doctor.analyzers.gpus import Gpu, see_capability
from doctor.analyzers.recipes import LINUX, code, command, newest
from doctor.model.issues import Action, Recipe

_OWN_BUILD = command(
    "Build llama.cpp for the GPU of this machine",
    "sh",
    "-c",
    "cmake -B build -DGGML_CUDA=ON -DCMAKE_CUDA_ARCHITECTURES=native && "
    "cmake --build build --config Release -j 4",
    use_if=(LINUX, "it is a build of llama.cpp's sources; nvcc knows the GPU"),
)
_OTHERS: dict[str, tuple[Recipe, ...]] = {
    "xformers": (
        Recipe(
            title="Remove xformers; torch's own attention takes its place",
            steps=(Action(uninstall=("xformers",)),),
            note="ComfyUI and the web UIs then use it by themselves (in ComfyUI also "
            "--use-pytorch-cross-attention).",
        ),
        newest("xformers", title="Take the newest xformers", use_if=("torch is the newest",)),
    ),
    "bitsandbytes": (newest("bitsandbytes", title="Take the newest bitsandbytes"),),
    "exllamav2": (newest("exllamav2", title="Take the newest exllamav2"),),
    "ONNX Runtime": (newest("onnxruntime-gpu", title="Take the newest onnxruntime-gpu"),),
    "CTranslate2": (newest("ctranslate2", title="Take the newest CTranslate2"),),
    "TensorRT": (newest("tensorrt", title="Take the newest TensorRT"),),
    "jaxlib": (
        newest("jax[cuda12]", title="Take the newest jax with its kernels for CUDA 12"),
        newest(
            "jax[cuda13]",
            title="Take the newest jax with its kernels for CUDA 13",
            use_if=("the GPU is of 7.5 or newer, and the driver is 580 or newer",),
        ),
    ),
    "llama.cpp": (
        _OWN_BUILD,
        newest(
            "llama-cpp-python",
            title="Take the newest llama-cpp-python",
            use_if=("the program is llama-cpp-python, from its index for CUDA",),
        ),
    ),
    "Ollama": (
        code(
            "Install the newest Ollama",
            "a terminal; on Windows and macOS its installer",
            "curl -fsSL https://ollama.com/install.sh | sh",
            note="In Docker: docker pull ollama/ollama. Ollama serves GPUs from 5.0 on.",
        ),
    ),
}
_COMPILED = {"flash-attn", "causal-conv1d", "mamba-ssm"}


def builds_for(what: str, gpu: Gpu | None) -> tuple[Recipe, ...]:
    """Return how to come by a build of `what`, "this wheel of xformers", that serves a GPU."""
    name = what.rpartition(" of ")[2]
    if name in _COMPILED:
        return (rebuild(name, gpu.capability if gpu else "<capability>"), see_capability())
    return (*_OTHERS.get(name, ()), see_capability())
