"""Run one check script by hand in another interpreter, as it is or after something was broken."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

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
    ran = subprocess.run(
        [str(python), str(boot)],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    document: Document = json.loads((folder / "result.json").read_text(encoding="utf-8"))
    document["exit_code"] = ran.returncode
    document["log"] = ran.stdout + ran.stderr
    return document


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
