"""A package that really does not import turns the canary red by name.

One that only wants a GPU, or takes long, does not.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from tests.checks.trial import only_result, reasons, run_check
from tests.hosts import put

pytestmark = pytest.mark.skipif(not hasattr(__import__("os"), "fork"), reason="it forks")

SCRIPT = "canaries/module_imports.py"
BOOT = "import sys; sys.path.insert(0, {site!r})\n"
FAST = """
import select, time
clock, wait = time.monotonic, select.select
time.monotonic = lambda: clock() * 10
select.select = lambda *given: wait(*given[:3], *(seconds / 10 for seconds in given[3:]))
"""
LAZY = """
def __dir__(): return ["AutoModel", "__version__"]
def __getattr__(name):
    if name == "AutoModel":
        import torchvision
        return 1
    raise AttributeError(name)
"""


def _run(folder: Path, *, breaking: str = "", **modules: str) -> dict[str, Any]:
    site = folder / "site"
    for name, text in modules.items():
        put(site / name / "__init__.py", text)
        put(site / f"{name}-1.0.dist-info/METADATA", f"Name: {name}\n")
    (folder / "run").mkdir()
    boot = BOOT.format(site=str(site)) + breaking
    # The interpreter of these tests holds packages of its own: only those of the folder have a
    # case.
    boot += "import sysconfig; sysconfig.get_paths = lambda: {'purelib': '', 'platlib': ''}\n"
    boot += (
        "sys.path[:] = [path for path in sys.path if 'site-packages' not in path] + "
        f"[{str(site)!r}]\n"
    )
    return only_result(
        run_check(
            Path(sys.executable), SCRIPT, folder / "run", breaking=boot, CANARY_SITE=str(site)
        )
    )


def test_what_imports_passes_and_what_is_not_installed_has_no_case(tmp_path: Path) -> None:
    result = _run(tmp_path, torch="", numpy="ndarray = 1", peft="x = 1", jupyter="raise OSError")
    assert (result["verdict"], set(result["cases"])) == ("passed", {"numpy", "peft"})


def test_a_failure_is_told_with_what_it_began_with_and_who_raised_it(tmp_path: Path) -> None:
    numpy = (
        "try:\n import site_packages_gone\nexcept ImportError as error:\n"
        " raise RuntimeError('numpy 2 is wanted') from error\n"
    )
    result = _run(tmp_path, numpy=numpy)
    began = "it began with ModuleNotFoundError: No module named 'site_packages_gone'"
    assert reasons(result) == {"numpy": f"RuntimeError: numpy 2 is wanted ({began})"}


def test_modules_that_load_late_are_asked_for_what_programs_use(tmp_path: Path) -> None:
    vision = "raise RuntimeError('operator torchvision::nms does not exist')"
    result = _run(tmp_path, torch="", transformers=LAZY, torchvision=vision)
    assert set(reasons(result)) == {"transformers", "torchvision"}
    assert "torchvision::nms does not exist" in reasons(result)["transformers"]


@pytest.mark.parametrize(
    "words",
    [
        "Found no NVIDIA driver on your system",
        "Failed to infer device type",
        "No CUDA GPUs are available",
    ],
)
def test_a_package_that_refuses_without_a_gpu_is_left_out(tmp_path: Path, words: str) -> None:
    result = _run(tmp_path, torch="", vllm=f"raise RuntimeError({words!r})")
    assert words in reasons(result, "skipped")["vllm"]


def test_where_the_machine_shows_a_gpu_nothing_is_excused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CANARY_GPUS", "1")
    result = _run(tmp_path, torch="", vllm="raise RuntimeError('Failed to infer device type')")
    assert result["data"]["want_gpu"] == ["vllm"]
    assert "Failed to infer device type" in reasons(result)["vllm"]


def test_a_package_that_only_warns_passes(tmp_path: Path) -> None:
    warning = "import sys, warnings; warnings.warn('old'); print('no GPU', file=sys.stderr)"
    assert _run(tmp_path, torch="", bitsandbytes=warning)["verdict"] == "passed"


def test_what_fails_beside_torch_alone_is_tried_again_without_it(tmp_path: Path) -> None:
    result = _run(
        tmp_path,
        torch="",
        peft="import sys\nif 'torch' in sys.modules: raise RuntimeError('torch came first')",
    )
    assert result["verdict"] == "passed"


def test_without_torch_what_can_do_without_it_is_tried(tmp_path: Path) -> None:
    put(tmp_path / "site/peft-1.0.dist-info/METADATA", "Name: peft\nRequires-Dist: torch>=1.13\n")
    put(tmp_path / "site/peft/__init__.py", "1 / 0")
    result = _run(
        tmp_path, transformers="import requests", optimum="raise ImportError('requires PyTorch')"
    )
    cases = {name: case["verdict"] for name, case in result["cases"].items()}
    assert cases == {"transformers": "failed", "optimum": "skipped", "peft": "skipped"}
    assert reasons(result) == {"transformers": "ModuleNotFoundError: No module named 'requests'"}


def test_a_torch_that_does_not_import_leaves_the_rest_to_be_judged(tmp_path: Path) -> None:
    result = _run(
        tmp_path,
        torch="raise OSError('libcudnn.so.9')",
        peft="",
        numpy="raise ImportError('damaged')",
    )
    assert reasons(result) == {"numpy": "ImportError: damaged"}
    assert "import torch does not work here" in reasons(result, "skipped")["peft"]


def test_a_crash_is_named_and_a_hang_is_left_out(tmp_path: Path) -> None:
    crash = "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)"
    result = _run(
        tmp_path, breaking=FAST, numpy=crash, scipy="import select; select.select([], [], [])"
    )
    assert reasons(result) == {"numpy": "its import died of SIGSEGV"}
    assert reasons(result, "skipped") == {"scipy": "gave no answer within 60 s"}


def test_nothing_is_written_home_and_no_network_is_asked_for(tmp_path: Path) -> None:
    told = (
        "import os\nassert os.environ['HOME'] == os.environ['HF_HOME'] == os.getcwd()\n"
        "assert os.environ['HF_HUB_OFFLINE'] == '1'"
    )
    assert _run(tmp_path, numpy=told)["verdict"] == "passed"
