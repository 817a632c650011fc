"""A healthy processor passes.

Sums and copies that are silently wrong, and pairs of GPUs, are in the gallery.
"""

from __future__ import annotations

from pathlib import Path

from doctor.catalog.check_headers import read_check
from tests.checks.trial import CHECKS, only_result, reasons, run_check_warm

SCRIPT = "canaries/cross_device_add.py"


def test_healthy_processor_passes(torch_python: Path, tmp_path: Path) -> None:
    result = only_result(run_check_warm(torch_python, SCRIPT, tmp_path, CANARY_DEVICES="cpu"))
    assert (result["verdict"], result["reason"]) == ("passed", "")
    assert set(result["cases"]) == set(read_check(CHECKS / SCRIPT).header.cases)
    assert set(reasons(result, "skipped")) == {
        "mixed-devices",
        "every-pair",
        "peer-access-off",
        "pairs-through-host",
    }
