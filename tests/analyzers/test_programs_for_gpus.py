"""What servers of models, programs for GPUs and nodes of clusters miss, with a fix for each."""

from __future__ import annotations

import pytest

from doctor.analyzers.code_recipes import recipes_for
from doctor.judge.match.failures import explained_failures
from doctor.model.findings import Detection
from doctor.model.observation import Log, Observation
from doctor.timelines.codes import code
from tests.analyzers.explained import catalog, explained

LINES = (
    (
        "ValueError: sharded is not supported for AutoModel",
        "does not know the model's architecture",
    ),
    ("RuntimeError: weight lm_head.weight does not exist", "no tensor lm_head.weight"),
    ("KeyError: 'layers.0.mlp.down_proj.weight.absmax'", "does not expect: layers.0.mlp"),
    (
        (
            "ValueError: User-specified max_model_len (40960) is greater than the derived max_model_len "  # noqa: E501
            "(max_position_embeddings=32768)."
        ),
        "more than the 32768 tokens",
    ),
    (
        (
            "Unsupported model binary version. This executable supports models with binary "
            "version v4 or below, but the model has binary version v6."
        ),
        "format 6, and the installed release reads up to 4",
    ),
    ("Unsupported model IR version: 11, max supported IR version: 10", "reads up to 10"),
    ("module 'faiss' has no attribute 'StandardGpuResources'", "the one for the CPU"),
    ("ImportError: cannot import name 'cudart' from 'cuda'", "does not have cuda.cudart"),
    ("[12:54:26] learner.cc:180: XGBoost version not compiled with GPU support.", "XGBoost"),
    (
        "[TRT] [E] 3: getPluginCreator could not find plugin: InstanceNormalization_TRT version: 1",
        "plugin InstanceNormalization_TRT",
    ),
    ("XlaRuntimeError: INTERNAL: Couldn't get ptxas/nvlink version", "no ptxas"),
    ("XlaRuntimeError: INTERNAL: cuSolver internal error", "cuSolver does not start"),
    ("terminate called after throwing an instance of 'vk::OutOfDeviceMemoryError'", "for Vulkan"),
    ("Error: the candle crate has not been built with cuda support", "feature cuda"),
    (
        "E0716 10:05:57 1 factory.go:112] Incompatible platform detected",
        "started without NVIDIA's runtime",
    ),
    (
        (
            "ERROR: inject NVIDIA hook: stat /usr/bin/nvidia-container-runtime-hook: no such file "
            "or directory"
        ),
        "asks for /usr/bin/nvidia-container-runtime-hook",
    ),
    (
        "pml_ucx.c:424  Error: ucp_ep_create(proc=0) failed: Address not valid",
        "UCX finds no way to the other processes",
    ),
    (
        (
            "E1219 1660 model_lifecycle.cc:621] failed to load 'm' version 1: Internal: "
            "ModuleNotFoundError: No module named 'tensorrt_llm'"
        ),
        "no TensorRT-LLM",
    ),
    ("Unsupported config option for services.engine: 'runtime'", "the option runtime"),
    ("/srv/ui/venv/bin/python3: No module named pip", "/srv/ui/venv/bin/python3 has no pip"),
)


@pytest.mark.parametrize(("line", "said"), LINES, ids=[said for _, said in LINES])
def test_the_cause_has_its_objects_and_a_fix(line: str, said: str) -> None:
    """Each names what it read, and says what to do."""
    found = [one.detection for one in explained(line) if said in one.detection.title]
    assert found, [one.detection.title for one in explained(line)]
    assert found[0].recipes


@pytest.mark.parametrize(
    "text",
    [
        "TF-TRT Warning: Could not find TensorRT",
        "KeyError: 'layers'",
        "INFO: no option was unknown; 12 engines were built",
        "the model architecture is supported",
        "usage: main.py [-h] [--layers N]",
    ],
)
def test_other_lines_stay_quiet(text: str) -> None:
    """A line that only holds the words is none of these failures."""
    kinds = {one.detection.id for one in explained(text)}
    assert not kinds & {"failure/tensor-not-expected", "failure/option-unknown"}


STATUSES = (
    ("cublas", "CUBLAS_STATUS_NOT_INITIALIZED"),
    ("cudnn", "CUDNN_STATUS_EXECUTION_FAILED"),
    ("cusolver", "CUSOLVER_STATUS_INTERNAL_ERROR"),
    ("cufft", "CUFFT_INTERNAL_ERROR"),
    ("cuda", "cudaErrorMpsConnectionFailed"),
    ("cuda", "cudaErrorNotSupported"),
    ("cuda-driver", "CUDA_ERROR_INVALID_IMAGE"),
    ("nccl", "ncclRemoteError"),
    ("nvml", "NVML_ERROR_DRIVER_NOT_LOADED"),
    ("opencl", "CL_PLATFORM_NOT_FOUND_KHR"),
)


@pytest.mark.parametrize(("kind", "name"), STATUSES, ids=[name for _, name in STATUSES])
def test_a_status_of_a_library_has_a_fix(kind: str, name: str) -> None:
    """A meaning alone helps nobody."""
    found = code(kind, name)
    assert found is not None
    assert recipes_for(found)


def first(*lines: str) -> Detection:
    """Return what analyzers explain of a log, with the fixes that the log confirms in front."""
    seen = Observation(logs=(Log(source="log", lines=lines),))
    return explained_failures(seen, catalog(), (), frozenset()).explained[0]


def test_the_log_chooses_among_the_fixes_of_an_analyzer() -> None:
    """The name of a virtual GPU answers the question whether it is one."""
    line = "RuntimeError: CUDA error: operation not supported"
    asked = first(line)
    answered = first("|   0  GRID A100-40C       On   | 00000000:02:00.0 Off |", line)
    assert asked.recipes[0].sentences
    assert "virtual GPU" in answered.recipes[0].title
    assert not answered.recipes[0].sentences


def test_a_variable_before_a_command_keeps_its_value() -> None:
    """What Windows took for a program is a variable, and its value stands in the line above."""
    found = first(
        'C:\\ui>CMAKE_ARGS="-DGGML_CUDA=on" FORCE_CMAKE=1 pip install llama-cpp-python',
        "'CMAKE_ARGS' is not recognized as an internal or external command,",
    )
    assert found.recipes[0].steps[0].env == {"CMAKE_ARGS": "-DGGML_CUDA=on"}
