"""Commands that change a card or a kernel are told to whoever owns the machine."""

from __future__ import annotations

from typing import Any

import pytest

from doctor.model.issues import Action
from tests.fixes.test_prescribe import fixes, recipe

_RESET = Action(run=("nvidia-smi", "--gpu-reset", "-i", "0"), sudo=True)


def told(*steps: Action, note: str = "", **facts: Any) -> tuple[str, str]:
    (fix,) = fixes(recipe(*steps, title="Reset the GPU", note=note), **facts)
    return fix.title, fix.note


@pytest.mark.parametrize(
    ("facts", "title", "note"),
    [
        ({}, "Reset the GPU", ""),
        ({"host.container": "docker"}, "On the host of this container: Reset the GPU", ""),
        (
            {"host.container": "kubernetes"},
            "On the node of this pod: Reset the GPU",
            "kubectl cordon",
        ),
        (
            {"env.SLURM_JOB_ID": "881"},
            "Ask the administrators of the cluster: Reset the GPU",
            "--exclude",
        ),
    ],
)
def test_who_resets_a_gpu(facts: dict[str, Any], title: str, note: str) -> None:
    said = told(_RESET, **facts)
    assert said[0] == title
    assert note in said[1]


@pytest.mark.parametrize(
    "step",
    [
        Action(run=("nvidia-smi", "-q")),
        Action(run=("nvidia-smi", "nvlink", "-e", "-i", "0")),
        Action(run=("sh", "-c", "dmesg | grep -i xid"), sudo=True),
        Action(env={"CUDA_VISIBLE_DEVICES": "1"}),
    ],
)
def test_a_look_at_a_gpu_and_a_variable_are_the_reader_s_own(step: Action) -> None:
    assert told(step, **{"host.container": "docker"}) == ("Reset the GPU", "")


@pytest.mark.parametrize(
    "step",
    [
        Action(run=("sh", "-c", "update-initramfs -u && modprobe nvidia"), sudo=True),
        Action(run=("/usr/sbin/modprobe", "nvidia_uvm"), sudo=True),
        Action(run=("true",), sudo=True, reboot=True),
    ],
)
def test_a_module_and_a_restart_are_the_host_s(step: Action) -> None:
    assert told(step, **{"host.container": "podman"})[0].startswith("On the host")


def test_a_node_of_a_cluster_is_not_the_host_of_a_container() -> None:
    said = told(_RESET, note="On a cluster, drain the node.", **{"host.container": "docker"})
    assert said[0] == "On the host of this container: Reset the GPU"


def test_a_fix_that_names_the_host_says_it_once() -> None:
    said = told(_RESET, note="Run it on the host.", **{"host.container": "docker"})
    assert said == ("Reset the GPU", "Run it on the host.")
