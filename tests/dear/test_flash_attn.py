"""The real source of flash-attn.

One unit of it builds, and each of its failures is named by what pip and uv print.

The last result is in docs/slow-tests.md; the command is in CONTRIBUTING.md.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests import environments
from tests.command import Said, check, environment

pytestmark = pytest.mark.dear

_DEEP = ("--tier", "deep", "--only", "flash-attn-unit", "--assume", "gpu=sm_90", "--network")
_HELPERS = ("wheel", "packaging", "psutil", "ninja", "pip")

Clone = Callable[..., Path]


def _unit(python: Path, cwd: Path, toolkit: Path) -> Said:
    tools = f"{Path(environments.uv()).parent}{os.pathsep}{os.environ['PATH']}"
    return check(
        "--python",
        python,
        *_DEEP,
        cwd=cwd,
        env={"CUDA_HOME": str(toolkit), "PATH": tools},
        timeout=1900,
    )


def test_one_unit_of_the_real_source_builds(
    nvcc_python: Path, toolkit: Path, tmp_path: Path
) -> None:
    (outcome,) = _unit(nvcc_python, tmp_path, toolkit).outcomes("flash-attn-unit")
    assert (outcome["verdict"], outcome["cases"]["link"]["verdict"]) == ("passed", "passed"), (
        outcome["reason"]
    )
    data = outcome["data"]
    assert data["unit_seconds"] > 10
    assert data["unit_gb"] > 1
    assert data["files"] > 70


def test_the_headers_of_torch_2_14_refuse_its_standard(
    clone: Clone, toolkit: Path, tmp_path: Path
) -> None:
    python = clone("nvcc", "torch==2.14.0")
    said = _unit(python, tmp_path, toolkit)
    assert said.finding("torch/cxx-standard-too-old")["severity"] == "error"
    (outcome,) = said.outcomes("flash-attn-unit")
    assert "headers" in outcome["reason"]


@pytest.fixture(scope="module")
def builder(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Return a function that runs an installer on the real sdist and returns its log."""

    def build(python: Path, *options: str, **settings: str) -> Path:
        folder = tmp_path_factory.mktemp("build")
        env = environment(
            {
                "PATH": f"{python.parent}{os.pathsep}{os.environ['PATH']}",
                "TMPDIR": str(folder),
                **settings,
            }
        )
        command = [
            python,
            "-m",
            "pip",
            "install",
            "--no-deps",
            "--no-binary",
            "flash-attn",
            *options,
            "flash-attn==2.8.3",
        ]
        if "--uv" in options:
            command = [
                environments.uv(),
                "pip",
                "install",
                "--python",
                python,
                "--no-deps",
                "flash-attn==2.8.3",
            ]
        ran = subprocess.run(
            list(map(str, command)),
            cwd=folder,
            env=env,
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )
        assert ran.returncode, ran.stdout
        log = folder / "build.log"
        log.write_text(ran.stdout + ran.stderr, encoding="utf-8")
        return log

    return build


@pytest.mark.parametrize(
    ("patient", "options", "settings", "issue"),
    [
        ("torch", [], {}, "flash-attn/torch-not-in-build-environment"),
        ("torch", ["--uv"], {}, "flash-attn/torch-not-in-build-environment"),
        ("torch", ["--no-build-isolation"], {}, "flash-attn/nvcc-missing"),
        ("torch", ["--no-build-isolation"], {"CUDA_HOME": "EMPTY"}, "flash-attn/nvcc-missing"),
        (
            "torch251",
            ["--no-build-isolation"],
            {"CUDA_HOME": "TOOLKIT"},
            "flash-attn/cuda-major-mismatch",
        ),
        (
            "torch",
            ["--no-build-isolation"],
            {"CUDA_HOME": "TOOLKIT", "FLASH_ATTN_CUDA_ARCHS": "86"},
            "cuda/arch-list-empty-without-gpu",
        ),
    ],
    ids=["pip alone", "uv alone", "no toolkit", "no nvcc", "another generation", "no architecture"],
)
def test_what_an_installer_prints_is_named(
    clone: Clone,
    toolkit: Path,
    builder: Callable[..., Path],
    tmp_path: Path,
    patient: str,
    options: list[str],
    settings: dict[str, str],
    issue: str,
) -> None:
    python = clone(patient, *_HELPERS)
    places = {"EMPTY": str(tmp_path), "TOOLKIT": str(toolkit)}
    env = {name: places.get(value, value) for name, value in settings.items()}
    log = builder(python, *options, FLASH_ATTENTION_FORCE_BUILD="TRUE", **env)
    said = check("--python", python, "--no-canaries", "--log", log, cwd=tmp_path, env=env)
    found = said.finding(issue)
    assert (said.code, found["severity"]) == (1, "error")
    assert found["fixes"][0]["commands"]


@pytest.mark.skipif(
    sys.platform != "linux" or not os.access("/sys/fs/cgroup/memory", os.W_OK),
    reason="needs a control group of its own",
)
def test_a_compiler_that_the_kernel_kills(nvcc_python: Path, toolkit: Path, tmp_path: Path) -> None:
    group = Path("/sys/fs/cgroup/memory/doctor-test")
    group.mkdir()
    try:
        (group / "memory.limit_in_bytes").write_text("2000000000", encoding="utf-8")
        script = f'echo $$ > {group}/cgroup.procs; exec "$@"'
        tools = f"{Path(environments.uv()).parent}{os.pathsep}{os.environ['PATH']}"
        command = [
            "sh",
            "-c",
            script,
            "sh",
            sys.executable,
            "-m",
            "doctor",
            "check",
            "--format",
            "json",
            "-p",
            str(nvcc_python),
            *_DEEP,
        ]
        env = environment({"CUDA_HOME": str(toolkit), "PATH": tools})
        ran = subprocess.run(
            command, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=900, check=False
        )
    finally:
        group.rmdir()
    said = Said(code=ran.returncode, out=ran.stdout, err=ran.stderr, seconds=0)
    assert said.finding("flash-attn/build-killed-out-of-memory")["severity"] == "error"
