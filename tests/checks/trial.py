"""Run one check script by hand in another interpreter, as it is or after something was broken."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tests.checks import warm_torch

CHECKS = Path(__file__).resolve().parents[2] / "checks"
SCRIPTS = sorted([*CHECKS.glob("facts/*.py"), *CHECKS.glob("canaries/*.py")])

_CACHES = {
    "TORCHINDUCTOR_CACHE_DIR": "inductor",
    "TRITON_CACHE_DIR": "triton",
    "TORCH_EXTENSIONS_DIR": "extensions",
    "TMPDIR": "",
}
_SETTINGS = (
    "CUDA_HOME",
    "CUDA_PATH",
    "CXX",
    "CANARY_DEVICES",
    "CANARY_TIER",
    "CANARY_TOOLKIT",
    "CANARY_SITE",
    "CANARY_ARCH",
    "CANARY_FLASH_ATTN",
    "CANARY_NETWORK",
    "CANARY_WORKSPACE",
    "CANARY_CARGO",
    "CANARY_FEATURES",
    "CANARY_SHARED",
)

Document = dict[str, Any]


def run_check(
    python: Path, script: str, folder: Path, *, breaking: str = "", **settings: str
) -> Document:
    """Return the document that `script` ("canaries/x.py") writes.

    `breaking` is Python that runs first, in the same process.
    """
    return _document(_started, python, script, folder, breaking, settings)


def run_check_warm(
    python: Path, script: str, folder: Path, *, breaking: str = "", **settings: str
) -> Document:
    """Return what `run_check` does, of a process that imported torch before it got the settings."""
    return _document(warm_torch.run, python, script, folder, breaking, settings)


def _document(
    run: Callable[[Path, Path, Path, Mapping[str, str]], tuple[int, str]],
    python: Path,
    script: str,
    folder: Path,
    breaking: str,
    settings: Mapping[str, str],
) -> Document:
    boot = folder / "boot.py"
    boot.write_text(
        (
            f"{breaking}\nimport runpy\nrunpy.run_path({str(CHECKS / script)!r}, "
            "run_name='__main__')\n"
        ),
        encoding="utf-8",
    )
    environment = {name: value for name, value in os.environ.items() if name not in _SETTINGS}
    environment.update({name: str(folder / cache) for name, cache in _CACHES.items()})
    environment.update(CANARY_RESULT=str(folder / "result.json"), **settings)
    code, log = run(python, boot, folder, environment)
    document: Document = json.loads((folder / "result.json").read_text(encoding="utf-8"))
    document["exit_code"] = code
    document["log"] = log
    return document


def _started(python: Path, script: Path, folder: Path, env: Mapping[str, str]) -> tuple[int, str]:
    ran = subprocess.run(
        [str(python), str(script)],
        cwd=folder,
        env=env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    return ran.returncode, ran.stdout + ran.stderr


def only_result(document: Document) -> dict[str, Any]:
    """Return the one result of a script that came to its end."""
    assert document["doing"] is None, document["log"]
    assert document["exit_code"] == 0, document["log"]
    (result,) = document["results"]
    assert isinstance(result, dict)
    return result


def reasons(result: dict[str, Any], verdict: str = "failed") -> dict[str, str]:
    """Return the reasons of the cases that ended so."""
    return {
        name: case["reason"] for name, case in result["cases"].items() if case["verdict"] == verdict
    }
