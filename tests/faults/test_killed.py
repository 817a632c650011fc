"""A doctor that is killed outright leaves no process and no folder behind.

Its supervisor sees to that.
"""

from __future__ import annotations

import signal
import sys
import time
from pathlib import Path

import pytest

from tests.command import Running, alive, wait_for
from tests.environments import UnavailableError, interpreter, make
from tests.faults.standins import package

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs /proc")

_LINGERS = """
import os, subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True)
with open({part!r}, "w") as file: file.write(f"{{os.getpid()}} {{child.pid}}")
os.rename({part!r}, {note!r})
time.sleep(600)
"""  # noqa: E501


def _left(temporary: Path, pids: list[int]) -> list[str]:
    """Wait a while, and return what is still there: processes by number, files by path."""
    deadline = time.monotonic() + 60
    while (any(map(alive, pids)) or list(temporary.iterdir())) and time.monotonic() < deadline:
        time.sleep(0.05)
    return [*(str(pid) for pid in pids if alive(pid)), *map(str, temporary.iterdir())]


def test_while_torch_is_being_imported(tmp_path: Path) -> None:
    try:
        make(tmp_path / "patient", ())
    except UnavailableError as error:
        pytest.skip(str(error))
    python, temporary, note = (
        interpreter(tmp_path / "patient"),
        tmp_path / "temporary",
        tmp_path / "pids",
    )
    temporary.mkdir()
    package(python, "torch", "2.13.0", _LINGERS.format(part=f"{note}.part", note=str(note)))
    running = Running("--python", python, cwd=tmp_path, env={"TMPDIR": str(temporary)})
    wait_for(note)
    assert list(temporary.glob("doctor-*"))
    pids = [int(pid) for pid in note.read_text(encoding="utf-8").split()]
    assert all(map(alive, pids))
    running.interrupt(signal.SIGKILL)
    assert _left(temporary, pids) == []


def test_while_canaries_share_a_torch(torch_python: Path, tmp_path: Path) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    running = Running("--python", torch_python, cwd=tmp_path, env={"TMPDIR": str(temporary)})
    deadline = time.monotonic() + 60
    while not list(temporary.glob("doctor-*/inductor-compile-cpu/result.json")):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    pids = _of_this_run(temporary)
    assert len(pids) > 1
    running.interrupt(signal.SIGKILL)
    assert _left(temporary, pids) == []


def _of_this_run(temporary: Path) -> list[int]:
    """Return the processes whose temporary folder is one of this run's."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if f"TMPDIR={temporary}/doctor-".encode() in (entry / "environ").read_bytes():
                found.append(int(entry.name))
        except OSError:
            continue
    return found
