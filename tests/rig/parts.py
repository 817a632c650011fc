"""Makes the parts of the rig: the two libraries, and an environment in which the CPU plays GPUs."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests import environments

_HERE = Path(__file__).parent
_LIBRARIES = {"driver": "libcuda.so.1", "nvml": "libnvidia-ml.so.1"}


def library(part: str, folder: Path, compiler: str = "cc") -> Path:
    """Compile `driver` or `nvml` into a folder, to be named in LD_LIBRARY_PATH.

    Return the library.
    """
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / _LIBRARIES[part]
    flags = ["-shared", "-fPIC", "-O1", "-w", f"-Wl,-soname,{path.name}"]
    subprocess.run(
        [compiler, *flags, "-o", str(path), str(_HERE / f"{part}.c"), "-ldl"],
        check=True,
        capture_output=True,
    )
    return path


def play_gpus(python: Path) -> Path:
    """Put the fake GPUs into an environment of ours that holds torch.

    They show where FAKE_GPUS is set.
    """
    site = environments.site_packages(python)
    shutil.copytree(
        _HERE / "fake_gpus",
        site / "fake_gpus",
        dirs_exist_ok=True,
        ignore=shutil.ignore_patterns("__pycache__"),
    )
    (site / "rig_gpus.pth").write_text("import fake_gpus\n", encoding="utf-8")
    return python


def described(value: str | Mapping[str, Any]) -> str:
    """Return what an environment variable is to hold."""
    return value if isinstance(value, str) else json.dumps(value)
