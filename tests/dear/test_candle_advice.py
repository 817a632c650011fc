"""`doctor check` on commits of Candle itself.

The affected ones are named, the advice is followed to the letter, and then it is silent.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.command import Said, doctor
from tests.dear.test_candle import (
    BROKEN_MATMUL,
    BROKEN_SCRIPT,
    FIXED_MATMUL,
    FIXED_SCRIPT,
    REPOSITORY,
    by_commit,
    by_folder,
    by_fork,
)
from tests.fingerprint import changes, fingerprint
from tests.workspaces import application, cargo, cargo_home, fetched, git

pytestmark = [
    pytest.mark.dear,
    pytest.mark.skipif(
        not REPOSITORY, reason="DOCTOR_CANDLE_REPO names no clone of Candle's repository"
    ),
]

SCRIPT, MATMUL = "candle/flash-attn-build-script-immutable", "candle/noncontiguous-matmul"
_COMMITS = {
    SCRIPT: ("candle-flash-attn", BROKEN_SCRIPT, FIXED_SCRIPT),
    MATMUL: ("candle-core", BROKEN_MATMUL, FIXED_MATMUL),
}
_TIER = {SCRIPT: "quick", MATMUL: "deep"}
_HOME = {"CARGO_HOME": str(cargo_home())}

issues = pytest.mark.parametrize("issue", [SCRIPT, MATMUL])
Way = Callable[[Path, str, str], Path]


@pytest.fixture(autouse=True)
def _tools(needs: Callable[[str], str]) -> None:
    needs("cargo")
    needs("cc")


def by_clone(folder: Path, crate: str, commit: str) -> Path:
    """Make a workspace on a clone of the repository that stands at a commit."""
    clone = folder / "candle"
    folder.mkdir(parents=True, exist_ok=True)
    git(folder, "clone", "-q", "--shared", str(Path(REPOSITORY).absolute()), "candle")
    git(clone, "checkout", "-q", commit)
    return fetched(
        application(folder / "workspace", f'{crate} = {{ path = "{clone}/{crate}" }}'), "half@2.4.1"
    )


def by_vendor(folder: Path, crate: str, commit: str) -> Path:
    """Make a workspace on a fork, with all its sources vendored into it."""
    workspace = by_fork(folder, crate, commit)
    (workspace / ".cargo").mkdir()
    (workspace / ".cargo/config.toml").write_text(cargo(workspace, "vendor"), encoding="utf-8")
    return workspace


def _check(workspace: Path, issue: str, *arguments: str) -> Said:
    before = fingerprint(workspace)
    said = doctor(
        "check",
        "--format",
        "json",
        "--tier",
        _TIER[issue],
        *arguments,
        cwd=workspace,
        env=_HOME,
        timeout=900,
    )
    assert changes(before, fingerprint(workspace)) == []
    return said


def _worse_than_warnings(said: Said) -> list[str]:
    return [finding["id"] for finding in said.report["findings"] if finding["severity"] == "error"]


def _follow(fix: dict[str, Any], workspace: Path) -> None:
    """Do what a fix says: run its commands, make its edit."""
    for command in fix["commands"]:
        subprocess.run(
            ["sh", "-c", command],
            check=True,
            cwd=workspace,
            env={**os.environ, **_HOME},
            capture_output=True,
        )
    if fix["file"]:
        path = workspace / fix["file"]
        text = path.read_text(encoding="utf-8")
        assert fix["before"] in text
        path.write_text(text.replace(fix["before"], fix["after"]), encoding="utf-8")


@issues
@pytest.mark.parametrize("way", [by_folder, by_fork, by_vendor, by_commit])
def test_the_affected_commit_is_named_and_the_fixed_one_is_not(
    tmp_path: Path, way: Way, issue: str
) -> None:
    crate, broken, fixed = _COMMITS[issue]
    said = _check(way(tmp_path / "broken", crate, broken), issue)
    assert (said.code, said.finding(issue)["severity"], said.finding(issue)["confidence"]) == (
        1,
        "error",
        "high",
    )
    assert _worse_than_warnings(said) == [issue]
    said = _check(way(tmp_path / "fixed", crate, fixed), issue)
    assert (said.code, _worse_than_warnings(said)) == (0, [])
    assert issue not in [finding["id"] for finding in said.report["findings"]]


@pytest.mark.parametrize(
    ("way", "issue"),
    [(by_clone, SCRIPT), (by_clone, MATMUL), (by_commit, SCRIPT), (by_commit, MATMUL)],
)
def test_the_first_advice_heals(tmp_path: Path, way: Way, issue: str) -> None:
    crate, broken, _ = _COMMITS[issue]
    workspace = way(tmp_path, crate, broken)
    _follow(_check(workspace, issue).finding(issue)["fixes"][0], workspace)
    # What everybody's next build would do: take the commit that the manifest names now.
    said = _check(fetched(workspace, "half@2.4.1") if way is by_commit else workspace, issue)
    assert (said.code, _worse_than_warnings(said)) == (0, [])
