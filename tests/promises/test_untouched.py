"""`check` changes nothing.

Not in the patient, not in the project, not in the home folder, not even when it is interrupted.

That a whole run changes nothing either is seen on the run that tests/patients/test_healthy.py
makes.
"""

from __future__ import annotations

import time
from pathlib import Path

from tests.command import Running
from tests.conftest import furnish
from tests.fingerprint import changes, fingerprint


def test_an_interrupted_run_touches_nothing(torch_python: Path, tmp_path: Path) -> None:
    folders, env = furnish(tmp_path, torch_python)
    temporary = Path(env["TMPDIR"])
    before = {name: fingerprint(folder) for name, folder in folders.items()}
    running = Running("--python", torch_python, cwd=folders["project"], env=env)
    deadline = time.monotonic() + 60
    while not list(temporary.glob("doctor-*/inductor-compile*")):
        assert time.monotonic() < deadline
        time.sleep(0.1)
    time.sleep(3)
    said = running.interrupt()
    assert said.code == 130
    assert said.report["interrupted"]
    assert said.outcomes("torch-runtime")[0]["verdict"] == "passed"
    for name, folder in folders.items():
        assert changes(before[name], fingerprint(folder)) == [], name
    assert list(temporary.iterdir()) == []
