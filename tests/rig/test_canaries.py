"""Check scripts one by one on GPUs that the CPU plays.

What each makes of an error of its device.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.checks.trial import CHECKS, Document, only_result, reasons, run_check_warm

pytestmark = pytest.mark.patient

_OPS, _MATMUL, _CROSS = (
    "canaries/noncontiguous_ops.py",
    "canaries/noncontiguous_matmul.py",
    "canaries/cross_device_add.py",
)
_PLAY = """
import importlib, sys, fake_gpus
importlib.reload(fake_gpus)  # at its start the interpreter was told of no GPUs
from fake_gpus import runtime
runtime.install(sys.modules["torch"])
"""
_LIBRARY = "CUDA error: CUBLAS_STATUS_NOT_SUPPORTED when calling cublasGemmStridedBatchedEx"


def _run(
    python: Path,
    folder: Path,
    script: str,
    *cards: dict[str, Any],
    device: str = "cuda:0",
    **settings: str,
) -> Document:
    played = {
        "FAKE_GPUS": json.dumps({"gpus": cards}),
        "CANARY_DEVICES": device,
        **settings,
    }
    return run_check_warm(python, script, folder, breaking=_PLAY, **played)


def test_a_dtype_that_a_library_refuses_is_a_failure(gpus_python: Path, tmp_path: Path) -> None:
    result = only_result(_run(gpus_python, tmp_path, _MATMUL, {"fails": {"bmm/float16": _LIBRARY}}))
    assert reasons(result) == {"dtypes": f"float16: RuntimeError: {_LIBRARY}"}
    assert result["data"]["dtypes"] == ["float32", "float64", "bfloat16"]


@pytest.mark.parametrize(("capability", "verdict"), [("7.0", "passed"), ("8.0", "failed")])
def test_bfloat16_may_lack_before_ampere_alone(
    gpus_python: Path, tmp_path: Path, capability: str, verdict: str
) -> None:
    card = {
        "capability": capability,
        "fails": {"bmm/bfloat16": '"bmm" not implemented for BFloat16'},
    }
    result = only_result(_run(gpus_python, tmp_path, _MATMUL, card))
    assert result["verdict"] == verdict
    assert any("bfloat16" in line for line in result["data"].get("told", ())) is (
        verdict == "passed"
    )


def test_an_error_that_stays_fails_one_case(gpus_python: Path, tmp_path: Path) -> None:
    result = only_result(_run(gpus_python, tmp_path, _OPS, {"fails": {"sort": 700}}))
    assert set(reasons(result)) == {"sort"}
    after = reasons(result, "skipped")
    assert set(after) == {"join", "convolution", "normalization", "conversion"}
    assert set(after.values()) == {"the process lost CUDA in case sort"}
    assert result["data"]["sticky"] is True


def test_an_error_that_goes_away_leaves_the_other_cases(gpus_python: Path, tmp_path: Path) -> None:
    result = only_result(_run(gpus_python, tmp_path, _OPS, {"fails": {"sort": 1}}))
    assert set(reasons(result)) == {"sort"}
    assert reasons(result, "skipped") == {}


@pytest.mark.parametrize(
    ("fault", "state"), [({"free": 0}, "full"), ({"fails": {"context": 46}}, "busy")]
)
def test_a_card_that_is_full_or_held_is_no_failure(
    gpus_python: Path, tmp_path: Path, fault: dict[str, Any], state: str
) -> None:
    result = only_result(_run(gpus_python, tmp_path, "facts/torch_runtime.py", fault))
    assert (result["verdict"], result["data"]["state"]) == ("skipped", state)
    assert ("0.0 of 79.6 GiB are free" in result["reason"]) is (state == "full")


def test_memory_that_runs_out_where_it_is_free_is_a_failure(
    gpus_python: Path, tmp_path: Path
) -> None:
    result = only_result(
        _run(gpus_python, tmp_path, "facts/torch_runtime.py", {"fails": {"kernel": 2}})
    )
    assert result["verdict"] == "failed"
    assert "79.1 of 79.6 GiB are free" in result["reason"]


def test_devices_are_described_one_by_one(gpus_python: Path, tmp_path: Path) -> None:
    document = _run(
        gpus_python,
        tmp_path,
        "facts/torch_runtime.py",
        {},
        {"fails": {"properties": 999}},
        {},
        device="cuda",
    )
    first, second, third = document["facts"]["torch.cuda_devices"]
    assert (first["uuid"], first["pci_bus_id"], first["capability"]) == (
        "GPU-000000a0-1111-2222-3333-444444444444",
        "0000:10:00.0",
        "9.0",
    )
    assert set(second) == {"index", "error"}
    assert third["pci_bus_id"] == "0000:12:00.0"
    assert document["results"] == []


def test_peers_are_those_that_answered(gpus_python: Path, tmp_path: Path) -> None:
    cards: list[dict[str, Any]] = [{}, {"fails": {"context": "hang"}}, {}]
    result = only_result(_run(gpus_python, tmp_path, _CROSS, *cards, CANARY_PEERS="cuda:0,cuda:2"))
    assert result["verdict"] == "passed"
    assert set(result["data"]["pairs"]) == {"cuda:0 to cuda:2"}


def test_a_gpu_meets_eight_others_at_most(gpus_python: Path, tmp_path: Path) -> None:
    result = only_result(_run(gpus_python, tmp_path, _CROSS, {"count": 11}, device="cuda:9"))
    assert set(result["data"]["pairs"]) == {
        f"cuda:9 to cuda:{other}" for other in (10, 0, 1, 2, 3, 4, 5, 6)
    }


def test_a_result_of_twenty_gib_wants_forty_that_are_free(
    gpus_python: Path, tmp_path: Path
) -> None:
    small = {"memory": 24 << 30}
    document = _run(gpus_python, tmp_path, "canaries/large_matmul.py", small, CANARY_TIER="deep")
    assert (
        "takes 20 GiB where 40 are free" in reasons(only_result(document), "skipped")["huge-batch"]
    )


def test_the_runtime_of_a_wheel_with_a_hash_in_its_name_is_found(
    gpus_python: Path, tmp_path: Path, built_libraries: Path
) -> None:
    """Wheels of PyTorch's index before the packages nvidia-* carry libcudart-<hash>.so.11.0."""
    library = shutil.copy(built_libraries / "libcuda.so.1", tmp_path / "libcudart-d0da41ae.so.11.0")
    asked = (
        "import ctypes, runpy, sys\n"
        f"ctypes.CDLL({str(library)!r})\n"
        f"sys.path.insert(0, {str(CHECKS)!r})\n"
        f"script = runpy.run_path({str(CHECKS / _CROSS)!r})\n"
        "print(*script['runtime_paths'](), sep='\\n')\n"
    )
    said = subprocess.run(
        [str(gpus_python), "-c", asked], capture_output=True, text=True, check=True
    )
    assert str(library) in said.stdout.splitlines()
