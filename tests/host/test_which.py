"""A command is found as `shutil.which` finds it."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from doctor.host import Host
from doctor.host.which import which


@pytest.mark.skipif(os.name == "nt", reason="Windows asks shutil itself")
@pytest.mark.parametrize(
    "command", ["tool", "folder", "plain", "none", "./tool", "./plain", "a\0b", ""]
)
@pytest.mark.parametrize("search", [None, "", ":", "one:two", "two::one", "/nowhere:one", "."])
def test_a_command_is_found_where_shutil_finds_it(
    command: str, search: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f"{tmp_path}/one:{tmp_path}/two")
    for folder in (tmp_path / "one", tmp_path / "two"):
        (folder / "folder").mkdir(parents=True)
        (folder / "plain").touch()
    for place in (tmp_path / "two/tool", tmp_path / "tool"):
        place.touch()
        place.chmod(0o755)
    try:
        expected = shutil.which(command, path=search)
    except ValueError:
        expected = None
    assert which(command, search) == expected


def test_the_uv_beside_doctor_is_used_where_no_path_leads_to_one(tmp_path: Path) -> None:
    bare = Host(env={"PATH": str(tmp_path)})
    assert bare.which("uv") is None
    own = bare.with_own_uv()
    assert own.which("uv") == own.env["DOCTOR_UV"]
    assert own.which("pip") is None
    (tmp_path / "uv").write_text("#!/bin/sh\n")
    (tmp_path / "uv").chmod(0o755)
    assert "DOCTOR_UV" not in bare.with_own_uv().env
    assert own.which("uv") == str(tmp_path / "uv")
