"""A lock that a killed build left behind: found in the user's cache, and gone after the fix."""

from __future__ import annotations

import os
import time
from pathlib import Path

from tests.command import check
from tests.hosts import put
from tests.patients.healing import heal

STALE = "torch/extension-lock-left-behind"


def test_a_lock_left_behind_is_found_and_removed(torch_python: Path, tmp_path: Path) -> None:
    lock = put(tmp_path / f".cache/torch_extensions/{_tag(torch_python)}_cu130/fused_adam/lock")
    os.utime(lock, (time.time() - 7200,) * 2)
    settings = {"HOME": str(tmp_path), "XDG_CACHE_HOME": ""}
    said = check("--python", torch_python, "--no-canaries", cwd=tmp_path, env=settings)
    found = said.finding(STALE)
    assert (found["severity"], found["confidence"]) == ("warning", "high")
    heal(found, tmp_path, env=settings)
    assert not lock.exists()
    after = check("--python", torch_python, "--no-canaries", cwd=tmp_path, env=settings)
    assert STALE not in {finding["id"] for finding in after.report["findings"]}


def _tag(python: Path) -> str:
    """Return how torch calls the folder of this interpreter's extensions: py311."""
    site = next(python.parents[1].glob("lib/python3.*"))
    return "py" + site.name.removeprefix("python").replace(".", "")
