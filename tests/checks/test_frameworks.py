"""JAX and ONNX Runtime name their devices, or say why they reach none.

The frameworks are played here by modules that say what real ones were seen to say; the real ones
are installed by the dear tests.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.checks.trial import Document, only_result, run_check

_JAX = """
import logging, os
class Device:
    def __init__(self, platform, id): self.platform, self.id = platform, id
def devices(kind=None):
    if {fails!r}:
        logging.getLogger("jax._src.xla_bridge").error("Jax plugin configuration error: Exception when calling initialize(): %s", {fails!r})
        return [Device("cpu", 0)]
    return [Device("gpu", 0), Device("gpu", 1)]
class Sum(list):
    def __add__(self, more): return Sum(value + more + ({wrong} if self.where == 1 else 0) for value in self)
def device_put(values, device):
    summed = Sum(values); summed.where = device.id
    return summed
"""  # noqa: E501
_NUMPY = """
def arange(count, dtype): return [float(value) for value in range(count)]
class asarray:
    def __init__(self, values): self.values = values
    def tolist(self): return list(self.values)
"""
_RUNTIME = """
import os
class SessionOptions: intra_op_num_threads = 0
def get_available_providers(): return {providers!r}
tries = []
{more}
class InferenceSession:
    def __init__(self, model, options, providers):
        assert model[:2] == b"\\x08\\x08" and b"Add" in model
        self.providers = providers
        if {says!r} and "CPU" not in providers[0] and not tries:
            os.write(2, b"\\x1b[1;31m06:38:07 [E:onnxruntime:Default, bridge.cc:2458 operator()] " + {says!r}.encode() + b"\\n")
            self.providers = ["CPUExecutionProvider"]
    def get_providers(self): return self.providers
    def run(self, names, fed):
        class Result:
            def tolist(self): return [2 * value for value in fed["x"]]
        return [Result()]
import numpy
"""  # noqa: E501
_GPU_PROVIDERS = ["TensorrtExecutionProvider", "CUDAExecutionProvider", "CPUExecutionProvider"]


def _played(folder: Path, name: str, body: str, distribution: str = "") -> str:
    """Return a folder for PYTHONPATH with a module, two functions of numpy, and a distribution."""
    home = folder / "played"
    home.mkdir(exist_ok=True)
    (home / f"{name}.py").write_text(body, encoding="utf-8")
    (home / "numpy.py").write_text(_NUMPY, encoding="utf-8")
    if distribution:
        info = home / f"{distribution.replace('-', '_')}-0.10.2.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: {distribution}\nVersion: 0.10.2\n", encoding="utf-8"
        )
    return str(home)


def _jax(
    python: Path,
    folder: Path,
    *,
    fails: str = "",
    wrong: int = 0,
    plugin: str = "jax-cuda12-plugin",
    **settings: str,
) -> Document:
    body = _JAX.format(fails=fails, wrong=wrong) + "import numpy\n"
    path = _played(folder, "jax", body, plugin)
    return run_check(python, "facts/jax_devices.py", folder, PYTHONPATH=path, **settings)


def test_jax_reaches_its_gpus(bare_python: Path, tmp_path: Path) -> None:
    document = _jax(bare_python, tmp_path)
    assert document["facts"] == {
        "jax.build": "cuda",
        "jax.plugin": "jax-cuda12-plugin 0.10.2",
        "jax.devices": ["cuda:0", "cuda:1"],
        "jax.error": None,
    }
    assert only_result(document)["verdict"] == "passed"


def test_jax_that_adds_wrongly_on_one_gpu_fails(bare_python: Path, tmp_path: Path) -> None:
    result = only_result(_jax(bare_python, tmp_path, wrong=1))
    assert (result["verdict"], result["reason"]) == (
        "failed",
        "adding 0.5 to 0, 1, 2 on cuda:1 gave [1.5, 2.5, 3.5]",
    )


def test_words_of_a_plugin_that_does_not_start_are_kept(bare_python: Path, tmp_path: Path) -> None:
    document = _jax(
        bare_python, tmp_path, fails="operation cuInit(0) failed: CUDA_ERROR_SYSTEM_DRIVER_MISMATCH"
    )
    facts, result = document["facts"], only_result(document)
    assert (facts["jax.build"], facts["jax.devices"]) == ("cuda", ["cpu"])
    assert "cuInit(0) failed: CUDA_ERROR_SYSTEM_DRIVER_MISMATCH" in facts["jax.error"]
    assert result["verdict"] == "skipped"
    assert "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH" in result["reason"]


_RAISES = """
import os
def devices(kind=None):
    if kind is None:
        os.write(2, b"E1122 16:43:34.246444    2662 platform_util.cc:279] " + {says!r}.encode() + b"\\n")
    raise RuntimeError("Unable to initialize backend 'cuda': INTERNAL: no supported devices found for platform CUDA")
import numpy
"""  # noqa: E501
_EXECUTOR = "Failed to create stream executor for device CUDA:0: : "


@pytest.mark.skipif(os.name != "posix", reason="standard error is copied by tee")
@pytest.mark.parametrize(
    ("says", "verdict", "state"),
    [
        ("CUDA_ERROR_OUT_OF_MEMORY: out of memory", "skipped", "full"),
        ("CUDA_ERROR_DEVICE_UNAVAILABLE: busy or unavailable", "skipped", "busy"),
        ("CUDA_ERROR_ECC_UNCORRECTABLE: uncorrectable ECC error encountered", "failed", None),
        ("no reason", "failed", None),
    ],
)
def test_the_reason_that_only_standard_error_holds_is_taken_from_there(
    bare_python: Path, tmp_path: Path, says: str, verdict: str, state: str | None
) -> None:
    body = _RAISES.format(says=_EXECUTOR + says)
    path = _played(tmp_path, "jax", body + "numpy = numpy\n", "jax-cuda13-plugin")
    document = run_check(bare_python, "facts/jax_devices.py", tmp_path, PYTHONPATH=path)
    result = only_result(document)
    assert (result["verdict"], result["data"].get("state")) == (verdict, state)
    assert "no supported devices found for platform CUDA" in document["facts"]["jax.error"]
    if says.startswith("CUDA_"):
        assert _EXECUTOR + says in result["reason"]
        assert document["facts"]["jax.error"].endswith(says)
    assert document["facts"].get("jax.devices") == ([] if state else None)
    assert f"platform_util.cc:279] {_EXECUTOR}{says}" in document["log"]


@pytest.mark.skipif(os.name != "posix", reason="standard error is copied by tee")
def test_the_last_words_of_a_library_that_aborts_are_not_lost(
    bare_python: Path, tmp_path: Path
) -> None:
    body = (
        "import os\ndef devices(kind=None):\n    os.write(2, b'F1122 Check failed: stream')\n"
        "    os.abort()\nimport numpy\n"
    )
    path = _played(tmp_path, "jax", body, "jax-cuda13-plugin")
    document = run_check(bare_python, "facts/jax_devices.py", tmp_path, PYTHONPATH=path)
    assert document["exit_code"] < 0
    assert "F1122 Check failed: stream" in document["log"]


def test_jax_that_somebody_keeps_on_the_processor_misses_nothing(
    bare_python: Path, tmp_path: Path
) -> None:
    document = _jax(bare_python, tmp_path, fails="none", JAX_PLATFORMS="cpu")
    assert document["facts"]["jax.error"] is None
    assert "jax.devices" not in document["facts"]
    assert only_result(document)["reason"] == "JAX_PLATFORMS=cpu keeps JAX on the processor"


@pytest.mark.parametrize(
    ("plugin", "build"),
    [("jax-rocm7-plugin", "rocm"), ("jax-metal", "metal"), ("something", "cpu")],
)
def test_the_plugin_says_what_jax_is_built_for(
    bare_python: Path, tmp_path: Path, plugin: str, build: str
) -> None:
    assert _jax(bare_python, tmp_path, plugin=plugin)["facts"]["jax.build"] == build


def _runtime(
    python: Path,
    folder: Path,
    *,
    says: str = "",
    more: str = "",
    providers: list[str] = _GPU_PROVIDERS,
) -> Document:
    path = _played(
        folder, "onnxruntime", _RUNTIME.format(says=says, more=more, providers=providers)
    )
    return run_check(python, "facts/onnxruntime_devices.py", folder, PYTHONPATH=path)


def test_provider_that_starts_passes(bare_python: Path, tmp_path: Path) -> None:
    document = _runtime(bare_python, tmp_path)
    assert document["facts"] == {
        "onnxruntime.providers": _GPU_PROVIDERS,
        "onnxruntime.build": "cuda",
        "onnxruntime.error": None,
    }
    assert only_result(document)["verdict"] == "passed"


def test_a_fall_back_to_the_processor_is_told_with_its_reason(
    bare_python: Path, tmp_path: Path
) -> None:
    document = _runtime(
        bare_python,
        tmp_path,
        says="CUDA failure 35: CUDA driver version is insufficient for CUDA runtime version",
    )
    assert (
        document["facts"]["onnxruntime.error"]
        == "CUDA failure 35: CUDA driver version is insufficient for CUDA runtime version"
    )
    assert only_result(document)["verdict"] == "skipped"
    assert "operator()" in document["log"]


@pytest.mark.parametrize("helps", [True, False])
def test_libraries_that_pip_installed_are_tried_too(
    bare_python: Path, tmp_path: Path, helps: bool
) -> None:
    missing = (
        "Failed to load library with error: libcublasLt.so.13: cannot open shared object "
        "file: No such file or directory"
    )
    document = _runtime(
        bare_python,
        tmp_path,
        says=missing,
        more=f"def preload_dlls(): {'tries.append(1)' if helps else 'pass'}",
    )
    result = only_result(document)
    assert result["verdict"] == ("passed" if helps else "skipped")
    assert document["facts"]["onnxruntime.error"] == (
        None if helps else missing.replace("Failed to load library ", "")
    )
    assert any("onnxruntime.preload_dlls()" in line for line in result["data"]["told"]) is helps


def test_build_for_the_processor_passes(bare_python: Path, tmp_path: Path) -> None:
    document = _runtime(
        bare_python,
        tmp_path,
        providers=["AzureExecutionProvider", "CPUExecutionProvider"],
        says="never said",
    )
    assert document["facts"]["onnxruntime.build"] == "cpu"
    assert only_result(document)["verdict"] == "passed"


@pytest.mark.parametrize("name", ["jax", "onnxruntime"])
def test_absent_framework_is_a_skip(bare_python: Path, tmp_path: Path, name: str) -> None:
    result = only_result(run_check(bare_python, f"facts/{name}_devices.py", tmp_path))
    assert (result["verdict"], result["reason"]) == ("skipped", f"{name} is not installed")


def test_a_folder_that_another_package_left_empty_is_told_in_its_own_words(
    bare_python: Path, tmp_path: Path
) -> None:
    (tmp_path / "played" / "onnxruntime").mkdir(parents=True)
    document = run_check(
        bare_python, "facts/onnxruntime_devices.py", tmp_path, PYTHONPATH=str(tmp_path / "played")
    )
    result = only_result(document)
    assert (result["verdict"], document["doing"]) == ("failed", None)
    assert "onnxruntime is a folder without __init__.py" in result["reason"]
