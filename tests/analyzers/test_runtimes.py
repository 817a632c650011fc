"""What runtimes lack: operators, files, toolkits, libraries of wheels, architectures of GGUF."""

from __future__ import annotations

import pytest

from tests.analyzers.explained import explained, said

LINES = (
    (
        (
            "NotImplementedError: Could not run 'aten::empty.memory_format' with arguments from "
            "the 'SparseMPS' backend."
        ),
        "does not exist for SparseMPS",
    ),
    (
        (
            "onnxruntime.capi.onnxruntime_pybind11_state.NoSuchFile: [ONNXRuntimeError] : 3 : "
            "NO_SUCHFILE : Load model from model.onnx failed:Load model model.onnx failed."
        ),
        "finds no file model.onnx",
    ),
    ("Unsupported cuda toolkit version: `10010`. Please raise a github issue.", "CUDA 10.1"),
    (
        (
            'nvcc error while executing compiling: "nvcc" "--gpu-architecture=sm_75" "-c" "-o" '
            '"/r/candle-flash-attn-f1535da02b90d1cc/out/f.o"'
        ),
        "for sm_75: it needs compute capability 8.0",
    ),
    ("trying to initialize the default process group twice!", "a second time"),
    (
        (
            "AttributeError: module 'google.protobuf.descriptor' has no attribute "
            "'_internal_create_key'"
        ),
        "protobuf is older",
    ),
    (
        (
            "[TensorRT-LLM][ERROR] Assertion failed: Unsupported architecture (/src/kernels/"
            "contextFusedMultiHeadAttention/fmhaRunner.cpp:87)"
        ),
        "no fused attention kernel",
    ),
    ("[TensorRT-LLM][ERROR] Assertion failed: d == a + length (/app/x.cpp:320)", "another release"),
    (
        "RuntimeError: Native API failed. Native API returns: -1102 (PI_ERROR_UNINITIALIZED)",
        "PI_ERROR_UNINITIALIZED",
    ),
    (
        (
            "ImportError: Failed to load the default metallib. This library is using language "
            "version 4.0 which is not supported on this OS."
        ),
        "language version 4.0",
    ),
    ("Error occurred in CUDA_CALL: 35", "cudaErrorInsufficientDriver"),
    (
        "ollama  | llama_model_load: error loading model: unknown model architecture: 'gemma4'",
        "Ollama carries a llama.cpp that does not know the architecture gemma4",
    ),
    ("error loading model architecture: unknown model architecture: 'mllama'", "one for Ollama"),
)


@pytest.mark.parametrize(("line", "title"), LINES, ids=[title for _, title in LINES])
def test_a_line_names_what_is_missing(line: str, title: str) -> None:
    titles = [one for _, one in said(line)]
    assert any(title in one for one in titles), titles


def test_a_toolkit_that_newer_releases_of_cudarc_know_is_left_to_the_known_issue() -> None:
    text = "Unsupported cuda toolkit version: `13000`. Please raise a github issue."
    assert not any(name == "cudarc-toolkit" for name, _ in said(text))


SITE = "/Users/ada/venv/lib/python3.13/site-packages"
HOMEBREW = f"""
ImportError: dlopen({SITE}/mlx/core.so, 0x0002): Symbol not found: __ZN3mlx4core1xEv
  Referenced from: <AA1D> {SITE}/mlx/core.so
  Expected in:     <D5FA> /opt/homebrew/Cellar/mlx/0.31.1/lib/libmlx.dylib
"""
PART = f"""
ImportError: dlopen({SITE}/mlx/core.so, 0x0002): Library not loaded: @rpath/libmlx.dylib
  Referenced from: <4A90> {SITE}/mlx/core.so
  Reason: tried: '{SITE}/mlx/lib/libmlx.dylib' (no such file)
"""


def test_a_library_of_homebrew_in_the_place_of_the_wheels_own() -> None:
    found = next(one for one in explained(HOMEBREW) if one.detection.id.endswith("of-homebrew"))
    assert found.detection.recipes[0].steps[0].run == ("brew", "unlink", "mlx")


def test_a_wheel_without_its_own_library_is_installed_again() -> None:
    found = next(one for one in explained(PART) if one.detection.id.endswith("not-whole"))
    assert [one.steps[0].install for one in found.detection.recipes] == [
        ("mlx=={package.mlx.version|<release>}",),
        ("mlx-metal=={package.mlx-metal.version|<release>}",),
    ]


def test_what_ray_lists_as_possible_is_not_what_happened() -> None:
    text = (
        "The actor is dead because its worker process has died. Worker exit type: SYSTEM_ERROR "
        "Worker exit detail: Worker unexpectedly exits with a connection error code 2. "
        "There are some potential root causes. (1) The process is killed by SIGKILL by OOM killer "
        "due to high memory usage. (2) ray stop --force is called."
    )
    assert [name for name, _ in said(text)] == ["ray-worker-died"]


def test_probing_of_jax_is_no_missing_name() -> None:
    text = (
        "I1025 xla_bridge.py:357] Unable to initialize backend 'cuda': module "
        "'jaxlib.xla_extension' has no attribute 'GpuAllocatorConfig'"
    )
    assert "name-not-in-release" not in [name for name, _ in said(text)]


def test_a_crate_of_an_index_that_does_not_compile_is_updated() -> None:
    text = (
        "error[E0422]: cannot find struct, variant or union type `a` in module `sys`\n"
        "    --> C:\\u\\.cargo\\registry\\src\\index.crates.io-6f17\\cudarc-0.12.2\\src\\r.rs:9:2\n"
    )
    found = next(one for one in explained(text) if one.detection.id.endswith("compile-error"))
    assert found.detection.recipes[0].steps[0].run[-1] == "cudarc@0.12.2"


def test_the_bound_of_a_parameter_is_the_major_release_that_lies_between() -> None:
    text = (
        "Traceback (most recent call last):\n"
        '  File "/home/ada/webui.py", line 3, in <module>\n    gr.Audio(source="upload")\n'
        '  File "/o/lib/python3.10/site-packages/gradio/component_meta.py", line 157, in wrapper\n'
        "    return fn(self, **kwargs)\n"
        "TypeError: Audio.__init__() got an unexpected keyword argument 'source'"
    )
    found = next(one for one in explained(text) if one.detection.recipes)
    assert found.detection.recipes[0].steps[0].install == ("gradio>=3,<4",)
