"""Set one variable of the shell at a time that stops CUDA or torch, and look at what doctor says.

Each value is one that people set, and each error names something else: another GPU, the code in
the wheel, the installation. Nothing of the machine is changed.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

_AT_ONCE = 4
_LIMIT = 280
"""Seconds for each call of doctor."""
_PROGRAM = """
import torch
assert torch.cuda.is_available(), "no GPU"
print(torch.nn.Linear(8, 8).cuda()(torch.ones(8, device="cuda")).sum().item())
"""
STOPPING: Mapping[str, str] = {
    "CUDA_FORCE_PTX_JIT": "1",
    "CUDA_DEVICE_ORDER": "BUS",
    "PYTORCH_CUDA_ALLOC_CONF": "expandable_segment:True",
    "TORCH_LOGS": "nonsense",
}
"""Values with which torch ends before its first sum on a GPU (torch 2.11, CUDA 13.0)."""
HARMLESS: Mapping[str, str] = {
    "CUDA_LAUNCH_BLOCKING": "1",
    "CUDA_MODULE_LOADING": "EAGER",
    "NVIDIA_TF32_OVERRIDE": "0",
    "CUDA_DEVICE_ORDER": "PCI_BUS_ID",
    "PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True",
}


def surrounded(python: Path, folder: Path) -> Iterator[tuple[str, bool, Any]]:
    """Yield what was looked at, whether it is as it must be, and what doctor said."""
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        checks = {
            name: pool.submit(_checked, python, folder / name, {**HARMLESS, name: value})
            for name, value in STOPPING.items()
        }
        cures = {
            name: pool.submit(_cured, python, folder / f"cure-{name}", {name: value})
            for name, value in STOPPING.items()
        }
        code, report, text = _checked(python, folder / "harmless", HARMLESS)
        yield "variables that stop nothing", code == 0 and not report["findings"], text
        for name, one in checks.items():
            code, report, text = one.result()
            first = (report["findings"] or [{"id": "", "title": ""}])[0]
            is_named = first["id"] == "environment/variable-stops-a-check"
            right = code == 1 and is_named and first["title"].startswith(f"{name}=")
            yield f"{name} is the cause, of six that are set", right, text
        for name, cure in cures.items():
            code, plan = cure.result()
            steps = [step.get("argv") for step in plan["steps"]]
            right = (
                code == 0 and plan["proof"]["verdict"] == "proved" and steps == [["unset", name]]
            )
            yield f"the program runs without {name}, which is proved", right, plan


def _checked(python: Path, folder: Path, env: Mapping[str, str]) -> tuple[int, dict[str, Any], str]:
    folder.mkdir()
    report = folder / "report.json"
    ran = _doctor(folder, env, "check", "--python", str(python), "--report", f"json={report}",
                  "--only", "torch-runtime")  # fmt: skip
    return ran.returncode, json.loads(report.read_text(encoding="utf-8")), ran.stdout


def _cured(python: Path, folder: Path, env: Mapping[str, str]) -> tuple[int, dict[str, Any]]:
    folder.mkdir()
    ran = _doctor(folder, env, "fix", "--python", str(python), "--prove", "--offline",
                  "--format", "json", "--", str(python), "-c", _PROGRAM)  # fmt: skip
    return ran.returncode, json.loads(ran.stdout)["plan"]


def _doctor(
    folder: Path, env: Mapping[str, str], *arguments: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "doctor", *arguments],
        cwd=folder,
        env={**os.environ, **env, "DOCTOR_CACHE_DIR": ""},
        capture_output=True,
        text=True,
        timeout=_LIMIT,
        check=False,
        stdin=subprocess.DEVNULL,
    )
