"""A healthy processor passes the canaries over views and sizes, on the newest torch and on an older one; faults are in the gallery."""

from __future__ import annotations

from pathlib import Path

import pytest

from doctor.scripts import read_check
from tests.checks.trial import CHECKS, only_result, reasons, run_check

SCRIPTS = ("canaries/noncontiguous_attention.py", "canaries/noncontiguous_ops.py", "canaries/large_matmul.py")


@pytest.mark.parametrize("script", SCRIPTS)
def test_healthy_processor_passes_every_case(torch_python: Path, tmp_path: Path, script: str) -> None:
    result = only_result(run_check(torch_python, script, tmp_path, CANARY_DEVICES="cpu"))
    assert (result["verdict"], result["reason"]) == ("passed", "")
    assert set(result["cases"]) == set(read_check(CHECKS / script).header.cases)
    assert set(reasons(result, "skipped")) <= {"wide-columns", "huge-batch"}


@pytest.mark.parametrize("script", [*SCRIPTS[:2], "canaries/noncontiguous_matmul.py"])
def test_older_torch_passes_too(torch251_python: Path, tmp_path: Path, script: str) -> None:
    result = only_result(run_check(torch251_python, script, tmp_path, CANARY_DEVICES="cpu"))
    assert (result["verdict"], result["reason"]) == ("passed", "")


def test_deep_tier_leaves_no_size_out(torch_python: Path, tmp_path: Path) -> None:
    result = only_result(run_check(torch_python, SCRIPTS[2], tmp_path, CANARY_DEVICES="cpu", CANARY_TIER="deep"))
    assert (result["verdict"], reasons(result, "skipped")) == ("passed", {})
