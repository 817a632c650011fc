"""A card that fails what its twin passes is suspected; the advice for programs comes after it."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from doctor.catalog.loading import load
from doctor.facts.derive import derive
from doctor.fixes.attach import with_fixes
from doctor.judge.match import diagnose
from doctor.model.findings import Finding
from doctor.model.outcomes import Case, Verdict
from doctor.model.scales import Severity
from tests import toy

_LAUNCH = "AcceleratorError: CUDA error: unspecified launch failure"
_CUBLAS = (
    "RuntimeError: CUDA error: CUBLAS_STATUS_EXECUTION_FAILED when calling `cublasGemmEx( handle"
)
_SMALL, _LARGE = "NVIDIA RTX A4000", "NVIDIA RTX 6000 Ada Generation"


def _found(
    words: str, *, names: tuple[str, ...] = (_LARGE, _SMALL, _SMALL), case: str = "", **more: Any
) -> tuple[Finding, ...]:
    """Judge a machine on which cuda:1 fails a check, and all other GPUs pass it."""
    # CUDA counts the fastest first, nvidia-smi by the slot.
    slots = [1, 0, *range(2, len(names))]
    gpus = [
        {
            "index": number,
            "name": name,
            "capability": "8.6" if name == _SMALL else "8.9",
            "uuid": f"GPU-{slots[number]}",
            "pci_bus_id": f"0000:{0x10 + slots[number]:x}:00.0",
        }
        for number, name in enumerate(names)
    ]
    listed = sorted(
        ({**gpu, "index": slots[number]} for number, gpu in enumerate(gpus)),
        key=lambda gpu: str(gpu["index"]),
    )
    red = msgspec.structs.replace(
        toy.outcome("failed", check="torch-runtime", device="cuda:1"),
        reason=words,
        cases={case: Case(verdict=Verdict.FAILED, reason=words)} if case else {},
    )
    well = [
        toy.outcome("passed", check="torch-runtime", device=f"cuda:{number}")
        for number in range(len(names))
        if number != 1
    ]
    facts = {
        "host.os": "linux",
        "host.container": None,
        "host.wsl": None,
        "torch.version": "2.13.0+cu130",
        "torch.build": "cuda",
        "torch.cuda_available": True,
        "torch.cuda_devices": gpus,
        "torch.devices": ["cpu", *(f"cuda:{number}" for number in range(len(names)))],
        "nvidia.gpus": listed,
        "nvidia.visible": listed,
    }
    seen = toy.seen(
        facts | {name.replace("__", "."): each for name, each in more.items()}, red, *well
    )
    known = derive(seen.facts, load())
    return with_fixes(diagnose(msgspec.structs.replace(seen, facts=known), load()).findings, known)


@pytest.mark.parametrize(
    ("words", "follows"),
    [
        (_LAUNCH, "torch/cuda-illegal-memory-access"),
        (_CUBLAS, "torch/cuda-cublas-execution-failed"),
        ("RuntimeError: CUDA error: invalid program counter", "canary/torch-runtime"),
    ],
)
def test_the_card_stands_before_the_advice_for_programs(words: str, follows: str) -> None:
    told = _found(words)
    assert told[0].id == "card/one-of-several"
    assert told[0].severity is Severity.ERROR
    assert follows in told[0].symptoms
    assert "cuda:1 (NVIDIA RTX A4000, 0000:10:00.0, nvidia-smi 0)" in told[0].title
    first = told[0].fixes[0]
    assert "Leave this card out" in first.title
    assert "CUDA_VISIBLE_DEVICES" in str(first.steps[0])
    assert "0,2" in str(first.steps[0])
    commands = "\n".join(str(step) for fix in told[0].fixes for step in fix.steps)
    assert "--gpu-reset" in commands
    assert "dcgmi" in commands
    assert "xid" in commands
    assert "CUDA_LAUNCH_BLOCKING" not in commands


def test_the_case_that_fails_is_named() -> None:
    assert "(bfloat16)" in _found(_CUBLAS, case="bfloat16")[0].title


def test_a_variable_that_is_set_keeps_its_own_entries() -> None:
    told = _found(_LAUNCH, env__CUDA_VISIBLE_DEVICES="GPU-1,GPU-0,GPU-2")
    assert "GPU-1,GPU-2" in str(told[0].fixes[0].steps[0])


@pytest.mark.parametrize(
    ("words", "names"),
    [
        pytest.param(_LAUNCH, (_LARGE, _SMALL), id="no other card of this model"),
        pytest.param(
            "RuntimeError: CUDA error: out of memory", (_SMALL, _SMALL), id="a full memory"
        ),
        pytest.param(
            "RuntimeError: CUDA error: no kernel image is available for execution on the device",
            (_SMALL, _SMALL),
            id="no code for it",
        ),
        pytest.param(_LAUNCH, ("NVIDIA A100 MIG 1g.5gb",) * 2, id="parts of one card"),
    ],
)
def test_no_card_is_suspected(words: str, names: tuple[str, ...]) -> None:
    assert "card/one-of-several" not in [one.id for one in _found(words, names=names)]
