"""The canary of Inductor names each fault: no compiler, a hang, no setuptools, torch 2.5.1."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

from tests.checks.trial import CHECKS, only_result, reasons, run_check
from tests.command import wait_for
from tests.environments import site_packages
from tests.hosts import HANG, script

Clone = Callable[..., Path]

SCRIPT = "canaries/inductor_compile.py"


def test_torch_251_keeps_the_constant_symbolic(torch251_python: Path, tmp_path: Path) -> None:
    # Without a compiler the other cases end at once, and this one needs none.
    absent = str(tmp_path / "no-compiler")
    document = run_check(torch251_python, SCRIPT, tmp_path, CANARY_DEVICES="cpu", CXX=absent)
    failed = reasons(only_result(document))
    assert set(failed) == {"forward", "user-triton-constant"}
    assert failed["forward"].startswith("InvalidCxxCompiler: No working C++ compiler found")
    assert "Traceback" in document["log"]
    assert (
        failed["user-triton-constant"]
        == "tl.constexpr NUMEL was handed to the backend as the symbol s0, expected the number 517"
    )


def test_missing_setuptools_is_named(clone: Clone, tmp_path: Path) -> None:
    python = clone("torch251")
    shutil.rmtree(site_packages(python) / "setuptools")
    failed = reasons(only_result(run_check(python, SCRIPT, tmp_path, CANARY_DEVICES="cpu")))
    assert set(failed) == {"forward", "user-triton-constant"}
    assert {"No module named 'setuptools'"} == {
        reason.partition(": ")[2] for reason in failed.values()
    }


def test_compiler_that_never_answers_is_what_is_being_tried(
    torch_python: Path, tmp_path: Path
) -> None:
    started = tmp_path / "started"
    script(tmp_path / "c++", f"touch {started}; {HANG}")
    environment = {
        **os.environ,
        "CANARY_RESULT": str(tmp_path / "result.json"),
        "CANARY_DEVICES": "cpu",
        "CXX": str(tmp_path / "c++"),
    }
    environment.update(
        TMPDIR=str(tmp_path),
        TORCHINDUCTOR_CACHE_DIR=str(tmp_path / "inductor"),
        TRITON_CACHE_DIR=str(tmp_path / "triton"),
    )
    running = subprocess.Popen(
        [str(torch_python), str(CHECKS / SCRIPT)],
        cwd=tmp_path,
        env=environment,
        start_new_session=True,
    )
    try:
        wait_for(started, seconds=120)
        # What the runner reads when the time is over: it was the patient's compiler that did not
        # come back.
        document = json.loads((tmp_path / "result.json").read_text(encoding="utf-8"))
        assert document["doing"] == {"device": "cpu", "case": "forward", "act": True}
    finally:
        os.killpg(running.pid, signal.SIGKILL)
        running.wait()
