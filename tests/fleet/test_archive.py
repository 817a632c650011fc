"""The archive runs in the Python that it was made for, or says what to do."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from doctor.fleet import archive, archive_main
from tests.hosts import script

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the other Pythons are scripts")


def _archive(path: Path, made_for: dict[str, str], program: str) -> Path:
    with zipfile.ZipFile(path, "w") as made:
        made.write(archive_main.__file__, "__main__.py")
        made.writestr("made_for.json", json.dumps(made_for))
        made.writestr("canary_doctor.py", program)
    return path


def _run(packed: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(packed), "fleet", "node"],
        env={"PATH": f"{folder}{os.pathsep}/usr/bin", "HOME": str(folder), "TMPDIR": str(folder)},
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )


def test_an_archive_for_another_release_finds_its_python_on_path(tmp_path: Path) -> None:
    """A Python that names itself 3.99, between one that does not start and nothing else."""
    wanted = {**archive.made_for(), "python": "3.99"}
    program = "import sys; print(sys.argv[1:]); sys.exit(4)"
    packed = _archive(tmp_path / "doctor.pyz", wanted, program)
    refused = _run(packed, tmp_path)
    assert refused.returncode == 3
    assert "no python3.99 is on PATH here. Name one with --node-python" in refused.stderr
    # It says of itself what a 3.99 would say, in the question and in the archive.
    claim = f"import sys; sys.version_info = (3, 99, 0); sys.executable = '{tmp_path}/python3.99'"
    run = "import runpy; sys.argv[:] = sys.argv[1:]; sys.path[:] = [sys.argv[0], *sys.path]"
    script(
        tmp_path / "python3.99",
        f'if [ "$1" = -I ]; then exec {sys.executable} -I -c "{claim}\n$3"; fi\n'
        f'case $1 in *.py) exec {sys.executable} "$@";; esac\n'
        f'exec {sys.executable} -c "{claim}; {run}; runpy.run_path(sys.argv[0], {{}}, '
        '\'__main__\')" "$@"',
    )
    ended = _run(packed, tmp_path)
    assert (ended.stdout, ended.stderr) == ("['fleet', 'node']\n", "")
    assert ended.returncode == 4
    assert {path.name for path in tmp_path.iterdir()} == {"doctor.pyz", "python3.99"}
