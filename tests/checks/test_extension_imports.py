"""Compiled files that are really broken turn the canary red by name.

A machine without a driver does not.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.checks.trial import only_result, reasons, run_check
from tests.command import alive
from tests.compiled import Build, builder
from tests.hosts import put

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="ELF files are Linux's"
)

SCRIPT = "canaries/extension_imports.py"
TORCH = (
    "import ctypes, pathlib\nfor path in pathlib.Path(__file__).with_name('lib').iterdir():\n"
    "    ctypes.CDLL(str(path))\n"
)
BOOT = "import sys; sys.path.insert(0, {site!r})\n"
FAST = "import time\nreal = time.monotonic\ntime.monotonic = lambda: real() * 20\n"
AT_LOAD = (
    "#include <unistd.h>\n#include <stdio.h>\n#include <signal.h>\n"
    "__attribute__((constructor)) static void begin(void) {{ {act} }}"
)
HANG = """
int child = fork(); if (child == 0) pause();
FILE *note = fopen("{note}", "w"); fprintf(note, "%d %d", getpid(), child); fclose(note); pause();
"""


@pytest.fixture(scope="module")
def build(needs: Callable[[str], str]) -> Build:
    return builder(needs("gcc"))


@pytest.fixture
def site(tmp_path: Path, build: Build) -> Path:
    """Return a folder of packages that holds a torch for CUDA 13."""
    site = tmp_path / "site"
    _install(
        site,
        "torch",
        {
            "torch/__init__.py": TORCH,
            "torch/version.py": "__version__ = '2.13.0+cu130'\ncuda = '13.0'\n",
        },
    )
    build(site / "torch/lib/libc10.so", gives=["_ZN3c103newEv"])
    return site


def _install(site: Path, name: str, files: Mapping[str, str]) -> None:
    for path, text in files.items():
        if text or not (site / path).exists():
            put(site / path, text)
    put(
        site / f"{name.replace('-', '_')}-1.0.dist-info/RECORD",
        "".join(f"{path},sha256=x,1\n" for path in files),
    )


def _run(site: Path, *, breaking: str = "") -> dict[str, Any]:
    folder = site.parent / "run"
    folder.mkdir()
    return run_check(
        Path(sys.executable),
        SCRIPT,
        folder,
        breaking=BOOT.format(site=str(site)) + breaking,
        CANARY_SITE=str(site),
    )


def _with(site: Path, build: Build, act: str, package: str = "somebody") -> None:
    build(site / package / "_C.so", site / "torch/lib/libc10.so", code=AT_LOAD.format(act=act))
    _install(site, package, {f"{package}/__init__.py": "", f"{package}/_C.so": ""})


def test_extensions_that_fit_pass(site: Path, build: Build) -> None:
    build(site / "xformers/_C.so", site / "torch/lib/libc10.so", asks=["_ZN3c103newEv"])
    _install(
        site,
        "xformers",
        {
            "xformers/__init__.py": "raise SystemExit('no need to import this')",
            "xformers/_C.so": "",
        },
    )
    _with(site, build, ";")
    result = only_result(_run(site))
    assert (result["verdict"], result["reason"]) == ("passed", "")
    assert set(result["cases"]) == {"xformers", "others"}
    assert result["data"]["failed"] == {}


def test_a_symbol_that_is_gone_is_named(site: Path, build: Build) -> None:
    stub = build(site.parent / "build/libc10.so", gives=["_ZN3c103oldEv"])
    build(site / "xformers/_C.so", stub, asks=["_ZN3c103oldEv"])
    _install(site, "xformers", {"xformers/__init__.py": "", "xformers/_C.so": ""})
    _with(site, build, ";")
    result = only_result(_run(site))
    assert set(reasons(result)) == {"xformers"}
    assert re.search(
        r"_C\.so: OSError: \S+/xformers/_C\.so: undefined symbol: _ZN3c103oldEv", result["reason"]
    )
    assert result["data"]["matters"] == "warning", "the package imports without this file"


def test_a_package_that_does_not_import_is_an_error(site: Path, build: Build) -> None:
    stub = build(site.parent / "build/libc10.so", gives=["_ZN3c103oldEv"])
    build(site / "torchvision/_C.so", stub, asks=["_ZN3c103oldEv"])
    _install(
        site,
        "torchvision",
        {
            "torchvision/__init__.py": "raise RuntimeError('nms does not exist')",
            "torchvision/_C.so": "",
        },
    )
    result = only_result(_run(site))
    assert "torchvision: RuntimeError: nms does not exist" in reasons(result)["torchvision"]
    assert result["data"]["matters"] == "error"


@pytest.mark.parametrize("act", [";", "_exit(4);"])
def test_what_the_package_holds_is_opened_first(site: Path, build: Build, act: str) -> None:
    own = build(site / "somebody/lib/libown.so", gives=["own"], code=AT_LOAD.format(act=act))
    build(site / "somebody/_C.so", site / "torch/lib/libc10.so", own, asks=["own"])
    _install(site, "somebody", {"somebody/_C.so": "", "somebody/lib/libown.so": ""})
    result = only_result(_run(site))
    assert result["verdict"] == ("passed" if act == ";" else "failed"), result["reason"]


def test_a_library_of_another_cuda_is_named(site: Path, build: Build) -> None:
    stub = build(site.parent / "build/libcudart.so.12", gives=["cudaMalloc"])
    build(site / "torch/lib/libtorch_cpu.so")
    _install(
        site,
        "torchaudio",
        {"torchaudio/__init__.py": "", "torchaudio/lib/libtorchaudio.so": "to come"},
    )
    build(
        site / "torchaudio/lib/libtorchaudio.so",
        site / "torch/lib/libtorch_cpu.so",
        stub,
        asks=["cudaMalloc"],
    )
    document = _run(site)
    assert (
        reasons(only_result(document))["torchaudio"]
        == "libtorchaudio.so: OSError: the loader does not find libcudart.so.12"
    )
    assert "cannot open shared object file" not in document["log"]


@pytest.mark.parametrize(
    ("act", "says"),
    [
        ("*(volatile int *)0 = 1;", "_C.so: died of SIGSEGV while it was loaded"),
        ("raise(SIGABRT);", "_C.so: died of SIGABRT while it was loaded"),
        ("raise(SIGILL);", "_C.so: died of SIGILL while it was loaded"),
        ("_exit(3);", "_C.so: ended the process with code 3 while it was loaded"),
        ("_exit(0);", "_C.so: ended the process while it was loaded"),
    ],
)
def test_a_death_while_loading_is_told_by_its_signal_and_spares_the_others(
    site: Path, build: Build, act: str, says: str
) -> None:
    _with(site, build, act)
    _with(site, build, ";", "xformers")
    result = only_result(_run(site))
    assert reasons(result) == {"others": says}
    assert result["cases"]["xformers"]["verdict"] == "passed"
    assert result["data"]["failed"] == {"somebody": says}


def test_a_file_that_hangs_is_given_up_and_leaves_nothing_behind(site: Path, build: Build) -> None:
    note = site.parent / "pid"
    _with(site, build, HANG.format(note=note))
    result = only_result(_run(site, breaking=FAST))
    assert reasons(result) == {"others": "_C.so: gave no answer within 40 s while it was loaded"}
    assert [alive(int(pid)) for pid in note.read_text(encoding="utf-8").split()] == [False, False]


@pytest.mark.parametrize(
    "library", ["libcuda.so.1", "libnvidia-ml.so.1", "libnvcuvid.so.1", "libsox.so.3"]
)
def test_what_this_machine_need_not_have_is_left_out(
    site: Path, build: Build, library: str
) -> None:
    stub = build(site.parent / "build" / library, gives=["cuInit"])
    build(site / "video/_C.so", site / "torch/lib/libc10.so", stub, asks=["cuInit"])
    _install(site, "video", {"video/_C.so": ""})
    result = only_result(_run(site))
    assert result["verdict"] == "skipped"
    assert ("driver" in result["reason"]) is (library != "libsox.so.3")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (
            "import coloredlogs_of_old",
            "needs the Python module coloredlogs_of_old, which is not installed",
        ),
        ("raise RuntimeError('Found no NVIDIA driver on your system.')", "needs a driver"),
        (
            (
                "raise OSError('libcuda.so.1: cannot open shared object file: No such file or "
                "directory')"
            ),
            "needs a driver",
        ),
    ],
)
def test_an_import_that_fails_for_other_reasons_is_left_out(
    site: Path, build: Build, text: str, says: str
) -> None:
    _install(
        site,
        "onnxruntime-gpu",
        {"onnxruntime/__init__.py": text, "onnxruntime/lib/libonnx.so": "not opened"},
    )
    result = only_result(_run(site))
    assert result["verdict"] == "skipped"
    assert says in result["cases"]["onnxruntime-gpu"]["reason"]


def test_a_torch_that_does_not_import_is_anothers_business(site: Path, build: Build) -> None:
    _with(site, build, ";")
    put(site / "torch/__init__.py", "raise ImportError('broken')")
    result = only_result(_run(site))
    assert (result["verdict"], result["cases"]) == ("skipped", {})
    assert result["reason"] == "import torch does not work here: ImportError: broken"


def test_an_environment_without_extensions_is_skipped(tmp_path: Path) -> None:
    result = only_result(_run(tmp_path / "empty"))
    assert result["verdict"] == "skipped"
    assert "no compiled extension" in result["reason"]


@pytest.mark.parametrize(
    "content",
    [
        "",
        "\x7fELF\x02\x01",
        "\x7fELF\x02\x01" + "\x01" * 4000,
        "version https://git-lfs.github.com/spec/v1",
    ],
)
def test_what_is_no_library_is_not_loaded(site: Path, content: str) -> None:
    _install(site, "odd", {"odd/_C.so": content})
    assert only_result(_run(site))["verdict"] == "skipped"


def test_builds_for_others_are_not_loaded(site: Path, build: Build) -> None:
    names = [
        "somebody/_C_cu12.so",
        "somebody/libx_cuda118.so",
        "somebody/_D.cpython-37m-x86_64-linux-gnu.so",
        "somebody/addon_torch24.so",
    ]
    for name in names:
        build(site / name, site / "torch/lib/libc10.so", code=AT_LOAD.format(act="_exit(1);"))
    _install(site, "somebody", dict.fromkeys(names, ""))
    assert only_result(_run(site))["verdict"] == "skipped"
