"""What the first fix of a finding does to a real environment.

It heals, and it brings nothing that nobody had.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

from tests.command import check
from tests.environments import uv
from tests.patients.healing import heal

Clone = Callable[..., Path]


def _packages(python: Path) -> dict[str, str]:
    listed = subprocess.run(
        [uv(), "pip", "list", "--python", str(python), "--format", "json"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    return {one["name"]: one["version"] for one in json.loads(listed)}


def test_a_package_that_does_not_import_is_named_and_its_first_fix_heals(
    clone: Clone, tmp_path: Path
) -> None:
    python = clone("torch", "pandas==3.1.1", "numpy>=2")
    subprocess.run([uv(), "pip", "install", "-q", "--python", str(python), "numpy<2"], check=True)
    sick = check("--python", python, "--only", "module-imports", cwd=tmp_path)
    found = sick.finding("import/pandas")
    assert (sick.code, found["severity"]) == (1, "error")
    assert "pandas 3.1.1 asks for numpy" in json.dumps(found["evidence"])
    before = _packages(python)
    heal(found, tmp_path)
    moved = {name for name, version in _packages(python).items() if before.get(name) != version}
    assert moved - {"pip", "setuptools"} == {"numpy"}
    healed = check("--python", python, "--only", "module-imports", cwd=tmp_path)
    assert (healed.code, healed.report["findings"]) == (0, [])


def test_another_release_brings_what_it_asks_for_and_torch_stays(
    clone: Clone, tmp_path: Path
) -> None:
    python = clone("torch", "--no-deps", "torchvision==0.24.0")
    found = check("--python", python, "--no-canaries", cwd=tmp_path).finding(
        "torchvision/other-torch"
    )
    before = _packages(python)
    heal(found, tmp_path)
    after = _packages(python)
    assert {name: after[name] for name in ("torch", "torchvision")} == {
        "torch": before["torch"],
        "torchvision": "0.28.0",
    }
    assert set(after) - set(before) - {"pip", "setuptools"} == {"pillow"}, (
        "what torchvision asks for, and no torchaudio"
    )
    subprocess.run([str(python), "-c", "import torchvision"], check=True, capture_output=True)
