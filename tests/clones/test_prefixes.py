"""A prefix is replaced where it is a whole path, and nowhere else."""

from __future__ import annotations

from pathlib import Path

import pytest

from doctor.environments.prefixes import moved_text, replaced, spellings, with_prefix
from tests.hosts import made_host, put


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (b"#!/a/env/bin/python\n", b"#!/new/bin/python\n"),
        (b"VIRTUAL_ENV='/a/env'", b"VIRTUAL_ENV='/new'"),
        (b"/a/env", b"/new"),
        (b"/a/env:/a/env/lib:/b", b"/new:/new/lib:/b"),
        (b"/a/env2/bin /a/env.bak /a/env-old", b"/a/env2/bin /a/env.bak /a/env-old"),
        (b"/mnt/a/env/bin", b"/mnt/a/env/bin"),
        (b"", b""),
    ],
)
def test_only_a_whole_path_is_replaced(text: bytes, expected: bytes) -> None:
    assert replaced(text, "/a/env", "/new") == expected


def test_an_address_is_replaced_in_its_encoding() -> None:
    data = b'{"url": "file:///my%20code/env/src/x", "dir_info": {"editable": true}}'
    assert b"file:///other%20place/src/x" in with_prefix(data, ["/my code/env"], "/other place")


def test_every_spelling_of_a_folder_counts(tmp_path: Path) -> None:
    root = tmp_path / "real"
    put(root / "bin/activate", f"VIRTUAL_ENV='{tmp_path}/link'\nexport VIRTUAL_ENV\n")
    (tmp_path / "link").symlink_to(root)
    host = made_host(tmp_path, env={"CONDA_PREFIX": str(tmp_path / "elsewhere")})
    names = spellings(root, host, root / "bin")
    assert set(names) == {str(root), str(tmp_path / "link")}
    assert moved_text(f"{tmp_path}/link/bin", names, "/new") == "/new/bin"
