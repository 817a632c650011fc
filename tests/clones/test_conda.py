"""A conda prefix is replaced in text and in binaries; sizes and other strings stay."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest

from doctor.environments.clone import clone
from doctor.environments.conda_files import with_binary_prefix
from doctor.environments.layout import CloneError
from doctor.host import Host
from tests.clones.made import environment, state
from tests.hosts import put


def test_strings_of_a_binary_move_within_their_padding() -> None:
    data = b"\x7fELF\0/old/lib:/old/x" + bytes(21) + b"/older\0other\0"
    found = with_binary_prefix(data, ["/old"], "/a/new", 14)
    assert found == b"\x7fELF\0/a/new/lib:/a/new/x" + bytes(17) + b"/older\0other\0"
    shorter = with_binary_prefix(data, ["/old"], "/n", 14)
    assert shorter == b"\x7fELF\0/n/lib:/n/x" + bytes(25) + b"/older\0other\0"
    assert with_binary_prefix(data, ["/old"], "/" + "n" * 20, 14) is None


def test_a_conda_prefix_is_cloned(tmp_path: Path) -> None:
    """The files are laid out as conda does it; there is no interpreter that could be started."""
    root = tmp_path / "base"
    put(root / "bin/x", f"#!{root}/bin/python\n").chmod(0o755)
    put(root / "share/tool.bin", f"\x7fELF\0{root}/share\0".encode() + bytes(255) + b"end")
    put(root / "lib/listed.txt", f"prefix = {root}\n")
    put(root / "conda-meta/history", "==> 2026 <==\n")
    put(root / "share/large.bin", bytes(100_000))
    held = "/placeholder".ljust(255, "_")
    paths = [
        {"_path": "share/tool.bin", "prefix_placeholder": held, "file_mode": "binary"},
        {"_path": "lib/listed.txt", "prefix_placeholder": held, "file_mode": "text"},
    ]
    files = ["share/tool.bin", "lib/listed.txt", "share/large.bin", "bin/x"]
    package = {"files": files, "paths_data": {"paths": paths}}
    put(root / "conda-meta/x-1-0.json", json.dumps(package))
    put(root / "conda-meta/odd-1-0.json", "[1, 2")
    made = msgspec.structs.replace(environment(root), kind="conda", base=root)
    before = state(root)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("doctor.environments.clone._require_own_prefix", lambda *_: None)
        with clone(made, Host()) as trial:
            new = trial.environment.root
            binary = (new / "share/tool.bin").read_bytes()
            assert len(binary) == (root / "share/tool.bin").stat().st_size
            assert f"\0{new}/share\0".encode() in binary
            assert (new / "lib/listed.txt").read_text() == f"prefix = {new}\n"
            assert (new / "bin/x").read_text() == f"#!{new}/bin/python\n"
            assert (new / "conda-meta/history").stat().st_nlink == 1
            assert trial.how == {"hard links": 1} or "reflinks" in trial.how
            assert trial.host.env["CONDA_PREFIX"] == str(new)
    assert state(root) == before
    data = (root / "share/tool.bin").read_bytes().rstrip(b"end\0")
    (root / "share/tool.bin").write_bytes(data + b"\0end")
    with pytest.raises(CloneError, match="too long to replace it"), clone(made, Host()):
        pass
