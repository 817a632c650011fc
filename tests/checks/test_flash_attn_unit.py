"""One unit of flash-attn.

Each way its build fails is told by the step that meets it, in the words of the tool.
"""

from __future__ import annotations

import os
import tarfile
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

from tests import environments
from tests.checks.trial import only_result, reasons, run_check
from tests.command import check
from tests.conftest import missing
from tests.flash_source import lay_out
from tests.toolkit import assemble

SCRIPT = "canaries/flash_attn_unit.py"
STEPS = ["source", "preflight", "headers", "compile", "link"]

Build = Callable[..., dict[str, Any]]


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """Return a tree like flash-attn's, to be broken."""
    return lay_out(tmp_path)


@pytest.fixture
def build(nvcc_python: Path, toolkit: Path, source: Path, tmp_path: Path) -> Build:
    """Return a function that runs the canary on that tree; the result has the log as well."""

    def run(python: Path = nvcc_python, **settings: str) -> dict[str, Any]:
        given = {
            "CANARY_TOOLKIT": str(toolkit),
            "CANARY_FLASH_ATTN": str(source),
            "CANARY_ARCH": "sm_90",
            **settings,
        }
        folder = tmp_path / "run"
        folder.mkdir()
        document = run_check(python, SCRIPT, folder, **given)
        assert sorted(path.name for path in folder.iterdir()) == ["boot.py", "result.json"], (
            "it leaves nothing"
        )
        return {**only_result(document), "log": document["log"]}

    return run


def named(result: dict[str, Any], python: Path, folder: Path) -> set[str]:
    """Return the known issues that doctor sees in what a red canary printed."""
    log = folder / "build.log"
    log.write_text(result["log"] + result["reason"] + "\n", encoding="utf-8")
    said = check("--python", python, "--no-canaries", "--log", log, cwd=folder)
    ids = {finding["id"] for finding in said.report["findings"]}
    return {one for one in ids if not one.startswith("failure/")}


def wrapper(path: Path, text: str) -> Path:
    """Put a program in the place of another."""
    path.unlink(missing_ok=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
    path.chmod(0o755)
    return path


def edited(path: Path, old: str, new: str) -> None:
    """Change a text."""
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


def test_the_smallest_unit_compiles_links_and_loads(build: Build) -> None:
    result = build()
    assert (result["verdict"], result["reason"]) == ("passed", "")
    assert [name for name, case in result["cases"].items() if case["verdict"] == "passed"][
        :5
    ] == STEPS
    data = result["data"]
    assert (data["version"], data["unit"], data["files"], data["target"]) == (
        "2.8.3",
        "flash_fwd_hdim32_fp16_causal_sm80.cu",
        3,
        90,
    )
    assert data["flags"] == [
        "-O3",
        "-std=c++17",
        "--expt-relaxed-constexpr",
        "--expt-extended-lambda",
        "--use_fast_math",
    ]
    assert "-gencode arch=compute_90,code=sm_90" in result["log"]
    assert f"MAX_JOBS={data['max_jobs']} FLASH_ATTN_CUDA_ARCHS=90" in data["told"][0]


def test_an_archive_is_unpacked_inside_the_folder(
    build: Build, source: Path, tmp_path: Path
) -> None:
    archive = tmp_path / "flash_attn-2.8.3.tar.gz"
    with tarfile.open(archive, "w:gz") as tar:
        outside = tarfile.TarInfo("../csrc/outside")
        tar.addfile(outside, BytesIO())
        link = tarfile.TarInfo("flash_attn-2.8.3/csrc/link")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc"
        tar.addfile(link)
        tar.add(source, arcname="flash_attn-2.8.3")
    edited(source / "csrc/flash_attn/src/flash.h", "#pragma once", "#error not from the archive")
    result = build(CANARY_FLASH_ATTN=str(archive), CANARY_ARCH="sm_130")
    assert reasons(result) == {
        "preflight": "nothing that this flash-attn compiles (sm_80, sm_90) runs on sm_130"
    }
    assert result["cases"]["source"]["verdict"] == "passed"


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"CANARY_ARCH": ""}, "no GPU to compile for: say which with --assume gpu=sm_90"),
        (
            {"CANARY_FLASH_ATTN": ""},
            "no source of flash-attn: --flash-attn PATH, or --network",
        ),
    ],
)
def test_what_is_not_given_is_a_skip_that_says_how(
    build: Build, settings: dict[str, str], why: str
) -> None:
    result = build(**settings)
    assert (result["verdict"], result["reason"]) == ("skipped", why)


def test_an_archive_that_is_none_is_named(build: Build, tmp_path: Path) -> None:
    (tmp_path / "x.tar.gz").write_bytes(b"<html>404</html>")
    assert (
        "cannot be read as a source archive"
        in reasons(build(CANARY_FLASH_ATTN=str(tmp_path / "x.tar.gz")))["source"]
    )


def test_a_checkout_without_its_submodule(
    build: Build, source: Path, bare_python: Path, tmp_path: Path
) -> None:
    (source / "csrc/cutlass/include/cutlass/cutlass.h").unlink()
    result = build()
    assert "csrc/cutlass is missing" in reasons(result)["source"]
    assert named(result, bare_python, tmp_path) == {"flash-attn/cutlass-missing"}


def test_a_gpu_that_setup_py_has_no_target_for(
    build: Build, bare_python: Path, tmp_path: Path
) -> None:
    result = build(CANARY_ARCH="sm_75")
    assert "runs on sm_75" in reasons(result)["preflight"]
    assert named(result, bare_python, tmp_path) == {"flash-attn/ampere-or-newer-only"}


def test_the_targets_of_the_main_branch(build: Build, source: Path) -> None:
    edited(
        source / "setup.py",
        'if "90" in cuda_archs(): pass',
        'archs = set(cuda_archs())\nif "90" in archs or "120" in archs: pass',
    )
    edited(source / "setup.py", '"80" in cuda_archs()', '"80" in archs')
    assert build(CANARY_ARCH="sm_121")["cases"]["compile"]["verdict"] == "passed"


def test_targets_that_are_written_out(build: Build, source: Path) -> None:
    edited(
        source / "setup.py",
        'if "90" in cuda_archs(): pass',
        'cc_flag = ["-gencode", "arch=compute_80,code=sm_80"]',
    )
    edited(source / "setup.py", 'if "80" in cuda_archs(): pass\n', "")
    assert "(sm_80) runs on sm_90" in reasons(build())["preflight"]


def test_targets_in_no_known_form(build: Build, source: Path) -> None:
    edited(source / "setup.py", "in cuda_archs()", "in targets()")
    assert (
        reasons(build())["preflight"]
        == "the setup.py of this source names the GPUs that it compiles for in no known form"
    )


def test_orin_runs_no_code_of_its_generation(build: Build) -> None:
    assert "runs on sm_87" in reasons(build(CANARY_ARCH="sm_87"))["preflight"]


def test_a_gpu_that_nvcc_does_not_know(
    build: Build, source: Path, bare_python: Path, tmp_path: Path
) -> None:
    edited(source / "setup.py", '"80"', '"60"')
    result = build(CANARY_ARCH="sm_60")
    assert "Unsupported gpu architecture 'compute_60'" in reasons(result)["compile"]
    assert named(result, bare_python, tmp_path) == {"cuda/gpu-unknown-to-nvcc"}


def test_a_toolkit_of_another_generation_than_torch(
    build: Build, torch251_python: Path, bare_python: Path, tmp_path: Path
) -> None:
    result = build(torch251_python)
    assert (
        "The detected CUDA version (13.0) mismatches the version that was used to compile "
        "PyTorch (12.4)"
    ) in reasons(result)["preflight"]
    assert named(result, bare_python, tmp_path) == {"flash-attn/cuda-major-mismatch"}


def test_a_standard_that_the_headers_of_torch_refuse(
    build: Build, source: Path, bare_python: Path, tmp_path: Path
) -> None:
    edited(source / "setup.py", "-std=c++17", "-std=c++14")
    (source / "csrc/flash_attn/flash_api.cpp").write_text(
        "#include <ATen/ATen.h>\n", encoding="utf-8"
    )
    result = build()
    assert (
        "C++17 or later compatible compiler is required to use ATen" in reasons(result)["headers"]
    )
    assert named(result, bare_python, tmp_path) == {"torch/cxx-standard-too-old"}


@pytest.fixture
def own_toolkit(nvcc_python: Path, tmp_path: Path) -> Path:
    """Return a toolkit to be broken."""
    return assemble(nvcc_python, tmp_path / "cuda")


@pytest.mark.parametrize(
    ("number", "word", "issues"),
    [(9, "Killed", {"flash-attn/build-killed-out-of-memory"}), (11, "Segmentation fault", set())],
    ids=["the kernel kills it", "it crashes"],
)
def test_a_part_of_the_compiler_dies(
    build: Build,
    own_toolkit: Path,
    bare_python: Path,
    tmp_path: Path,
    number: int,
    word: str,
    issues: set[str],
) -> None:
    wrapper(own_toolkit / "nvvm/bin/cicc", f"kill -{number} $$")
    result = build(CANARY_TOOLKIT=str(own_toolkit))
    assert reasons(result)["compile"] in (
        f"{word}: a part of nvcc died",
        f"nvcc error   : 'cicc' died due to signal {number}",
    )
    assert named(result, bare_python, tmp_path) == issues


def test_nvcc_itself_crashes(build: Build, own_toolkit: Path) -> None:
    real = own_toolkit / "bin/nvcc-real"
    (own_toolkit / "bin/nvcc").rename(real)
    wrapper(
        own_toolkit / "bin/nvcc",
        f'case "$*" in *--version*) exec {real} "$@";; esac; kill -SEGV $$',
    )
    assert reasons(build(CANARY_TOOLKIT=str(own_toolkit))) == {"compile": "nvcc died of SIGSEGV"}


@pytest.mark.parametrize(
    ("act", "said"),
    [
        ("echo 'internal compiler error: Segmentation fault'; exit 1", "internal compiler error"),
        ("kill -SEGV $$", "died of SIGSEGV"),
    ],
)
def test_a_host_compiler_that_fails_or_crashes(
    build: Build, tmp_path: Path, act: str, said: str
) -> None:
    compiler = wrapper(
        tmp_path / "bin/g++", f'case "$*" in *flash_api*) {act};; esac; exec /usr/bin/g++ "$@"'
    )
    assert said in reasons(build(CXX=str(compiler)))["headers"]


def test_a_host_compiler_that_is_too_new(build: Build, bare_python: Path, tmp_path: Path) -> None:
    for name in "gcc", "g++":
        wrapper(tmp_path / "bin" / name, f'exec /usr/bin/{name} -U__GNUC__ -D__GNUC__=16 "$@"')
    result = build(PATH=f"{tmp_path / 'bin'}{os.pathsep}/usr/bin:/bin")
    assert "unsupported GNU version! gcc versions later than 15" in reasons(result)["compile"]
    assert named(result, bare_python, tmp_path) == {"cuda/host-compiler-too-new"}


@pytest.mark.parametrize(
    ("gone", "step", "said", "issue"),
    [
        (
            "include/crt/host_config.h",
            "headers",
            "crt/host_config.h: No such file",
            "cuda/toolkit-incomplete",
        ),
        ("lib64/libcudart.so", "link", "cannot find -lcudart", "cuda/pip-toolkit-cannot-link"),
    ],
)
def test_a_toolkit_that_lacks_a_file(
    build: Build,
    own_toolkit: Path,
    bare_python: Path,
    tmp_path: Path,
    gone: str,
    step: str,
    said: str,
    issue: str,
) -> None:
    (own_toolkit / gone).unlink()
    result = build(CANARY_TOOLKIT=str(own_toolkit))
    assert said in reasons(result)[step]
    assert named(result, bare_python, tmp_path) == {issue}


def test_a_unit_that_does_not_load(build: Build, source: Path) -> None:
    unit = source / "csrc/flash_attn/src/flash_fwd_hdim32_fp16_causal_sm80.cu"
    edited(unit, "    halve<<<", "    extern void nowhere(); nowhere();\n    halve<<<")
    assert "undefined symbol" in reasons(build())["link"]


@pytest.fixture(params=["pip", "uv"])
def installer(request: pytest.FixtureRequest, nvcc_python: Path) -> tuple[Path, str]:
    """Return an interpreter, and the folders of PATH, of which only one installer can be had."""
    if request.param == "uv":
        return nvcc_python, f"{Path(environments.uv()).parent}{os.pathsep}{os.defpath}"
    try:
        return environments.patient("torch_pip"), os.defpath
    except environments.UnavailableError as error:
        missing(str(error))


def test_the_source_is_fetched_and_setup_py_is_not_run(
    installer: tuple[Path, str], build: Build, tmp_path: Path
) -> None:
    python, path = installer
    source = lay_out(tmp_path / "index")
    with tarfile.open(tmp_path / "index" / "flash_attn-2.8.3.tar.gz", "w:gz") as tar:
        tar.add(source, arcname=source.name)
    index = str(tmp_path / "index")
    given = {
        "PIP_NO_INDEX": "1",
        "PIP_FIND_LINKS": index,
        "PIP_CONFIG_FILE": os.devnull,
        "UV_OFFLINE": "1",
        "UV_FIND_LINKS": index,
    }
    result = build(
        python, CANARY_NETWORK="1", CANARY_FLASH_ATTN="", CANARY_ARCH="sm_130", PATH=path, **given
    )
    assert result["cases"]["source"]["verdict"] == "passed", result["log"]
    assert result["data"]["version"] == "2.8.3"
    assert "setup.py was run" not in result["log"]
