"""A device is reached where a check came to a verdict on it.

That a program was built for it is not enough.
"""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from doctor.judge.expectations import is_device, unmet
from doctor.model.observation import Deselected, Observation, Target, TargetKind
from doctor.model.outcomes import Case, Outcome, Verdict
from tests import toy

_WORKSPACE = Target(name="cargo", kind=TargetKind.CARGO, path="/ws")


def candle(verdict: str, device: str, reason: str = "", **cases: str) -> Outcome:
    parts = {
        name.replace("_", "-"): Case(verdict=Verdict(case), reason=f"{name} {case}")
        for name, case in cases.items()
    }
    return Outcome(
        id="candle-cross-device-add",
        target="cargo",
        verdict=Verdict(verdict),
        device=device,
        reason=reason,
        cases=parts,
    )


def seen(
    *outcomes: Outcome, facts: dict[str, Any] | None = None, deselected: tuple[Deselected, ...] = ()
) -> Observation:
    return toy.seen(facts, *outcomes, targets=(toy.PYTHON, _WORKSPACE), deselected=deselected)


@pytest.mark.parametrize(
    "word",
    [
        "cuda",
        "cuda:1",
        "cuda:16",
        "rocm",
        "rocm:8",
        "xpu",
        "xpu:2",
        "mps",
        "candle-cuda",
        "candle-metal",
    ],
)
def test_a_device_has_a_name(word: str) -> None:
    assert is_device(word)


@pytest.mark.parametrize(
    "word",
    ["", "cuda:0", "cuda:", "cuda:x", "cuda:1\n", "metal", "candle-mps", "CUDA", "mps:1", "cuda:٣"],
)
def test_another_word_is_no_device(word: str) -> None:
    assert not is_device(word)


@pytest.mark.parametrize(
    ("word", "alive", "met"),
    [
        ("cuda", ["cpu", "cuda:0"], True),
        ("cuda:2", ["cpu", "cuda:0", "cuda:1"], True),
        ("cuda:2", ["cpu", "cuda:0"], False),
        ("mps", ["cpu", "mps"], True),
        ("mps", ["cpu"], False),
    ],
)
def test_torch_reaches_what_answered(word: str, alive: list[str], met: bool) -> None:
    assert (unmet([word], seen(facts={"torch.devices": alive})) == ()) is met


@pytest.mark.parametrize(
    ("word", "build", "alive", "met"),
    [
        ("rocm", "rocm", ["cpu", "cuda:0"], True),
        ("rocm:2", "rocm", ["cpu", "cuda:0"], False),
        ("rocm", "cuda", ["cpu", "cuda:0"], False),
        ("xpu", "xpu", ["cpu", "xpu:0"], True),
        ("xpu", "xpu", ["cpu"], False),
    ],
)
def test_gpus_of_amd_and_intel_can_be_expected(
    word: str, build: str, alive: list[str], met: bool
) -> None:
    """Torch calls AMD's GPUs cuda:N; the build tells whose they are."""
    assert (unmet([word], seen(facts={"torch.devices": alive, "torch.build": build})) == ()) is met


@pytest.mark.parametrize(
    ("outcome", "met"),
    [
        (candle("passed", "cuda:0", compile="passed", one_handle="passed"), True),
        (
            candle("failed", "cuda:0", compile="passed", one_handle="passed", two_handles="failed"),
            True,
        ),
        (candle("failed", "cuda:0", "the device does not open", compile="passed"), False),
        (candle("failed", "cuda:0", compile="passed", one_handle="failed"), False),
        (candle("skipped", "cuda:0", "there is no NVIDIA GPU on this machine"), False),
        (candle("passed", "cpu", compile="passed", one_handle="passed"), False),
        (candle("passed", "metal", compile="passed", one_handle="passed"), False),
    ],
    ids=[
        "passed",
        "wrong with two handles",
        "built, not opened",
        "does not add",
        "skipped",
        "the processor",
        "another device",
    ],
)
def test_candle_reaches_a_device_on_which_its_program_came_to_a_number(
    outcome: Outcome, met: bool
) -> None:
    assert (unmet(["candle-cuda"], seen(outcome)) == ()) is met


@pytest.mark.parametrize(
    ("word", "observation", "why"),
    [
        (
            "cuda",
            seen(facts={"torch.cuda_error": "Found no NVIDIA driver"}),
            "Found no NVIDIA driver",
        ),
        ("cuda", seen(), "did not run"),
        ("rocm", seen(facts={"torch.build": "cuda"}), "This torch is built for cuda"),
        (
            "xpu",
            seen(facts={"torch.build": "xpu", "torch.xpu_error": "No XPU devices are available."}),
            "No XPU devices are available",
        ),
        (
            "cuda:2",
            seen(facts={"torch.devices": ["cuda:0"], "torch.cuda_error": None}),
            "1 of 2 answered: cuda:0",
        ),
        ("candle-cuda", seen(candle("skipped", "cuda:0", "there is no nvcc")), "there is no nvcc"),
        (
            "candle-metal",
            seen(deselected=(Deselected(id="candle-cross-device-add", summary="Adds"),)),
            "--tier deep",
        ),
        ("candle-metal", seen(), "--features"),
        ("candle-metal", msgspec.structs.replace(seen(), targets=()), "--project"),
    ],
)
def test_an_unmet_expectation_says_why(word: str, observation: Observation, why: str) -> None:
    (missed,) = unmet([word], observation)
    assert why in missed.message
    assert missed.id == f"expect/{word.replace(':', '-')}"
