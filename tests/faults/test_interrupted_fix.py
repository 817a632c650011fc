"""Ctrl-C ends `doctor fix`: what was not tried does not count as healthy."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.command import COLD, environment
from tests.faults.standins import bare, package


@pytest.mark.skipif(os.name != "posix", reason="sends a signal")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_while_checks_run_ends_the_search(
    tmp_path: Path, number: signal.Signals
) -> None:
    python, note = bare(tmp_path / "patient"), tmp_path / "note"
    package(python, "torch", "2.13.0", f"import time\nopen({str(note)!r}, 'w')\ntime.sleep(60)\n")
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    child = subprocess.Popen(
        [*COLD, "fix", "--prove", "--python", str(python)],
        cwd=tmp_path,
        env=environment({"TMPDIR": str(scratch)}),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    deadline = time.monotonic() + 60
    while not note.exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    child.send_signal(number)
    out, err = child.communicate(timeout=30)
    assert (child.returncode, out) == (130, ""), err
    assert list(scratch.iterdir()) == []
