"""A traceback that is pasted without its last line is a failure, whose error is not in the text."""

from __future__ import annotations

import pytest

from doctor.model.facts import value_of
from doctor.model.observation import Log
from doctor.pipeline.logs import observation_from_logs

FRAMES = """\
  File "/opt/venv/lib/python3.9/site-packages/xformers/ops/fmha/__init__.py", line 305, in _forward
    op = _dispatch_fw(inp)
  File "/opt/venv/lib/python3.9/site-packages/xformers/ops/fmha/dispatch.py", line 53, in _
"""


def owner(text: str) -> object:
    log = Log(source="log", lines=tuple(text.splitlines()))
    return value_of(observation_from_logs([log]).facts, "log.owner")


def test_the_last_frame_is_named() -> None:
    told = owner(FRAMES)
    assert isinstance(told, dict)
    assert (told["kind"], told["line"]) == ("traceback-cut", 3)
    assert "dispatch.py" in str(told["text"])


def test_an_error_that_stands_there_is_told_itself() -> None:
    told = owner(f"{FRAMES}    _dispatch\nNotImplementedError: No operator found")
    assert isinstance(told, dict)
    assert told["kind"] != "traceback-cut"


@pytest.mark.parametrize(
    "text",
    [
        '  File "/home/ada/train.py", line 3, in main\n',
        FRAMES + "epoch 1 of 10, loss 0.31\n" * 40,
        '"' * 5000 + ", line 1, in x\n" + 'File "' * 4000,
    ],
    ids=["one frame", "a run that goes on", "hostile"],
)
def test_what_is_no_cut_traceback(text: str) -> None:
    assert owner(text) is None
