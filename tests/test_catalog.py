"""The catalog of a checkout, which is not parsed anew for every command."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from doctor import catalog as catalogs
from doctor.model.catalog import Catalog

_ISSUE = """title: {title}
severity: note
cause: x
references: []
verified: {{how: thread, checked: 2026-11-21}}
examples: []
"""


def _titles(folder: Path) -> list[str]:
    found: Catalog = catalogs._of_checkout(folder)
    return sorted(issue.title for issue in found.issues.values())


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "matrices" / "issues" / "x").mkdir(parents=True)
    (tmp_path / "matrices" / "issues" / "x" / "one.yaml").write_text(_ISSUE.format(title="one"), encoding="utf-8")
    return tmp_path / "matrices"


def test_what_was_compiled_is_read_while_nothing_changes(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert _titles(folder) == ["one"]
    monkeypatch.setattr(catalogs, "load_folder", lambda _folder: pytest.fail("parsed again"))
    assert _titles(folder) == ["one"]


@pytest.mark.parametrize("change", ["edited", "added", "removed", "renamed"])
def test_every_change_is_seen(folder: Path, change: str) -> None:
    assert _titles(folder) == ["one"]
    path = folder / "issues" / "x" / "one.yaml"
    other = path.with_name("two.yaml")
    if change == "edited":
        path.write_text(_ISSUE.format(title="two"), encoding="utf-8")
        os.utime(path, ns=(1, 1))
    elif change == "added":
        other.write_text(_ISSUE.format(title="two"), encoding="utf-8")
    elif change == "removed":
        path.unlink()
    else:
        path.rename(other)
    assert _titles(folder) == {"edited": ["two"], "added": ["one", "two"], "removed": [], "renamed": ["one"]}[change]
    assert sorted(catalogs._of_checkout(folder).issues) == sorted(catalogs.load_folder(folder).issues)


def test_what_was_kept_may_be_damaged_or_unwritable(folder: Path) -> None:
    beside = folder.parent / ".catalog.msgpack"
    beside.write_bytes(b"\x93not this")
    assert _titles(folder) == ["one"]
    beside.unlink()
    beside.mkdir()
    assert _titles(folder) == ["one"]
