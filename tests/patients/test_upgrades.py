"""Environments that went from one CUDA generation to another, of real packages.

A program is run before and after each fix.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

from tests.command import Said, check
from tests.environments import install, site_packages, uv
from tests.patients.healing import heal

Clone = Callable[..., Path]

LEFTOVER, MIXED = "torch/leftover-cuda-packages", "torch/other-cuda-generation"
TWELVE = (
    "nvidia-cudnn-cu12==9.1.0.70",
    "nvidia-nccl-cu12==2.21.5",
)  # those of torch 2.5.1, which another patient brings
THIRTEEN = ("nvidia-cudnn-cu13==9.20.0.48", "nvidia-nccl-cu13==2.29.7")
PROGRAM = """
import torch
assert torch.backends.cudnn.version() == 92000, torch.backends.cudnn.version()
assert torch.cuda.nccl.version() == (2, 29, 7)
ones = torch.nn.functional.conv2d(torch.ones(1, 1, 5, 5), torch.ones(1, 1, 3, 3))
assert ones.sum().item() == 81
"""


def works(python: Path, folder: Path) -> str:
    """Run the program; an empty text is success, else what it said at last."""
    ran = subprocess.run(
        [str(python), "-c", PROGRAM], capture_output=True, text=True, cwd=folder, check=False
    )
    return ran.stderr.strip().rpartition("\n")[2] if ran.returncode else ""


def static(python: Path, folder: Path) -> Said:
    """Look at files only; uv is at hand, whose cache holds what a fix installs again."""
    path = f"{Path(uv()).parent}{os.pathsep}{os.environ['PATH']}"
    return check("--python", python, "--no-canaries", cwd=folder, env={"PATH": path})


def test_a_healthy_upgrade_is_left_alone_and_can_be_tidied(clone: Clone, tmp_path: Path) -> None:
    python = clone("torch", "--no-deps", *TWELVE)
    install(
        python,
        "--no-deps",
        "--reinstall-package",
        "nvidia-cudnn-cu13",
        "--reinstall-package",
        "nvidia-nccl-cu13",
        "--offline",
        *THIRTEEN,
    )
    assert works(python, tmp_path) == ""
    said = static(python, tmp_path)
    assert said.code == 0
    assert [finding["id"] for finding in said.report["findings"]] == [LEFTOVER]
    heal(said.finding(LEFTOVER), tmp_path)
    assert works(python, tmp_path) == ""
    assert static(python, tmp_path).report["findings"] == []


def test_the_libraries_of_the_earlier_generation_in_the_place_of_the_later(
    clone: Clone, tmp_path: Path
) -> None:
    python = clone("torch", "--no-deps", *TWELVE)
    assert "undefined symbol: nccl" in works(python, tmp_path)
    said = static(python, tmp_path)
    assert said.code == 1
    found = said.finding(MIXED)
    assert [finding["id"] for finding in said.report["findings"]] == [
        MIXED,
        "cuda/cudnn-older-than-torch",
    ]
    assert (found["severity"], found["symptoms"]) == ("error", ["cuda/cudnn-older-than-torch"])
    heal(found, tmp_path)
    assert works(python, tmp_path) == ""
    assert static(python, tmp_path).report["findings"] == []


def test_pip_was_killed_while_it_exchanged_torch(clone: Clone, tmp_path: Path) -> None:
    python = clone("torch", "--no-deps", "torchvision==0.28.0", "pillow")
    site = site_packages(python)
    (site / "torch-2.13.0.dist-info").rename(site / "~orch-2.13.0.dist-info")
    (site / "torch").rename(site / "~orch")
    unpacked = ("__init__.py", "version.py", "lib/libc10.so")
    for name in unpacked:
        (site / "torch" / name).parent.mkdir(parents=True, exist_ok=True)
        (site / "torch" / name).hardlink_to(site / "~orch" / name)
    assert works(python, tmp_path)
    said = static(python, tmp_path)
    assert said.report["findings"][0]["id"] == "torch/interrupted-install"
    heal(said.report["findings"][0], tmp_path)
    assert works(python, tmp_path) == ""
    assert static(python, tmp_path).report["findings"] == []


def test_a_second_dist_info_of_torch_moves_nothing(clone: Clone, tmp_path: Path) -> None:
    python = clone("torch")
    site = site_packages(python)
    stale = site / "torch-2.12.0.dist-info"
    shutil.copytree(site / "torch-2.13.0.dist-info", stale)
    for name, old, new in (
        ("METADATA", "\nVersion: 2.13.0", "\nVersion: 2.12.0"),
        ("RECORD", "torch-2.13.0", "torch-2.12.0"),
    ):
        text = (stale / name).read_text(encoding="utf-8")
        (stale / name).write_text(text.replace(old, new), encoding="utf-8")
    record = (stale / "RECORD").read_text(encoding="utf-8")
    (stale / "RECORD").write_text(
        re.sub(r"(torch/lib/libtorch_\w+\.so,sha256=[\w-]+,)\d+", r"\g<1>4096", record),
        encoding="utf-8",
    )
    said = static(python, tmp_path)
    assert said.report["facts"]["package.torch.version"]["value"].startswith("2.13.0")
    assert [finding["id"] for finding in said.report["findings"]] == ["python/doubled-metadata"]
    heal(said.finding("python/doubled-metadata"), tmp_path)
    assert works(python, tmp_path) == ""
    assert static(python, tmp_path).report["findings"] == []


def test_an_older_cudnn_in_ld_library_path(
    torch_python: Path, torch251_python: Path, tmp_path: Path
) -> None:
    other = site_packages(torch251_python) / "nvidia/cudnn/lib"
    kept = tmp_path / "kept"
    kept.mkdir()
    env = {"LD_LIBRARY_PATH": f"{kept}:{other}"}
    said = check(
        "--python",
        torch_python,
        "--only",
        "torch-runtime",
        "--only",
        "cuda/*",
        cwd=tmp_path,
        env=env,
    )
    found = said.finding("cuda/cudnn-older-than-torch")
    assert (said.code, found["severity"]) == (1, "error")
    assert "cuDNN version incompatibility" in said.report["facts"]["torch.cudnn_error"]["value"]
    assert found["fixes"][0]["commands"] == [f"export LD_LIBRARY_PATH={kept}"]
    said = check(
        "--python",
        torch_python,
        "--only",
        "torch-runtime",
        "--only",
        "cuda/*",
        cwd=tmp_path,
        env={"LD_LIBRARY_PATH": str(kept)},
    )
    assert (said.code, said.report["findings"]) == (0, [])
    assert said.report["facts"]["torch.cudnn_version"]["value"] == 92000
