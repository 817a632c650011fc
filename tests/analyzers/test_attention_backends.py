"""Which attention library of a server failed, and what LM Studio and Keras say of theirs."""

from __future__ import annotations

import pytest

from doctor.analyzers.case import Explanation
from tests.analyzers.explained import explained, said

FAULT = "RuntimeError: CUDA error: an illegal memory access was encountered"
VLLM = f"""
vllm=={{release}}
(EngineCore_DP0 pid=2)   File "/usr/lib/python3/dist-packages/vllm/v1/attention/backends/flashinfer.py", line 1210, in forward
(EngineCore_DP0 pid=2) {FAULT}
"""  # noqa: E501


def _named(text: str, name: str) -> Explanation:
    return next(one for one in explained(text) if one.detection.id == f"failure/{name}")


@pytest.mark.parametrize(
    ("release", "wanted"),
    [("0.27.1", "--attention-backend TRITON_ATTN"), ("0.10.2", "VLLM_ATTENTION_BACKEND")],
)
def test_a_server_is_started_with_another_library(release: str, wanted: str) -> None:
    found = _named(VLLM.format(release=release), "attention-kernel-fails")
    first = found.detection.recipes[0]
    named = first.snippet.after if first.snippet else " ".join(first.steps[0].env)
    assert wanted in named
    assert "torch/cuda-illegal-memory-access" in found.contradicts


def test_a_gpu_that_the_library_never_served() -> None:
    text = """
python3 -m sglang.launch_server --model-path x   # on a Tesla V100-32GB
CUDA Error: no kernel image is available for execution on the device (209) /tmp/flashinfer-0.1.4+cu124/include/flashinfer/norm.cuh: line 112
"""  # noqa: E501
    assert "V100" in _named(text, "attention-not-for-gpu").detection.title


def test_a_program_of_ones_own_keeps_its_own_explanation() -> None:
    own = f'  File "/home/ada/train.py", line 3, in <module>\n{FAULT}'
    assert not any("attention" in name for name, _ in said(own))


def test_the_engine_of_lm_studio() -> None:
    said_of = dict(
        said(
            "Engine protocol runtime llama-server for GKJO+5aHm exited before becoming healthy. "
            'exitCode=null, signal=SIGSEGV"'
        )
    )
    assert "SIGSEGV" in said_of["engine-crashed"]


def test_keras_3_comes_with_its_tensorflow() -> None:
    text = "ModuleNotFoundError: No module named 'keras.src.legacy'"
    (found,) = explained(text)
    assert found.detection.recipes[0].steps[0].install == ("tensorflow>=2.16", "keras>=3")
