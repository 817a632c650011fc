"""Compilation works, fails for want of a compiler, and on torch 2.5.1 keeps a constant symbolic."""

from __future__ import annotations

from pathlib import Path

from doctor.scripts import read_check
from tests.checks.trial import CHECKS, only_result, reasons, run_check

SCRIPT = "canaries/inductor_compile.py"


def test_healthy_processor_passes_every_case(torch_python: Path, tmp_path: Path) -> None:
    result = only_result(run_check(torch_python, SCRIPT, tmp_path, CANARY_DEVICES="cpu"))
    assert (result["verdict"], result["reason"]) == ("passed", "")
    assert set(result["cases"]) == set(read_check(CHECKS / SCRIPT).header.cases)
    assert result["data"]["how"] == "dynamo-only"


def test_absent_compiler_is_the_innermost_error(torch_python: Path, tmp_path: Path) -> None:
    document = run_check(torch_python, SCRIPT, tmp_path, CANARY_DEVICES="cpu", CXX="/nonexistent")
    failed = reasons(only_result(document))
    assert set(failed) == {"forward"}
    assert failed["forward"].startswith("InvalidCxxCompiler: No working C++ compiler found")
    assert "Traceback" in document["log"]


def test_torch_251_keeps_the_constant_symbolic(torch251_python: Path, tmp_path: Path) -> None:
    # Without a compiler the other cases end at once, and this one needs none.
    result = only_result(run_check(torch251_python, SCRIPT, tmp_path, CANARY_DEVICES="cpu", CXX="/nonexistent"))
    said = reasons(result)["user-triton-constant"]
    assert said == "tl.constexpr NUMEL was handed to the backend as the symbol s0, expected the number 517"
