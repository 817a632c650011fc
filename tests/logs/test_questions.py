"""What to ask next of a log that nobody knows."""

from __future__ import annotations

import pytest

from doctor.events.owner import owning_event
from doctor.events.reading import events_of
from doctor.logs.questions import question
from doctor.model.observation import Log


@pytest.mark.parametrize(
    ("text", "asks"),
    [
        (
            "torch.distributed.DistBackendError: NCCL error in: x.cpp:3, internal error",
            "NCCL_DEBUG=INFO",
        ),
        ("RuntimeError: CUDA error: something new", "CUDA_LAUNCH_BLOCKING=1"),
        ("NCCL WARN x\nRuntimeError: it failed", "NCCL_DEBUG=INFO"),
        ("torch._dynamo.exc.InternalError: what", "TORCHDYNAMO_VERBOSE=1"),
        ("Segmentation fault (core dumped)", "PYTHONFAULTHANDLER=1"),
        ("ImportError: DLL load failed while importing x", "dumpbin"),
        ("thread 'main' panicked at src/main.rs:3", "RUST_BACKTRACE=1"),
        (
            (
                "subprocess.CalledProcessError: Command '['ninja', '-v']' returned non-zero exit "
                "status 1."
            ),
            "MAX_JOBS=1",
        ),
        ("ValueError: frobnicated", "--env FILE"),
    ],
)
def test_the_question_follows_from_what_failed(text: str, asks: str) -> None:
    lines = tuple(text.split("\n"))
    assert asks in question(owning_event(events_of(Log(source="log", lines=lines))), lines)


def test_without_a_complaint_there_is_a_question_too() -> None:
    assert question(None, ())
