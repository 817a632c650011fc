"""Words of programs that were left behind by torch, TensorRT, CUDA for Rust or Docker on WSL."""

from __future__ import annotations

from doctor.events.forms import Form, Voice

VOICES = (
    Voice(
        "torch",
        (
            Form(
                "autograd-function-old",
                r"Legacy autograd function with non-static forward method is deprecated",
                ("legacy autograd function",),
            ),
            Form(
                "torch-legacy-gone",
                r"No module named ['\"]?(?P<package>torch)\.(?P<module>legacy)\b",
                ("torch.legacy",),
            ),
            Form(
                "mps-tensor-empty",
                r"Placeholder tensor is empty",
                ("placeholder tensor is empty",),
            ),
        ),
    ),
    Voice(
        "bindgen_cuda",
        (
            Form(
                "rust-cuda-not-found",
                r"Could not find CUDA in standard locations",
                ("could not find cuda in standard locations",),
            ),
        ),
    ),
    Voice(
        "TensorRT",
        (
            Form(
                "trt-opset-too-new",
                r"what\(\):\s{1,4}Attribute not found: (?P<attribute>axes|split)\b",
                ("attribute not found: ",),
            ),
        ),
    ),
    Voice(
        "TensorFlow",
        (
            Form(
                "wsl-driver-too-new",
                r"failed call to cuInit: (?P<name>CUDA_ERROR_NOT_FOUND): (?P<said>named symbol"
                r" not found)",
                ("failed call to cuinit",),
            ),
        ),
    ),
)
