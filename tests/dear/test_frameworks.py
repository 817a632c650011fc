"""Real wheels of JAX and ONNX Runtime, built for GPUs, on a machine whose driver does not start."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import environments
from tests.checks.trial import only_result, run_check
from tests.rig import parts

pytestmark = pytest.mark.dear


def test_jax_tells_what_its_plugin_says(tmp_path: Path) -> None:
    python = environments.variant(
        "bare",
        "jax==0.10.2",
        "jax-cuda12-plugin==0.10.2",
        "jax-cuda12-pjrt==0.10.2",
        "nvidia-cuda-runtime-cu12",
    )
    try:
        driver = parts.library("driver", tmp_path / "driver")
        document = run_check(
            python,
            "facts/jax_devices.py",
            tmp_path,
            LD_LIBRARY_PATH=str(driver.parent),
            FAKE_CUINIT="3",
        )
        assert document["facts"]["jax.build"] == "cuda"
        assert document["facts"]["jax.devices"] == ["cpu"]
        assert "jax_plugins.xla_cuda12.initialize()" in document["facts"]["jax.error"]
        assert only_result(document)["verdict"] == "skipped"
    finally:
        environments.remove(python)


def test_onnxruntime_tells_which_library_it_misses(tmp_path: Path) -> None:
    python = environments.variant("bare", "onnxruntime-gpu==1.31.1")
    try:
        document = run_check(python, "facts/onnxruntime_devices.py", tmp_path)
        assert document["facts"]["onnxruntime.build"] == "cuda"
        assert (
            "libcublasLt.so.13: cannot open shared object file"
            in document["facts"]["onnxruntime.error"]
        )
        assert only_result(document)["verdict"] == "skipped"
    finally:
        environments.remove(python)
