"""What a log tells of its machine."""

from __future__ import annotations

import time

import pytest

from doctor.events.reading import events_of
from doctor.logs.log import log_facts, without_prefixes
from doctor.model.facts import State, value_of
from doctor.model.observation import Log
from doctor.model.vocabulary import is_known

_MISMATCH = """RuntimeError:
The detected CUDA version (12.1) mismatches the version that was used to compile
PyTorch (11.8). Please make sure to use the same CUDA versions."""


def _log(text: str) -> Log:
    return Log(source="log", lines=tuple(text.split("\n")))


def _facts(text: str) -> dict[str, object]:
    facts = log_facts(_log(text))
    assert [name for name in facts if not is_known(name)] == []
    return {name: fact.value for name, fact in facts.items() if fact.state is State.PRESENT}


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("2026-11-21T18:00:01.0000000Z error: x", "error: x"),
        ("#12 34.56 error: x", "error: x"),
        ("trainer-1  | error: x", "error: x"),
        ("> > error: x", "error: x"),
        ("[2026-11-21 18:00:01,123] error: x", "error: x"),
        ("12:00:01 error: x", "error: x"),
        ("  error: x", "  error: x"),
        ("3.11 is fine", "3.11 is fine"),
    ],
)
def test_what_stands_before_a_line_is_taken_off(line: str, expected: str) -> None:
    assert without_prefixes([line]) == (expected,)


def test_a_sentence_over_two_lines_tells_both_versions() -> None:
    assert _facts(_MISMATCH) == {
        "cuda.version": "12.1",
        "torch.cuda_version": "11.8",
        "torch.build": "cuda",
        "cuda.selected": True,
    }


def test_banners_wheels_and_paths_tell_versions() -> None:
    text = """\
| NVIDIA-SMI 535.104.05             Driver Version: 535.104.05   CUDA Version: 12.2     |
Cuda compilation tools, release 12.4, V12.4.131
/usr/lib/python3.11/site-packages/torch
flash_attn-2.7.4.post1+cu12torch2.6cxx11abiFALSE-cp311-cp311-linux_x86_64.whl
GPU with CUDA capability sm_120 is not compatible with the current PyTorch installation"""
    assert _facts(text) == {
        "nvidia.driver_version": "535.104.05",
        "nvidia.cuda_version": "12.2",
        "cuda.version": "12.4",
        "cuda.nvcc_version": "12.4.131",
        "python.minor": "3.11",
        "python.version": "3.11",
        "package.flash-attn.version": "2.7.4.post1",
        "package.flash-attn.wheel_torch": "2.6",
        "package.flash-attn.wheel_abi": False,
        "nvidia.capabilities": ["12.0"],
        "nvidia.gpu_present": True,
        "host.os": "linux",
    }


@pytest.mark.parametrize(
    ("text", "name", "value"),
    [
        (
            "    PyTorch 2.5.1+cu124 with CUDA 1204 (you have 2.6.0+cu124)",
            "torch.version",
            "2.6.0+cu124",
        ),
        ("pytorch version: 2.7.0+cu128", "torch.version", "2.7.0+cu128"),
        ("- PyTorch version (GPU?): 2.5.1+cu124 (True)", "torch.version", "2.5.1+cu124"),
        ("/opt/venv/lib/torch-2.6.0+cu124.dist-info/METADATA", "torch.version", "2.6.0+cu124"),
        ("- `transformers` version: 4.46.0", "package.transformers.version", "4.46.0"),
        (
            "INFO Initializing a V1 LLM engine (v0.10.0) with config",
            "package.vllm.version",
            "0.10.0",
        ),
        ("INFO vLLM API server version 0.8.5.post1", "package.vllm.version", "0.8.5.post1"),
        (
            "|   0  NVIDIA GeForce RTX 3090        Off |",
            "nvidia.gpu_names",
            ["NVIDIA GeForce RTX 3090"],
        ),
        (
            "GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-1)",
            "nvidia.gpu_names",
            ["NVIDIA H100 80GB HBM3"],
        ),
        (
            "Device: cuda:0 NVIDIA GeForce RTX 3060 : cudaMallocAsync",
            "nvidia.gpu_names",
            ["NVIDIA GeForce RTX 3060"],
        ),
        ("intel-extension-for-pytorch version: 2.0.110+xpu", "torch.version", None),
        (r'  File "C:\ComfyUI\main.py", line 3', "host.os", "windows"),
        ('  File "/opt/homebrew/lib/x.py", line 3', "host.os", "macos"),
        ('  File "/usr/lib/x.py", line 3\n  File "C:\\x.py"', "host.os", None),
        ("it works on my RTX 3090 and not on an NVIDIA GeForce RTX 5090", "nvidia.gpu_names", None),
    ],
)
def test_banners_of_programs_tell_as_well(text: str, name: str, value: object) -> None:
    assert _facts(text).get(name) == value


def test_torchs_own_warning_tells_what_it_holds_code_for() -> None:
    text = "The current PyTorch install supports CUDA capabilities sm_50 sm_60 sm_90."
    assert _facts(text) == {"torch.arch_list": ["sm_50", "sm_60", "sm_90"], "torch.build": "cuda"}


def test_two_values_of_one_thing_tell_nothing() -> None:
    assert _facts("torch.__version__ = 2.5.1\ntorch.__version__ = 2.6.0") == {}


def test_a_report_in_a_log_counts() -> None:
    text = "PyTorch version: 2.5.1+cu124\nCUDA used to build PyTorch: 12.4\n"
    assert value_of(log_facts(_log(text)), "torch.version") == "2.5.1+cu124"


@pytest.mark.parametrize(
    "piece",
    [
        "error: ",
        "command '",
        "NVIDIA-SMI 1 ",
        "torch.__version__ = ",
        "Error",
        "gcc (",
        "thread '",
        "#1 1.1 ",
        "flash_attn-1.",
        "/python3.11/site-packages/",
    ],
)
def test_hostile_logs_take_linear_time(piece: str) -> None:
    log = Log(source="log", lines=(piece * 30_000, *([piece] * 20_000)))
    started = time.process_time()
    log_facts(log), events_of(log), without_prefixes(log.lines)
    assert time.process_time() - started < 2.5


@pytest.mark.parametrize(
    ("line", "name", "value"),
    [
        ("Dockerfile:12", "host.container", "docker"),
        (
            (
                'process "/bin/sh -c pip install flash-attn" did not complete successfully: exit '
                "code: 1"
            ),
            "host.container",
            "docker",
        ),
        ("docker: Error response from daemon: unknown", "host.container", None),
        ('  File "/mnt/c/Users/a/x.py", line 1', "host.wsl", True),
        (
            '  File "/home/a/miniconda3/envs/x/lib/python3.10/site-packages/torch/x.py"',
            "python.conda",
            "/home/a/miniconda3/envs/x",
        ),
        ('  File "/home/a/.venv/lib/python3.10/site-packages/torch/x.py"', "python.conda", None),
    ],
)
def test_a_log_shows_where_it_was_printed(line: str, name: str, value: object) -> None:
    facts = log_facts(Log(source="x", lines=(line,)))
    assert (facts[name].value if name in facts else None) == value


@pytest.mark.parametrize(
    ("line", "known"),
    [
        (
            "PyTorch 2.7.0+cu126 with CUDA 1206 (you have 2.7.0+cpu)",
            {"torch.version": "2.7.0+cpu", "torch.build": "cpu"},
        ),
        (
            "incompatible torch version 2.8.0+cu129 for torchao version 0.14.0",
            {"torch.build": "cuda", "torch.cuda_version": "12.9"},
        ),
        (
            "torchaudio 2.3.1 requires torch==2.3.1, but you have torch 2.3.0 which is wrong",
            {"torch.version": "2.3.0"},
        ),
    ],
)
def test_a_message_names_the_torch_that_is_here_and_its_build(
    line: str, known: dict[str, object]
) -> None:
    assert known.items() <= _facts(line).items()
