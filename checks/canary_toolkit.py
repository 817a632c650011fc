"""Where checks that build find the CUDA toolkit that they judge; scripts find this beside their own folder."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from canary_report import Ending


def find_toolkit() -> Path:
    """Look for the toolkit where torch's extension builder does; one that is named has to hold nvcc."""
    for name in "CANARY_TOOLKIT", "CUDA_HOME", "CUDA_PATH":
        if os.environ.get(name):
            root = Path(os.environ[name])
            if not (root / "bin" / "nvcc").is_file():
                raise Ending("failed", f"{name}={root} holds no bin/nvcc")
            return root
    found = shutil.which("nvcc")
    root = Path(found).parent.parent if found else Path("/usr/local/cuda")
    if not (root / "bin" / "nvcc").is_file():
        raise Ending("skipped", "no CUDA toolkit (nvcc) on this machine or in this environment")
    return root
