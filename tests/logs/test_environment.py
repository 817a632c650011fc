"""The text of collect_env, as torch and vLLM print it and as people paste it."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from doctor.logs.environment import environment_facts, is_environment
from doctor.model.facts import State, value_of
from doctor.model.vocabulary import is_known

_REAL = Path(__file__).parents[2] / "fixtures/pasted/collect-env-2.13-cpu.txt"
_SICK = """Here is my environment, sorry for the formatting:
> ```
> PyTorch version: 2.5.1+cu124
> CUDA used to build PyTorch: 12.4
> ROCM used to build PyTorch: N/A
>
> OS: Ubuntu 22.04.5 LTS (x86_64)
> GCC version: (Ubuntu 11.4.0-1ubuntu1~22.04) 11.4.0
> Libc version: glibc-2.35
> Python version: 3.10.12 (main, Jan 17 2025, 14:35:34) [GCC 11.4.0] (64-bit runtime)
> Python platform: Linux-5.15.153.1-microsoft-standard-WSL2-x86_64-with-glibc2.35
> CUDA runtime version: Could not collect
> GPU models and configuration:
> GPU 0: NVIDIA GeForce RTX 3090
> GPU 1: NVIDIA GeForce RTX 3090
> Nvidia driver version: 535.183.01
> ```
[pip3] flash_attn==2.7.4.post1
[conda] triton 3.1.0 pypi_0 pypi
"""
_ALIGNED = """==============================
        System Info
==============================
OS                           : Red Hat Enterprise Linux release 8.3 (Ootpa) (x86_64)
GCC version                  : (GCC) 8.5.0 20210514 (Red Hat 8.5.0-3)
PyTorch version              : 2.5.1+rocm6.2
CUDA used to build PyTorch   : N/A
ROCM used to build PyTorch   : 6.2.41133
GPU models and configuration : GPU 0: AMD Instinct MI300X
vLLM Version                 : 0.6.3
"""


def _value(text: str, name: str) -> object:
    return value_of(environment_facts(text.split("\n")), name)


def test_a_report_that_torch_printed() -> None:
    facts = environment_facts(_REAL.read_text(encoding="utf-8").split("\n"))
    names = (
        "torch.version",
        "torch.cuda_version",
        "torch.build",
        "python.version",
        "host.glibc",
        "compiler.cxx_version",
        "host.machine",
    )
    assert [value_of(facts, name) for name in names] == [
        "2.13.0+cu130",
        "13.0",
        "cuda",
        "3.11.7",
        "2.36",
        "12.2.0",
        "x86_64",
    ]
    assert facts["nvidia.driver_version"].state is State.ABSENT
    assert [name for name in facts if not is_known(name)] == []


def test_a_report_that_somebody_quoted() -> None:
    facts = environment_facts(_SICK.split("\n"))
    assert value_of(facts, "nvidia.gpu_names") == ["NVIDIA GeForce RTX 3090"] * 2
    assert (value_of(facts, "compiler.cxx_major"), value_of(facts, "host.wsl")) == ("11", True)
    assert facts["cuda.version"].state is State.UNKNOWN
    assert (
        value_of(facts, "package.flash-attn.version"),
        value_of(facts, "package.triton.version"),
    ) == ("2.7.4.post1", "3.1.0")


@pytest.mark.parametrize(
    ("lines", "build"),
    [
        (
            (
                "PyTorch version: 1.3.1\nCUDA used to build PyTorch: Could not collect\n\nOS: "
                "Ubuntu "
                "18.04.4 LTS"
            ),
            "cpu",
        ),
        (
            (
                "PyTorch version: 2.5.1\nCUDA used to build PyTorch: None\n\nOS: Microsoft Windows "
                "11 Pro"
            ),
            "cpu",
        ),
        (
            "PyTorch version: 2.5.1\nCUDA used to build PyTorch: None\n\nOS: macOS 15.1 (arm64)",
            None,
        ),
        ("PyTorch version: N/A\nCUDA used to build PyTorch: N/A\n\nOS: Ubuntu 22.04", None),
        (
            (
                "PyTorch version: 2.5.1\nCUDA used to build PyTorch: N/A\nROCM used to build "
                "PyTorch: 6.2\nOS: Ubuntu 22.04"
            ),
            "rocm",
        ),
    ],
)
def test_a_torch_that_names_no_cuda_was_built_without(lines: str, build: str | None) -> None:
    assert value_of(environment_facts(lines.split("\n")), "torch.build") == build


@pytest.mark.parametrize(
    ("said", "available"),
    [("True", True), ("Yes", True), ("False", False), ("No", False), ("N/A", None)],
)
def test_whether_cuda_is_available_in_old_and_new_words(said: str, available: bool | None) -> None:
    text = f"PyTorch version: 2.5.1\nCUDA used to build PyTorch: 12.4\nIs CUDA available: {said}"
    assert value_of(environment_facts(text.split("\n")), "torch.cuda_available") is available


def test_vllms_form_and_another_vendor() -> None:
    names = (
        "torch.build",
        "torch.hip_version",
        "compiler.cxx_version",
        "package.vllm.version",
        "nvidia.gpu_names",
    )
    assert [_value(_ALIGNED, name) for name in names] == [
        "rocm",
        "6.2.41133",
        "8.5.0",
        "0.6.3",
        ["AMD Instinct MI300X"],
    ]
    assert environment_facts(_ALIGNED.split("\n"))["torch.cuda_version"].state is State.ABSENT


@pytest.mark.parametrize(
    "text",
    [
        "",
        "PyTorch version: 2.5.1",
        "{torch_version}\nOS: x",
        "CUDA used to build PyTorch: 12.4\n" * 3,
    ],
)
def test_what_is_no_report_gives_nothing(text: str) -> None:
    assert not is_environment(text.split("\n"))
    assert environment_facts(text.split("\n")) == {}


@pytest.mark.parametrize(
    "piece", ["PyTorch version: ", ":", "a ", "GPU 0: ", "[pip3] ", "1.", "(", " " * 40 + ":"]
)
def test_hostile_reports_take_linear_time(piece: str) -> None:
    text = _SICK + piece * 200_000 + "\n" + (piece + "\n") * 20_000
    started = time.process_time()
    environment_facts(text.split("\n"))
    assert time.process_time() - started < 5
