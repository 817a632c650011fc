"""The facts of a running torch, and what is left of them where torch does not run."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.checks.trial import only_result, run_check, run_check_warm

SCRIPT = "facts/torch_runtime.py"

WRONG_SUM = """
import torch
library = torch.library.Library("aten", "IMPL")
library.impl("add.out", lambda x, y, alpha=1, out=None: out.copy_(x), "CPU")
"""


@pytest.fixture
def impostor(tmp_path: Path) -> Path:
    """Return the file of a torch that comes before any other."""
    package = tmp_path / "first" / "torch"
    package.mkdir(parents=True)
    return package / "__init__.py"


def test_processor_is_alive_and_the_build_is_told(torch_python: Path, tmp_path: Path) -> None:
    document = run_check(torch_python, SCRIPT, tmp_path)
    facts = document["facts"]
    assert document["doing"] is None
    assert facts["torch.devices"][0] == "cpu"
    assert facts["torch.version"].startswith("2.13.0")
    assert isinstance(facts["torch.cxx11_abi"], bool)
    assert facts["torch.import_seconds"] > 0
    assert facts["torch.import_warnings"] == []
    assert (facts["torch.cudnn_version"], facts["torch.cudnn_error"]) == (92000, None)
    if facts["torch.cuda_version"]:
        assert all(arch.startswith("sm_") for arch in facts["torch.arch_list"])
    by_device = {result["device"]: result["verdict"] for result in document["results"]}
    assert by_device["cpu"] == "passed"
    assert "failed" not in by_device.values()


def test_device_that_adds_wrongly_is_not_alive(torch_python: Path, tmp_path: Path) -> None:
    document = run_check_warm(torch_python, SCRIPT, tmp_path, breaking=WRONG_SUM)
    result = next(result for result in document["results"] if result["device"] == "cpu")
    assert result["verdict"] == "failed"
    assert result["reason"] == "adding 0.5 to 0, 1, 2 on cpu gave [0.0, 1.0, 2.0]"
    assert "cpu" not in document["facts"]["torch.devices"]


def test_import_that_raises_is_a_failure(bare_python: Path, tmp_path: Path, impostor: Path) -> None:
    impostor.write_text("raise ImportError('libtorch_cuda.so: file too short')\n", encoding="utf-8")
    result = only_result(
        run_check(bare_python, SCRIPT, tmp_path, PYTHONPATH=str(impostor.parents[1]))
    )
    assert (result["device"], result["verdict"]) == (None, "failed")
    assert result["reason"] == "ImportError: libtorch_cuda.so: file too short"


def test_import_that_dies_leaves_its_record(
    bare_python: Path, tmp_path: Path, impostor: Path
) -> None:
    impostor.write_text("import os; os.abort()\n", encoding="utf-8")
    document = run_check(bare_python, SCRIPT, tmp_path, PYTHONPATH=str(impostor.parents[1]))
    assert document["exit_code"] != 0
    assert document["doing"] == {"device": None, "case": "import torch", "act": True}
    assert [result["verdict"] for result in document["results"]] == ["running"]


def test_absent_torch_is_a_skip(bare_python: Path, tmp_path: Path) -> None:
    result = only_result(run_check(bare_python, SCRIPT, tmp_path))
    assert (result["verdict"], result["reason"]) == ("skipped", "torch is not installed")


def test_build_for_intel_says_why_it_finds_no_gpu(torch_python: Path, tmp_path: Path) -> None:
    built = "import torch\ntorch.version.cuda, torch.version.xpu = None, '20250301'\n"
    document = run_check_warm(torch_python, SCRIPT, tmp_path, breaking=built)
    by_device = {
        result["device"]: (result["verdict"], result["reason"]) for result in document["results"]
    }
    assert document["facts"]["torch.xpu_devices"] == []
    assert by_device["xpu"] == ("skipped", document["facts"]["torch.xpu_error"])
    assert by_device["xpu"][1]
    assert by_device["cuda"] == ("skipped", "this torch is built for the GPUs of Intel")
