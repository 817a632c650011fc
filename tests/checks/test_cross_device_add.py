"""An add that loses its second operand and a copy that loses a byte turn the canary red."""

from __future__ import annotations

from pathlib import Path

from doctor.scripts import read_check
from tests.checks.trial import CHECKS, only_result, reasons, run_check

SCRIPT = "canaries/cross_device_add.py"

LOSE_OPERAND = """
import torch
library = torch.library.Library("aten", "IMPL")
library.impl("add.Tensor", lambda x, y, alpha=1: x.clone(), "CPU")
"""

LOSE_LAST_BYTE = """
import torch
whole = torch.Tensor.copy_
torch.Tensor.copy_ = lambda to, source, non_blocking=False: whole(to[:-1], source[:-1], non_blocking)
"""


def test_healthy_processor_passes(torch_python: Path, tmp_path: Path) -> None:
    result = only_result(run_check(torch_python, SCRIPT, tmp_path, CANARY_DEVICES="cpu"))
    assert (result["verdict"], result["reason"]) == ("passed", "")
    assert set(result["cases"]) == set(read_check(CHECKS / SCRIPT).header.cases)
    assert set(reasons(result, "skipped")) == {"mixed-devices", "every-pair"}


def test_add_that_loses_its_second_operand_fails(torch_python: Path, tmp_path: Path) -> None:
    result = only_result(run_check(torch_python, SCRIPT, tmp_path, breaking=LOSE_OPERAND, CANARY_DEVICES="cpu"))
    assert set(reasons(result)) == {"two-handles"}
    assert "x + y on two handles of cpu: 16384 of 16384 sums are wrong" in result["reason"]


def test_copy_that_loses_a_byte_fails(torch_python: Path, tmp_path: Path) -> None:
    result = only_result(run_check(torch_python, SCRIPT, tmp_path, breaking=LOSE_LAST_BYTE, CANARY_DEVICES="cpu"))
    assert set(reasons(result)) == {"round-trip"}
    assert "host to cpu and back, pageable: 1 of 1 bytes differ" in result["reason"]
