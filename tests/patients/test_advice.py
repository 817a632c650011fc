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
from tests.patients.healing import heal, packages

Clone = Callable[..., Path]


def test_a_package_that_does_not_import_is_named_and_its_first_fix_heals(
    clone: Clone, tmp_path: Path
) -> None:
    python = clone("torch", "pandas==3.1.1", "numpy>=2")
    subprocess.run([uv(), "pip", "install", "-q", "--python", str(python), "numpy<2"], check=True)
    sick = check("--python", python, "--only", "module-imports", cwd=tmp_path)
    found = sick.finding("import/pandas")
    assert (sick.code, found["severity"]) == (1, "error")
    assert "pandas 3.1.1 asks for numpy" in json.dumps(found["evidence"])
    before = packages(python)
    heal(found, tmp_path)
    moved = {name for name, version in packages(python).items() if before.get(name) != version}
    assert moved - {"pip", "setuptools"} == {"numpy"}
    healed = check("--python", python, "--only", "module-imports", cwd=tmp_path)
    assert (healed.code, healed.report["findings"]) == (0, [])
