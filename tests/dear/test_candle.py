"""Commits of Candle itself, on either side of two fixes.

As a folder, as a fork with a commit of its own, and by their own commit.

`DOCTOR_CANDLE_REPO` is the path of a clone of Candle's repository with its whole history.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.checks.trial import only_result, reasons, run_check
from tests.fingerprint import changes, fingerprint
from tests.workspaces import application, cargo_home, committed, fetched, git

REPOSITORY = os.environ.get("DOCTOR_CANDLE_REPO", "")
MATMUL, FLASH = "canaries/candle_noncontiguous_matmul.py", "canaries/candle_flash_attn_build.py"
BROKEN_MATMUL, FIXED_MATMUL = (
    "66f0a4eeea02f069838903a18dd6402821e43271",
    "08c049def36a8df4bd6d7231a62b1e342fcc9a65",
)
BROKEN_SCRIPT, FIXED_SCRIPT = (
    "e6cd499e9894d24a4382e9838db33b3565a6afe8",
    "2a2852d1c1d176181a0b0d64569044356ab330c1",
)

pytestmark = [
    pytest.mark.dear,
    pytest.mark.skipif(
        not REPOSITORY, reason="DOCTOR_CANDLE_REPO names no clone of Candle's repository"
    ),
]

Run = Callable[[str, Path], dict[str, Any]]


@pytest.fixture
def run(tmp_path: Path, needs: Callable[[str], str]) -> Run:
    """Return a function that runs a canary, and checks that the workspace stays as it was."""
    needs("cargo")
    needs("cc")
    (tmp_path / "run").mkdir()

    def start(script: str, workspace: Path) -> dict[str, Any]:
        before = fingerprint(workspace)
        given = {"CANARY_WORKSPACE": str(workspace), "CARGO_HOME": str(cargo_home())}
        document = run_check(Path(sys.executable), script, tmp_path / "run", **given)
        assert changes(before, fingerprint(workspace)) == []
        return only_result(document)

    return start


def copied(folder: Path, commit: str) -> Path:
    """Return the files of a commit, without their history and submodules."""
    folder.mkdir(parents=True)
    archive = folder.with_suffix(".tar")
    git(Path(REPOSITORY).absolute(), "archive", "-o", str(archive), commit)
    shutil.unpack_archive(archive, folder)
    (folder / ".gitmodules").unlink(missing_ok=True)
    return folder


def by_folder(folder: Path, crate: str, commit: str) -> Path:
    """Make a workspace on a copy of a commit."""
    source = copied(folder / "candle", commit)
    return fetched(
        application(folder / "workspace", f'{crate} = {{ path = "{source}/{crate}" }}'),
        "half@2.4.1",
    )


def by_fork(folder: Path, crate: str, commit: str) -> Path:
    """Make a workspace on a fork.

    The same files without the submodule, under a commit of its own.
    """
    fork = copied(folder / "candle", commit)
    mine = committed(fork)
    assert mine != commit
    return fetched(
        application(folder / "workspace", f'{crate} = {{ git = "file://{fork}", rev = "{mine}" }}'),
        "half@2.4.1",
    )


def by_commit(folder: Path, crate: str, commit: str) -> Path:
    """Make a workspace on the commit itself."""
    folder.mkdir(parents=True, exist_ok=True)
    # Cargo fetches every reference there is; a mirror has more of them than branches and tags.
    git(folder, "clone", "-q", "--bare", "--shared", str(Path(REPOSITORY).absolute()), "candle.git")
    entry = f'{crate} = {{ git = "file://{folder}/candle.git", rev = "{commit}" }}'
    return fetched(application(folder / "workspace", entry), "half@2.4.1")


ways = pytest.mark.parametrize("way", [by_folder, by_fork, by_commit])
Way = Callable[[Path, str, str], Path]


@ways
def test_products_are_refused_before_the_fix_and_right_after_it(
    run: Run, tmp_path: Path, way: Way
) -> None:
    broken = run(MATMUL, way(tmp_path / "broken", "candle-core", BROKEN_MATMUL))
    assert set(reasons(broken)) == {"contiguous-copy"}
    assert 'msg: "non-contiguous rhs"' in reasons(broken)["contiguous-copy"]
    fixed = run(MATMUL, way(tmp_path / "fixed", "candle-core", FIXED_MATMUL))
    assert (fixed["verdict"], reasons(fixed)) == ("passed", {})


@ways
def test_the_build_script_fails_before_the_fix_and_compiles_after_it(
    run: Run, tmp_path: Path, way: Way
) -> None:
    broken = run(FLASH, way(tmp_path / "broken", "candle-flash-attn", BROKEN_SCRIPT))
    assert reasons(broken)["build-script"].startswith(
        "error[E0384]: cannot assign twice to immutable variable `builder`"
    )
    fixed = run(FLASH, way(tmp_path / "fixed", "candle-flash-attn", FIXED_SCRIPT))
    assert (fixed["cases"]["build-script"]["verdict"], reasons(fixed)) == ("passed", {})


def test_the_patch_of_two_lines_heals_a_copy(run: Run, tmp_path: Path) -> None:
    workspace = by_folder(tmp_path, "candle-flash-attn", BROKEN_SCRIPT)
    assert "build-script" in reasons(run(FLASH, workspace))
    build = tmp_path / "candle" / "candle-flash-attn" / "build.rs"
    build.write_text(
        build.read_text(encoding="utf-8").replace("let builder =", "let mut builder ="),
        encoding="utf-8",
    )
    assert reasons(run(FLASH, workspace)) == {}


def test_another_rev_heals_a_git_dependency(run: Run, tmp_path: Path) -> None:
    workspace = by_commit(tmp_path, "candle-core", BROKEN_MATMUL)
    assert "contiguous-copy" in reasons(run(MATMUL, workspace))
    manifest = workspace / "Cargo.toml"
    manifest.write_text(
        manifest.read_text(encoding="utf-8").replace(BROKEN_MATMUL, FIXED_MATMUL), encoding="utf-8"
    )
    fetched(workspace, "half@2.4.1")
    assert reasons(run(MATMUL, workspace)) == {}
