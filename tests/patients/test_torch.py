"""Environments whose torch is ill, from real packages; where a fix is commands, they are run."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

from tests.command import check
from tests.environments import site_packages
from tests.patients.healing import heal, packages
from tests.toolkit import replace

Clone = Callable[..., Path]


def test_the_fix_for_a_torchvision_of_another_torch_leaves_torch_alone(
    clone: Clone, tmp_path: Path
) -> None:
    python = clone("torch", "--no-deps", "torchvision==0.24.0")
    said = check("--python", python, "--no-canaries", cwd=tmp_path)
    assert said.code == 1
    assert said.report["findings"][0]["id"] == "torchvision/other-torch"
    before = packages(python)
    heal(said.finding("torchvision/other-torch"), tmp_path)
    after = packages(python)
    assert {name: after[name] for name in ("torch", "torchvision")} == {
        "torch": before["torch"],
        "torchvision": "0.28.0",
    }
    assert set(after) - set(before) - {"pip", "setuptools"} == {"pillow"}, (
        "what torchvision asks for, and no torchaudio"
    )
    ran = subprocess.run(
        [str(python), "-c", "import torch, torchvision"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    assert check("--python", python, "--no-canaries", cwd=tmp_path).code == 0


def test_a_library_that_was_cut_off_is_found_and_replaced(clone: Clone, tmp_path: Path) -> None:
    python = clone("torch")
    library = site_packages(python) / "torch" / "lib" / "libtorch_cpu.so"
    size = library.stat().st_size
    with library.open("rb") as file:
        replace(library, file.read(1 << 20))
    said = check("--python", python, "--only", "torch-runtime", cwd=tmp_path)
    assert said.code == 1
    found = said.finding("torch/damaged-files")
    assert found["severity"] == "error"
    assert said.report["findings"][0] == found
    assert "SIGBUS" in {outcome["signal"] for outcome in said.outcomes("torch-runtime")}
    assert said.seconds < 30
    heal(found, tmp_path)
    assert library.stat().st_size == size
    assert check("--python", python, "--only", "torch-runtime", cwd=tmp_path).code == 0
