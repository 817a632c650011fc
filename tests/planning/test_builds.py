"""A fix that asks for another build of the same torch counts as one that ends its finding."""

from __future__ import annotations

import msgspec
import pytest

from doctor.model.facts import absent, present
from tests.planning.environments import judged, made_up


@pytest.mark.parametrize(
    ("here", "capability", "driver", "build"),
    [
        ("2.13.0+cu130", "7.0", "580.95.05", "2.13.0+cu126"),
        ("2.13.0+cu130", "8.6", "550.54.15", "2.13.0+cu126"),
    ],
    ids=["a V100 under CUDA 13", "a driver of CUDA 12"],
)
def test_the_build_that_the_machine_runs(
    here: str, capability: str, driver: str, build: str
) -> None:
    seen = made_up({"torch": here}, [], "13.0")
    gpu = {"index": 0, "name": "a GPU", "capability": capability}
    told = {
        "torch.build": "cuda",
        "torch.version": here,
        "torch.cuda_version": "13.0",
        "torch.arch_list": ["sm_75", "sm_80", "sm_86", "sm_90", "sm_100", "sm_120"],
        "python.version": "3.11.7",
        "python.installer": "uv",
        "python.executable": "/venv/bin/python",
        "nvidia.driver_version": driver,
        "nvidia.gpus": [gpu],
        "nvidia.visible": [gpu],
    }
    facts = {name: present(value, "") for name, value in told.items()}
    nothing = dict.fromkeys(("host.container", "host.wsl", "host.jetson"), absent(""))
    _, _, plan = judged(msgspec.structs.replace(seen, facts={**seen.facts, **facts, **nothing}))
    assert {one.name: one.after for one in plan.changes} == {"torch": build}
    assert plan.leaves == ()
    (step,) = plan.steps
    assert step.command is not None
    assert f"torch=={build}" in step.command.argv
    assert step.command.argv[step.command.argv.index("--index-url") + 1].endswith(build[-5:])
