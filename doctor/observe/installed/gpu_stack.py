"""Which distributions belong to the GPU stack."""

from __future__ import annotations

from functools import lru_cache

from doctor.base.lazy_pattern import Pattern

_STACK = Pattern(
    r"torch|torch-(geometric|scatter|sparse|cluster|tensorrt)|torchvision|torchaudio|torchao"
    r"|torchtext|torchdata|torchtune"
    r"|torchtitan|torchcodec|torchmetrics|functorch|pytorch-.*|triton.*|nvidia-.*|cuda-(toolkit"
    r"|bindings|pathfinder|python|core)"
    r"|cupy.*|xformers|flash-attn.*|flash-linear-attention|fla-core|flashinfer.*|vllm.*|sglang.*"
    r"|sgl-kernel|bitsandbytes"
    r"|deepspeed|apex|transformer-engine.*|mamba-ssm|causal-conv1d|xfuser|yunchang|ring-flash-attn"
    r"|jax.*|onnxruntime.*"
    r"|tensorrt.*|tensorflow.*|transformers|accelerate|diffusers|peft|trl|unsloth.*|kernels"
    r"|liger-kernel|auto-gptq|gptqmodel"
    r"|autoawq|lightning.*|numpy|openai-whisper|openai-triton|ultralytics|timm|spconv.*|pytorch3d"
    r"|nerfacc|gsplat"
    r"|intel-extension-for-pytorch|mlx.*|sageattention|magi-attention|llama-cpp-python|ctranslate2"
    r"|faster-whisper|numba.*"
)
_GROUND = frozenset(
    {
        "setuptools",
        "sympy",
        "tokenizers",
        "huggingface-hub",
        "safetensors",
        "typing-extensions",
        "pillow",
        "scipy",
    }
)

_BESIDE = Pattern(
    r"pandas|datasets|pyarrow|scikit-learn|opencv-(contrib-)?python(-headless)?|optimum"
    r"|sentence-transformers|evaluate|keras|einops"
)


@lru_cache(maxsize=4096)
def in_stack(name: str) -> bool:
    """Say whether a distribution, by normalized name, belongs to the GPU stack."""
    return _STACK.fullmatch(name) is not None


def asks_beside_stack(name: str) -> bool:
    """Say whether the stack depends on this distribution, so that its unmet needs matter."""
    return in_stack(name) or name in _GROUND or _BESIDE.fullmatch(name) is not None


def matters_to_stack(name: str) -> bool:
    """Say whether a distribution is of the stack, or one of the few that members depend on."""
    return name in _GROUND or in_stack(name)
