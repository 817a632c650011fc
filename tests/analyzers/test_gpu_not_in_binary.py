"""A GPU without code in a binary: which GPU, which binary, which build has code for it."""

from __future__ import annotations

import pytest

from tests.analyzers.explained import explained, said

NO_IMAGE = "RuntimeError: CUDA error: no kernel image is available for execution on the device"
RTX_5090 = (
    "NVIDIA GeForce RTX 5090 with CUDA capability sm_120 is not compatible with the current PyTorch"
    " installation."
)
COVERED = (
    (RTX_5090, "no code for NVIDIA GeForce RTX 5090 (sm_120)"),
    (
        (
            "Oct 04 13:19:39 host webui[394]: Found GPU0 NVIDIA GeForce GTX 1080 Ti which is of "
            "cuda "
            "capability 6.1."
        ),
        "no code for NVIDIA GeForce GTX 1080 Ti (sm_61)",
    ),
    (f"{NO_IMAGE}\nmy card is an rtx5070ti", "no code for RTX 5070 (sm_120)"),
    (
        (
            "[TensorRT-LLM][ERROR] CUDA runtime error in cudaDeviceGetDefaultMemPool(&memPool, "
            "device):"
            " no kernel image is available for execution on the device"
        ),
        "This build of TensorRT-LLM has no code for this GPU",
    ),
    (
        (
            "ERROR: CUDA kernel mul_mat_q has no device code compatible with CUDA arch 520. "
            "ggml-cuda.cu was compiled for: 600,700,750"
        ),
        "This build of llama.cpp has no code for a GPU of sm_52",
    ),
    (
        (
            "Could not start backend: Runtime compute cap 86 is not compatible with compile time "
            "compute cap 80"
        ),
        "built for compute capability 80, and the GPU has 86",
    ),
    (
        "ptxas fatal   : Value 'sm_120' is not defined for option 'gpu-name'",
        "ptxas does not know sm_120",
    ),
    (
        "requires device with capability > (8, 0) but your GPU has capability (7, 5) (too old)",
        "needs a GPU of compute capability above 8.0, and this GPU has 7.5",
    ),
    (
        (
            "Bfloat16 is only supported on GPUs with compute capability of at least 8.0. Your "
            "Tesla T4 "
            "GPU has compute capability 7.5."
        ),
        "bfloat16 needs a GPU of compute capability 8.0 or more, and Tesla T4 has 7.5",
    ),
    (
        "LLVM ERROR: Cannot select: intrinsic %llvm.amdgcn.fdot2.bf16.bf16",
        "Triton's compiler cannot translate a kernel for this GPU: Cannot select",
    ),
    (
        "RuntimeError: FlashAttention only supports Ampere GPUs or newer.",
        "FlashAttention needs a GPU of compute capability 8.0 or more",
    ),
    (
        (
            "The quantization method awq_marlin is not supported for the current GPU. Minimum "
            "capability: 80. Current capability: 75."
        ),
        "needs a GPU of compute capability 8.0 or more, and this GPU has 7.5",
    ),
)


@pytest.mark.parametrize(("text", "title"), COVERED, ids=[title for _, title in COVERED])
def test_the_gpu_and_the_binary_are_named(text: str, title: str) -> None:
    """The title names both as the log has them."""
    titles = [one for _, one in said(text)]
    assert [title in one for one in titles] == [True], titles


def test_the_builds_with_code_for_the_gpu_are_named() -> None:
    """Releases and indexes come from the table of architectures."""
    (one,) = explained(RTX_5090, torch_version="2.6.0+cu124")
    assert one.detection.title.startswith("torch 2.6.0+cu124 has no code")
    assert "sm_90" in one.detection.message  # the table says what the wheel has
    indexes = [step.index for recipe in one.detection.recipes for step in recipe.steps]
    tags = ("{torch.wanted_tag}", "cu128", "cu130")
    assert indexes == [f"https://download.pytorch.org/whl/{tag}" for tag in tags]


def test_torch_with_code_for_the_gpu_is_not_blamed() -> None:
    """Then an extension lacks it."""
    (one,) = explained(f"{NO_IMAGE}\nGPU 0: NVIDIA A100-SXM4-40GB", torch_version="2.6.0+cu124")
    assert one.detection.title.startswith("An extension has no code for A100 (sm_80)")


def test_two_kinds_of_gpus_leave_open_which() -> None:
    """A log that names a V100 and an A100 does not say which of them failed."""
    ((_, title),) = said(f"{NO_IMAGE}\nGPU 0: Tesla V100-SXM2\nGPU 1: NVIDIA A100-SXM4")
    assert title.endswith("has no code for this GPU")


def test_the_operators_of_xformers_are_no_failure_each() -> None:
    """Xformers lists why each of its operators does not fit, those for newer GPUs as well."""
    text = (
        "NotImplementedError: No operator found for `memory_efficient_attention_forward`\n"
        "requires device with capability == (9, 0) but your GPU has capability (8, 6)"
    )
    assert said(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "sm_120 is a capability",
        "with CUDA capability sm_",
        "Runtime compute cap is not compatible",
        "capability " * 400,
        "ptxas info    : Compiling entry function 'k' for 'sm_90'",
        "compute capability 8.9, VMM: yes",
    ],
)
def test_silence_where_no_gpu_is_refused(text: str) -> None:
    """Progress messages and hostile text are no failure."""
    assert said(text) == []


def test_the_extension_that_the_failing_statement_calls_is_named() -> None:
    text = f"    grid = fvdb.gridbatch_from_points(JaggedTensor(xyz), **sizes)\n{NO_IMAGE}"
    assert ("gpu-not-in-binary", "fvdb has no code for this GPU") in said(text)
    assert "torch/no-kernel-image" in explained(text)[0].contradicts


def test_a_call_of_torch_is_no_extension() -> None:
    text = f"    y = torch.relu(x) + pool.forward(x)\n{NO_IMAGE}"
    assert not any("torch/no-kernel-image" in one.contradicts for one in explained(text))


def test_a_build_that_can_be_named_comes_before_one_that_the_reader_completes() -> None:
    text = RTX_5090.replace("GeForce RTX 5090", "Thor").replace("sm_120", "sm_110")
    (one,) = explained(text)
    assert "cu130" in one.detection.recipes[0].title
    (known,) = explained(text, torch_version="2.9.0+cu128")
    assert "{torch.release}" in known.detection.recipes[0].title
