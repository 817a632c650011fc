"""`doctor fix` on a real torch whose torchvision is of another release."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from tests.command import doctor
from tests.environments import uv
from tests.fingerprint import changes, fingerprint

Clone = Callable[..., Path]
PROGRAM = """
import numpy, torch, torchvision
boxes = torch.tensor([[0.0, 0.0, 1.0, 1.0], [0.0, 0.0, 1.0, 1.0]])
assert torchvision.ops.nms(boxes, torch.ones(2), 0.5).tolist() == [0]
assert int(torch.from_numpy(numpy.ones(3)).sum()) == 3
"""


def test_a_plan_for_a_moved_torch_is_proved_with_the_real_program(
    clone: Clone, tmp_path: Path
) -> None:
    python = clone("torch", "--no-deps", "torchvision==0.20.1", "pillow")
    root = python.parent.parent
    before = fingerprint(root)
    env = {"PATH": f"{Path(uv()).parent}{os.pathsep}{os.environ['PATH']}"}
    said = doctor(
        *("fix", "--python", python, "--prove", "--format", "json"),
        *("--", "python", "-c", PROGRAM),
        cwd=tmp_path,
        env=env,
        timeout=600,
    )
    plan = said.report["plan"]
    assert plan["proof"]["verdict"] == "proved", plan["proof"]
    assert said.code == 0
    assert "1 before, 0 afterwards" in plan["proof"]["why"]
    assert [one["name"] for one in plan["changes"]] == ["torchvision"]
    assert len(plan["steps"]) == 1
    assert changes(before, fingerprint(root)) == []
