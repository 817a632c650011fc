"""A report of collect_env alone tells what cannot work on its machine."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from doctor.catalog import loading
from doctor.model.findings import Finding
from doctor.model.scales import Severity
from doctor.pipeline.assess import assess
from doctor.pipeline.snapshots import read_observation

REPORT = """\
PyTorch version: {torch}
Is debug build: False
CUDA used to build PyTorch: {cuda}
ROCM used to build PyTorch: N/A

OS: {os}
GCC version: (GCC) 13.3.0
Libc version: glibc-{glibc}

Python version: 3.12.3 (main) [GCC 13.3.0] (64-bit runtime)
Python platform: {platform}
Is CUDA available: {available}
CUDA runtime version: {toolkit}
GPU models and configuration: {gpu}
Nvidia driver version: {driver}
{more}
[pip3] torch=={torch}
"""
LINUX = {
    "torch": "2.8.0+cu128",
    "cuda": "12.8",
    "os": "Ubuntu 24.04.1 LTS (x86_64)",
    "glibc": "2.39",
    "platform": "Linux-6.8.0-51-generic-x86_64-with-glibc2.39",
    "available": "True",
    "toolkit": "Could not collect",
    "gpu": "GPU 0: NVIDIA GeForce RTX 3090",
    "driver": "570.86.16",
    "more": "",
}
NIGHTLY = {"torch": "2.7.0.dev20250301+cu124", "cuda": "12.4", "gpu": "GPU 0: NVIDIA RTX 5090"}
OLD_NIGHTLY = {"torch": "1.11.0.dev20211101+cu102", "cuda": "10.2"}
NO_DRIVER = {"gpu": "Could not collect", "driver": "Could not collect", "available": "False"}
MAC = {
    "torch": "2.2.2",
    "cuda": "None",
    "os": "macOS 14.5 (x86_64)",
    "glibc": "N/A",
    "platform": "macOS-14.5-x86_64-i386-64bit",
    "available": "False",
    "gpu": "Could not collect",
    "driver": "Could not collect",
    "more": "CPU:\nApple M2 Pro",
}
JETSON = NO_DRIVER | {
    "torch": "N/A",
    "cuda": "N/A",
    "available": "N/A",
    "platform": "Linux-5.10.104-tegra-aarch64",
}


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, None),
        (NIGHTLY, "error torch/gpu-newer-than-its-cuda"),
        (OLD_NIGHTLY, "error torch/gpu-newer-than-its-cuda"),
        (NO_DRIVER, "note torch/no-nvidia-driver"),
        ({"toolkit": "11.5.119"}, "note flash-attn/cuda-major-mismatch"),
        ({"toolkit": "12.6.20"}, None),
        (MAC, "warning mps/interpreter-for-intel"),
        (JETSON, "warning torch/not-in-this-interpreter"),
        ({"glibc": "2.26"}, "warning torch/system-older-than-wheel"),
    ],
    ids=lambda one: one if isinstance(one, str) else "",
)
def test_a_report_tells(changes: dict[str, str], expected: str | None, tmp_path: Path) -> None:
    """Each report has exactly the finding that its lines prove."""
    text = REPORT.format(**(LINUX | changes))
    found = [f"{one.severity.value} {one.id}" for one in _findings(text, tmp_path)]
    assert found == ([expected] if expected else [])


def test_a_jetson_gets_no_wheel_for_servers(tmp_path: Path) -> None:
    """The first fix for a Jetson without torch names NVIDIA's builds for the board."""
    (found,) = _findings(REPORT.format(**(LINUX | JETSON)), tmp_path)
    assert found.severity is Severity.WARNING
    assert "JetPack" in found.fixes[0].title


def test_a_report_without_its_first_colon_is_read(tmp_path: Path) -> None:
    """A driver that is too old is told, though a hand left the colon of the first line out."""
    text = REPORT.format(**(LINUX | {"driver": "410.104", "available": "False"}))
    found = _findings(text.replace("PyTorch version: ", "PyTorch version ", 1), tmp_path)
    assert "torch/driver-too-old" in [one.id for one in found]


def _findings(text: str, folder: Path) -> Sequence[Finding]:
    path = folder / "report.txt"
    path.write_text(text, encoding="utf-8")
    return assess(read_observation(path), loading.load(), command="check").findings
