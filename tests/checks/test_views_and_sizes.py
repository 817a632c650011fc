"""The canaries over views pass with an older torch too, and every size of the deep tier passes.

Faults are in the gallery.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.checks.trial import only_result, reasons, run_check_warm

SCRIPTS = (
    "canaries/noncontiguous_attention.py",
    "canaries/noncontiguous_matmul.py",
    "canaries/noncontiguous_ops.py",
)


@pytest.mark.parametrize("script", SCRIPTS)
def test_older_torch_passes_too(torch251_python: Path, tmp_path: Path, script: str) -> None:
    result = only_result(run_check_warm(torch251_python, script, tmp_path, CANARY_DEVICES="cpu"))
    assert (result["verdict"], result["reason"]) == ("passed", "")


def test_deep_tier_leaves_no_size_out(torch_python: Path, tmp_path: Path) -> None:
    result = only_result(
        run_check_warm(
            torch_python,
            "canaries/large_matmul.py",
            tmp_path,
            CANARY_DEVICES="cpu",
            CANARY_TIER="deep",
        )
    )
    assert (result["verdict"], reasons(result, "skipped")) == ("passed", {})


def test_precision_that_is_asked_for_in_the_new_way_is_understood(
    torch_python: Path, tmp_path: Path
) -> None:
    asked = "import torch\ntorch.backends.cuda.matmul.fp32_precision = 'tf32'\n"
    result = only_result(
        run_check_warm(torch_python, SCRIPTS[0], tmp_path, breaking=asked, CANARY_DEVICES="cpu")
    )
    assert (result["verdict"], result["reason"]) == ("passed", "")
