"""`doctor check` where the project is a Cargo workspace."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.command import Said, doctor
from tests.fingerprint import changes, fingerprint
from tests.hosts import put
from tests.workspaces import home_of, stand_in

_ALONE = '[package]\nname = "app"\nversion = "0.1.0"\nedition = "2021"\n'


@pytest.fixture(autouse=True)
def _cargo(needs: Callable[[str], str]) -> None:
    needs("cargo")


def _check(folder: Path, *arguments: str, **env: str) -> Said:
    return doctor("check", *arguments, cwd=folder, env={**home_of(folder), **env})


def test_a_workspace_without_candle_has_nothing_to_judge(tmp_path: Path) -> None:
    said = _check(stand_in(tmp_path / "ws", manifest=_ALONE))
    assert said.code == 4
    assert "no candle-core in Cargo.lock" in said.out
    assert "it builds on no Candle" in " ".join(said.out.split())


def test_a_workspace_without_a_lock_is_told_so(tmp_path: Path) -> None:
    folder = stand_in(tmp_path / "ws")
    (folder / "Cargo.lock").unlink()
    said = _check(folder)
    assert said.code == 4
    assert "no Cargo.lock" in said.out
    assert not (folder / "Cargo.lock").exists()


def test_a_broken_lock_is_an_error_with_its_mending(tmp_path: Path) -> None:
    folder = stand_in(tmp_path / "ws")
    put(folder / "Cargo.lock", "<<<<<<< HEAD\n" + (folder / "Cargo.lock").read_text())
    said = _check(folder, "--format", "json")
    assert said.code == 1
    assert said.finding("rust/lock-unreadable")["fixes"][0]["commands"][0].endswith(
        "checkout --ours Cargo.lock"
    )


def test_without_cargo_the_lock_is_read_all_the_same(tmp_path: Path) -> None:
    folder = stand_in(tmp_path / "ws")
    assert _check(folder, "--no-canaries", PATH="/nonexistent").code == 0
    said = _check(folder, PATH="/nonexistent")
    assert said.code == 0
    assert "candle-core 0.4.2 (a path)" in said.out
    assert "no cargo" in said.out


def test_a_workspace_is_judged_without_a_python_that_lies_on_the_path(tmp_path: Path) -> None:
    said = _check(stand_in(tmp_path / "ws"), "--no-canaries", "--format", "json")
    assert [target["kind"] for target in said.report["targets"]] == ["cargo"]


def test_features_decide_what_is_judged(tmp_path: Path) -> None:
    folder = stand_in(tmp_path / "ws")
    assert "candle-core 0.4.2 (a path) for the CPU" in _check(folder, "--no-canaries").out
    assert "with cuda, flash-attn" in " ".join(
        _check(folder, "--no-canaries", "--features", "flash").out.split()
    )


def test_a_check_leaves_no_trace(tmp_path: Path) -> None:
    folder = stand_in(tmp_path / "ws", {"candle/candle-flash-attn/build.rs": "fn main() {}\n"})
    before = fingerprint(folder)
    _check(folder)
    assert changes(before, fingerprint(folder)) == []


def test_checks_of_crates_that_are_not_there_are_not_told(tmp_path: Path) -> None:
    manifest = _ALONE + '[dependencies]\ncandle-core = { path = "candle/candle-core" }\n'
    said = _check(stand_in(tmp_path / "ws", manifest=manifest), "--format", "json")
    assert (said.code, said.report["outcomes"]) == (0, [])
