"""Plans for real environments: what they change, and that they leave nothing."""

from __future__ import annotations

import pytest

from doctor.fixes.lines import command_line
from doctor.model.facts import present
from doctor.model.fixes import Command
from doctor.model.observation import Observation
from doctor.model.plans import Plan
from doctor.model.scales import Severity
from tests.planning.environments import after, judged, recorded

_PLANS = {
    "torch-moved-alone": {"torch": "2.5.1"},
    "extensions-for-cuda-12": {
        "autoawq": None,
        "autoawq-kernels": None,
        "bitsandbytes": "0.50.2",
        "cupy-cuda12x": None,
        "cupy-cuda13x": "the newest that fits",
        "numpy": ">=2.0.2",
        "onnxruntime-gpu": "1.31.1",
    },
    "interrupted": {"torch": "2.13.0", "torchvision": "0.28.0"},
    "companions-moved": {"fsspec": ">=2023.1.0,<=2024.9.0", "torchvision": "0.29.2"},
    "libraries-moved-by-hand": {
        "nvidia-cudnn-cu13": "9.20.0.48",
        "nvidia-nccl-cu13": "2.29.7",
        "nvidia-nvjitlink": ">=13.0.88,<14",
        "triton": "3.7.1",
    },
}


def _lines(plan: Plan) -> list[str]:
    return [command_line(step) for step in plan.steps]


@pytest.mark.parametrize("name", _PLANS)
def test_one_plan_ends_every_finding(name: str) -> None:
    found, _, plan = recorded(name)
    assert {one.name: one.after for one in plan.changes} == _PLANS[name]
    assert not plan.leaves
    assert {one.id for one in found if one.severity is not Severity.NOTE} <= {*plan.solves}


def test_the_libraries_that_two_generations_share_are_removed_before_torch_goes_back() -> None:
    _, _, plan = recorded("torch-moved-alone")
    removal, installation = _lines(plan)
    assert removal.endswith(
        "uninstall -y nvidia-cudnn-cu12 nvidia-cudnn-cu13 nvidia-nccl-cu12 nvidia-nccl-cu13"
    )
    assert installation.endswith("install torch==2.5.1")


def test_the_alternatives_differ_in_kind() -> None:
    _, _, plan = recorded("torch-moved-alone")
    forward, without = plan.alternatives
    assert {one.name: one.after for one in forward.changes}["torch"] == "2.14.1"
    assert {one.name for one in without.changes if one.after is None} == {"torchaudio", "xformers"}


def test_what_pip_renamed_is_removed_last_and_half_a_package_first() -> None:
    _, _, plan = recorded("interrupted")
    half, install, remains = plan.steps
    assert half.command is not None
    assert remains.command is not None
    assert half.command.argv[:2] == remains.command.argv[:2] == ("rm", "-rf")
    assert [word.rpartition("/")[2] for word in half.command.argv[2:]] == ["torch"]
    names = [word.rpartition("/")[2] for word in remains.command.argv[2:]]
    assert names == ["~orch", "~orch-2.5.1.dist-info", "~orchgen", "~unctorch"]
    assert "install torch==2.13.0 torchvision==0.28.0" in command_line(install)


def test_a_torch_that_stays_is_named_in_the_command() -> None:
    _, _, plan = recorded("companions-moved")
    assert command_line(plan.steps[-1]).endswith("torch==2.15.0")


@pytest.mark.parametrize("name", ["torch-moved-alone", "libraries-moved-by-hand"])
def test_a_plan_that_was_carried_out_has_nothing_left_to_do(name: str) -> None:
    _, facts, plan = recorded(name)
    _, _, again = judged(after(plan, facts))
    assert again.is_empty


def test_what_a_lock_says_comes_first() -> None:
    _, facts, _ = recorded("torch-moved-alone")
    locked = {
        "python.lock": present("/project/uv.lock", ""),
        "python.lock_differs": present({"torch": "2.5.1"}, ""),
    }
    _, _, plan = judged(Observation(facts={**facts, **locked}, static=True))
    (step,) = plan.steps
    assert step.command == Command(argv=("uv", "sync", "--inexact"), cwd="/project")
    assert plan.changes[0].after == "2.5.1"


def test_what_cannot_be_written_gets_an_environment_above() -> None:
    _, facts, _ = recorded("torch-moved-alone")
    closed = {"python.externally_managed": present(True, "")}
    _, _, plan = judged(Observation(facts={**facts, **closed}, static=True))
    make, *installs = [command_line(step) for step in plan.steps]
    assert "--system-site-packages" in make
    assert all(line.startswith(".venv-above/bin/python -m pip install") for line in installs)
    assert any("PEP 668" in note for note in plan.notes)


def test_on_windows_remains_are_removed_by_powershell() -> None:
    _, facts, _ = recorded("interrupted")
    _, _, plan = judged(Observation(facts={**facts, "host.os": present("windows", "")}))
    assert plan.steps[0].command is not None
    program, *_, line = plan.steps[0].command.argv
    assert program == "powershell"
    assert line.startswith("Remove-Item -Recurse -Force -LiteralPath '")
    assert not any("shutil.rmtree" in command_line(step) for step in plan.steps)


@pytest.mark.parametrize(
    ("build", "index"),
    [
        ({"torch.build": "cpu"}, "https://download.pytorch.org/whl/cpu"),
        ({"torch.build": "cuda"}, None),
        (
            {"torch.version": "2.15.0+cu126", "torch.cuda_tag": "cu126"},
            "https://download.pytorch.org/whl/cu126",
        ),
    ],
)
def test_a_build_that_the_default_index_lacks_comes_from_pytorch(
    build: dict[str, str], index: str | None
) -> None:
    _, facts, _ = recorded("companions-moved")
    other = {name: present(value, "") for name, value in build.items()}
    _, _, plan = judged(Observation(facts={**facts, **other}, static=True))
    assert plan.steps[-1].command is not None
    argv = plan.steps[-1].command.argv
    found = argv[argv.index("--extra-index-url") + 1] if "--extra-index-url" in argv else None
    assert found == index
