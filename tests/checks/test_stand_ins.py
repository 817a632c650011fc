"""A stand-in for torch in sys.modules is recognized as that, by every check, and breaks none."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from doctor.catalog.check_headers import read_check
from doctor.model.observation import TargetKind
from tests.checks.trial import SCRIPTS, run_check

MOCK = """
import sys
from unittest.mock import MagicMock
sys.modules["torch"] = MagicMock()
"""
STUB = """
import sys
from types import ModuleType
from unittest.mock import MagicMock
stub = sys.modules["torch"] = ModuleType("torch")
stub.__version__, stub.Tensor, stub._C, stub.nn = "2.13.0", type("Tensor", (), {}), MagicMock(), None
"""  # noqa: E501
HEADERS = {script: read_check(script).header for script in SCRIPTS}
OF_INTERPRETERS = [script for script in SCRIPTS if HEADERS[script].target is TargetKind.INTERPRETER]
OF_TORCH = [
    script
    for script in OF_INTERPRETERS
    if "torch" in HEADERS[script].needs
    and script.stem != "flash_attn_unit"  # wants a toolkit first
]


@pytest.mark.parametrize("stand_in", [MOCK, STUB], ids=["mock", "stub"])
@pytest.mark.parametrize("script", OF_INTERPRETERS, ids=lambda script: script.stem)
def test_no_script_breaks_on_a_stand_in_for_torch(
    tmp_path: Path, script: Path, stand_in: str
) -> None:
    name = f"{script.parent.name}/{script.name}"
    document = run_check(Path(sys.executable), name, tmp_path, breaking=stand_in)
    assert (document["exit_code"], document["doing"]) == (0, None), document["log"]
    if script in OF_TORCH:
        last = document["results"][-1]
        assert (last["device"], last["verdict"]) == (None, "failed")
        assert "stand-in" in last["reason"]
        assert "a unittest.mock.MagicMock" in last["reason"]
