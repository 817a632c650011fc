"""`doctor diagnose`, and `doctor check --from` with the text of collect_env."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.command import Said, doctor, environment

_LOG = """2026-11-21T18:00:00.0000000Z Collecting flash-attn
2026-11-21T18:00:01.0000000Z RuntimeError:
2026-11-21T18:00:01.0000000Z The detected CUDA version (12.1) mismatches the version that was used to compile
2026-11-21T18:00:01.0000000Z PyTorch (11.8). Please make sure to use the same CUDA versions.
2026-11-21T18:00:02.0000000Z ninja: build stopped: subcommand failed.
"""  # noqa: E501
_ENVIRONMENT = """PyTorch version: 2.5.1+cu124
CUDA used to build PyTorch: 12.4
OS: Ubuntu 22.04.5 LTS (x86_64)
Python version: 3.10.12 (main, Jan 17 2025, 14:35:34) [GCC 11.4.0] (64-bit runtime)
Python platform: Linux-5.4.0-193-generic-x86_64-with-glibc2.35
GPU models and configuration: GPU 0: NVIDIA GeForce RTX {}
Nvidia driver version: 570.86.10
"""


def _diagnose(folder: Path, text: str, *arguments: str) -> Said:
    (folder / "log").write_text(text, encoding="utf-8")
    return doctor("diagnose", "log", *arguments, cwd=folder)


def test_a_log_alone_gives_cause_place_and_a_filled_fix(tmp_path: Path) -> None:
    said = _diagnose(tmp_path, _LOG, "--format", "json")
    found = said.finding("flash-attn/cuda-major-mismatch")
    assert (said.code, said.report["findings"][0]["id"]) == (1, found["id"])
    assert "log:3" in {f"{evidence['source']}:{evidence['line']}" for evidence in found["evidence"]}
    assert "CUDA_HOME=/usr/local/cuda-11.8" in str(found["fixes"])


def test_nothing_recognised_names_the_line_and_what_to_ask(tmp_path: Path) -> None:
    said = _diagnose(
        tmp_path, "one\nsome.tool: error: the flux is not compensated\nmake: *** [all] Error 2\n"
    )
    text = " ".join(said.out.split())
    assert said.code == 4
    assert "line 2: some.tool: error: the flux is not compensated" in text
    assert "--env FILE" in text


def test_standard_input_is_read(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "doctor", "diagnose", "-"]
    ran = subprocess.run(
        command,
        input=_LOG,
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=environment(),
        timeout=60,
        check=False,
    )
    assert ran.returncode == 1
    assert "flash-attn/cuda-major-mismatch" in ran.stdout


def test_an_environment_decides_what_the_log_leaves_open(tmp_path: Path) -> None:
    (tmp_path / "env").write_text(_ENVIRONMENT.format(5090), encoding="utf-8")
    log = "RuntimeError: CUDA error: no kernel image is available for execution on the device\n"
    assert (
        _diagnose(tmp_path, log, "--format", "json").finding("torch/no-kernel-image")["confidence"]
        == "medium"
    )
    said = _diagnose(tmp_path, log, "--format", "json", "--env", "env")
    assert said.finding("torch/no-kernel-image")["confidence"] == "high"


def test_a_log_that_only_describes_an_environment_is_judged_as_one(tmp_path: Path) -> None:
    said = _diagnose(tmp_path, _ENVIRONMENT.format(5090), "--format", "json")
    assert said.code == 1
    assert _diagnose(tmp_path, _ENVIRONMENT.format(3090)).code == 4


@pytest.mark.parametrize(("gpu", "code"), [(5090, 1), (4090, 0)])
def test_a_pasted_environment_is_judged(tmp_path: Path, gpu: int, code: int) -> None:
    (tmp_path / "env").write_text(_ENVIRONMENT.format(gpu), encoding="utf-8")
    said = doctor("check", "--from", "env", "--format", "json", cwd=tmp_path)
    assert said.code == code
    assert ("torch/no-kernel-image" in [finding["id"] for finding in said.report["findings"]]) is (
        code == 1
    )


@pytest.mark.parametrize("arguments", [("absent.log",), ("log", "log"), ("log", "--env", "absent")])
def test_mistakes_are_told(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    (tmp_path / "log").write_text("x", encoding="utf-8")
    assert doctor("diagnose", *arguments, cwd=tmp_path).code == 2


def test_an_environment_that_is_none_is_an_input_error(tmp_path: Path) -> None:
    (tmp_path / "env").write_text("nothing of the kind", encoding="utf-8")
    assert _diagnose(tmp_path, _LOG, "--env", "env").code == 3


def test_a_device_without_end_is_refused(tmp_path: Path) -> None:
    said = doctor("diagnose", "/dev/zero", cwd=tmp_path)
    assert (said.code, said.out) == (2, "")
    assert "a device, which has no end" in said.err
