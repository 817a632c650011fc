"""A healthy torch on a machine without a GPU.

No alarm, and no silence about what could not be seen.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.command import check, doctor
from tests.conftest import Healthy

_CANARIES = (
    "bit-hashes",
    "cross-device-add",
    "inductor-compile",
    "large-matmul",
    "noncontiguous-attention",
    "noncontiguous-matmul",
    "noncontiguous-ops",
)


@pytest.fixture(autouse=True)
def _no_gpu() -> None:
    if Path("/dev/nvidiactl").exists():
        pytest.skip("this machine has a GPU")


def test_nothing_is_found(healthy: Healthy) -> None:
    said = healthy.said
    assert said.code == 0
    assert [
        finding["id"] for finding in said.report["findings"] if finding["severity"] != "note"
    ] == []
    assert said.report["probe_failures"] == []
    assert said.report["summary"]["broken"] == 0


@pytest.mark.parametrize("canary", _CANARIES)
def test_the_canaries_pass_on_the_cpu(healthy: Healthy, canary: str) -> None:
    assert {outcome["device"]: outcome["verdict"] for outcome in healthy.said.outcomes(canary)}[
        "cpu"
    ] == "passed"


def test_what_was_not_reached_is_skipped_with_its_reason(healthy: Healthy) -> None:
    skipped = {
        outcome["device"] or outcome["id"]: outcome["reason"]
        for outcome in healthy.said.report["outcomes"]
        if outcome["verdict"] == "skipped"
    }
    assert "NVIDIA driver" in skipped["cuda"]
    assert "toolkit" in skipped["flash-attn-build"]


def test_the_run_touched_neither_patient_nor_project_nor_home(healthy: Healthy) -> None:
    assert {name: touched for name, touched in healthy.touched.items() if touched} == {}


def test_the_terminal_says_what_was_not_checked(torch_python: Path, tmp_path: Path) -> None:
    said = doctor("check", "--python", torch_python, "--only", "cross-device-add", cwd=tmp_path)
    assert said.code == 0
    assert "cuda" in said.out.lower()
    assert "not checked" in said.out.lower() or "skipped" in said.out.lower()


def test_a_device_that_was_expected_and_is_not_there_is_an_error(
    torch_python: Path, tmp_path: Path
) -> None:
    said = check(
        "--python", torch_python, "--only", "cross-device-add", "--expect", "cuda", cwd=tmp_path
    )
    assert said.code == 1
    assert said.finding("expect/cuda")["severity"] == "error"


def test_an_environment_without_torch_is_nothing_to_judge(
    bare_python: Path, tmp_path: Path
) -> None:
    said = check("--python", bare_python, cwd=tmp_path)
    assert said.code == 4
    assert said.report["facts"]["torch.version"]["state"] == "absent"
