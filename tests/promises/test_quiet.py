"""The static check imports no framework and opens no socket, in any of its processes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

# Heard by every Python that is started with this folder on PYTHONPATH, the target's interpreter
# included; doctor itself sets that aside, and is told.
_EAR = """
import os, sys
def _hear(event, args, _open=os.open, _write=os.write, _to=os.environ["HEARD"]):
    if event.startswith("socket.") and (args[1] if event == "socket.__new__" else getattr(args[0], "family", None)) == 1:
        return  # AF_UNIX: a pair by which the processes of one run speak to each other, and which leads to no network
    if event.startswith("socket.") or (event == "import" and args[0] == "torch"):
        _write(_open(_to, os.O_WRONLY | os.O_APPEND | os.O_CREAT), (event + " " + sys.executable + "\\n").encode())
sys.addaudithook(_hear)
"""  # noqa: E501
_TOLD = (
    "import runpy, sys; exec(open(sys.argv[1]).read()); sys.argv = sys.argv[1:]; "
    "runpy.run_module('doctor', run_name='__main__')"
)


def heard(tmp_path: Path, *arguments: str) -> list[str]:
    """Run a Python program with an ear in every interpreter, and return what was heard.

    `-m doctor` first is doctor itself.
    """
    ear = tmp_path / "sitecustomize.py"
    ear.write_text(_EAR)
    log = tmp_path / "heard"
    env = {**os.environ, "PYTHONPATH": str(tmp_path), "HEARD": str(log)}
    own = (
        ("-E", "-c", _TOLD, str(ear), *arguments[2:])
        if arguments[:2] == ("-m", "doctor")
        else arguments
    )
    ran = subprocess.run(
        [sys.executable, *own],
        env=env,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert "Traceback" not in ran.stderr, ran.stderr
    return log.read_text().splitlines() if log.exists() else []


def test_the_ear_hears(tmp_path: Path) -> None:
    (tmp_path / "torch.py").write_text("")
    assert len(heard(tmp_path, "-c", "import torch, socket; socket.socket()")) >= 2


@pytest.mark.patient
def test_the_static_check_is_quiet(tmp_path: Path, torch_python: Path) -> None:
    assert (
        heard(tmp_path, "-m", "doctor", "check", "--no-canaries", "--python", str(torch_python))
        == []
    )


@pytest.mark.patient
def test_doctor_itself_imports_no_framework_when_canaries_run(
    tmp_path: Path, torch_python: Path
) -> None:
    arguments = ("-m", "doctor", "check", "--only", "torch-runtime", "--python", str(torch_python))
    mine = [line for line in heard(tmp_path, *arguments) if line.endswith(sys.executable)]
    assert mine == []


@pytest.mark.patient
def test_every_probe_of_the_full_check_runs_in_the_static_one(
    tmp_path: Path, torch_python: Path
) -> None:
    ran = subprocess.run(
        [
            sys.executable,
            "-m",
            "doctor",
            "check",
            "--no-canaries",
            "--format",
            "json",
            "--python",
            str(torch_python),
        ],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    facts = json.loads(ran.stdout)["facts"]
    names = (
        "torch.arch_list",
        "files.missing",
        "libs.resolved",
        "nvidia.driver_version",
        "cuda.toolkits",
        "compiler.cxx",
        "rust.rustc",
        "metal.macos",
        "host.glibc",
    )
    assert not [name for name in names if name not in facts]
