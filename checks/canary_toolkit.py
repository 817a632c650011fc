"""Where checks that build find the CUDA toolkit that they judge.

Scripts find this beside their own folder.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from canary_report import CaseEnded


def find_toolkit() -> Path:
    """Look for the toolkit where torch's extension builder does.

    One that is named has to hold nvcc.
    """
    for name in "CANARY_TOOLKIT", "CUDA_HOME", "CUDA_PATH":
        if os.environ.get(name):
            root = Path(os.environ[name])
            if not (root / "bin" / "nvcc").is_file():
                raise CaseEnded("failed", f"{name}={root} holds no bin/nvcc")
            return root
    found = shutil.which("nvcc")
    root = Path(found).parent.parent if found else Path("/usr/local/cuda")
    if not (root / "bin" / "nvcc").is_file():
        raise CaseEnded("skipped", "no CUDA toolkit (nvcc) on this machine or in this environment")
    return root
