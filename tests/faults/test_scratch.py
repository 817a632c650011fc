"""Where the temporary folder of a run is made, and what is said where none can be."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from doctor.host.scratch import Scratch, temporary_folders
from tests.command import doctor
from tests.faults.standins import bare, package


def may_mount() -> bool:
    """Say whether this user has mount namespaces to play a machine in."""
    if not sys.platform.startswith("linux") or os.geteuid() != 0:
        return False
    return (
        subprocess.run(["unshare", "-m", "true"], capture_output=True, check=False).returncode == 0
    )


def test_it_is_where_the_environment_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    with Scratch() as scratch:
        assert scratch.folder.parent == tmp_path
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_not_there_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in (
        ("TMPDIR", tmp_path / "nowhere"),
        ("TEMP", Path("relative")),
        ("TMP", tmp_path),
    ):
        monkeypatch.setenv(name, str(value))
    with Scratch() as scratch:
        assert scratch.folder.parent == tmp_path


@pytest.mark.parametrize("platform", ["linux", "darwin", "win32"])
def test_no_place_depends_on_the_current_folder(platform: str) -> None:
    named = {
        "TMPDIR": ".",
        "TEMP": "tmp",
        "TMP": "",
        "LOCALAPPDATA": r"C:\Users\a\AppData\Local",
        "SYSTEMROOT": r"C:\Windows",
    }
    found = list(temporary_folders(named, platform))
    assert found
    assert not {".", "tmp", "", os.getcwd()} & set(found)  # noqa: PTH109


_READ_ONLY = """
mount --bind "$0" /mnt || exit 99
for place in /tmp /var/tmp /dev/shm; do mount --bind $place $place && mount -o remount,bind,ro $place || exit 99; done
cd /mnt && exec env -u TMPDIR -u TEMP -u TMP "$@"
"""  # noqa: E501


@pytest.mark.skipif(
    not may_mount(),
    reason="needs root and a mount namespace of its own to have a machine that cannot be written",
)
def test_where_nothing_can_be_written_the_project_stays_as_it_is(tmp_path: Path) -> None:
    python = bare(tmp_path / "patient")
    package(python, "torch", "2.13.0", "")
    (tmp_path / "project").mkdir()
    command = (
        "unshare",
        "-m",
        "sh",
        "-c",
        _READ_ONLY,
        str(tmp_path / "project"),
        sys.executable,
        "-m",
        "doctor",
    )
    said = doctor("check", "--format", "json", "--python", python, cwd=tmp_path, command=command)
    assert said.code == 4, said.err
    reasons = {one["reason"] for one in said.report["outcomes"]}
    assert len(reasons) == 1
    assert (
        "no right to run: no temporary folder can be made (/tmp: Read-only file system"
        in reasons.pop()
    )
    assert said.report["facts"]["torch.version"]["value"] == "2.13.0"
    assert [path.name for path in (tmp_path / "project").iterdir()] == []
