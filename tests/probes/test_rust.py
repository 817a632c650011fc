"""Rust: the toolchain that rustup would choose, without a download, and Cargo.lock in outline."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from doctor.host import Host
from doctor.model.facts import Fact, State
from doctor.model.vocabulary import is_known
from doctor.probes import rust
from doctor.probes.contract import Scene
from tests.hosts import BABBLE, HANG, facts_of, made_host, put, script, values

_LOCK = """version = 4

[[package]]
name = "candle-core"
version = "0.9.1"
source = "git+https://github.com/huggingface/candle?rev=66f0a4ee#66f0a4ee0123456789012345678901234567890a"
dependencies = ["half", "rand 0.9.2"]

[[package]]
name = "candle-onnx"
version = "0.9.1"

[[package]]
name = "rand"
version = "0.8.5"
source = "registry+https://github.com/rust-lang/crates.io-index"

[[package]]
name = "rand"
version = "0.10.0"
source = "registry+https://github.com/rust-lang/crates.io-index"

[[package]]
name = "serde"
version = "1.0.0"
source = "registry+https://github.com/rust-lang/crates.io-index"
"""
_STABLE = "stable-x86_64-unknown-linux-gnu"
_SETTINGS = f'default_toolchain = "{_STABLE}"\n'


def _rustup(tmp_path: Path, *toolchains: str, settings: str = _SETTINGS, env: dict[str, str] | None = None) -> Host:
    shims = dict.fromkeys(("rustup", "rustc", "cargo"), f"touch {tmp_path}/shim")
    put(tmp_path / "rustup/settings.toml", settings)
    for name in toolchains:
        script(tmp_path / f"rustup/toolchains/{name}/bin/rustc", "echo 'rustc 1.95.0 (59807616e 2026-04-14)'")
        script(tmp_path / f"rustup/toolchains/{name}/bin/cargo", f"echo 'cargo 1.95.0-{name.split('-')[0]} (f2d3ce0bd)'")
    return made_host(tmp_path, tools=shims, env={"RUSTUP_HOME": str(tmp_path / "rustup"), **(env or {})})


def _seen(host: Host, workspace: Path | None = None, *, patience: float = 2.0) -> dict[str, Fact]:
    # Only PATH and RUSTUP_HOME are looked at, and both lie in the made-up machine: no path needs another root.
    whole = Host(env=host.env, cwd=host.cwd)
    return facts_of(rust.probe(Scene(host=whole, workspace=workspace), patience=patience))


def test_neither_rust_nor_workspace(tmp_path: Path) -> None:
    facts = _seen(made_host(tmp_path))
    assert {fact.state for fact in facts.values()} == {State.ABSENT}
    assert [name for name in facts if not is_known(name)] == []


def test_a_rust_without_rustup_is_asked(tmp_path: Path) -> None:
    facts = _seen(made_host(tmp_path, tools={"rustc": "echo 'rustc 1.63.0'", "cargo": "echo 'cargo 1.65.0'"}))
    assert values(facts) == {"rust.rustc": "1.63.0", "rust.cargo": "1.65.0"}


def test_the_default_toolchain_is_started_without_the_shim(tmp_path: Path) -> None:
    facts = _seen(_rustup(tmp_path, _STABLE, "nightly-2025-01-01-x86_64-unknown-linux-gnu"))
    assert values(facts) == {"rust.toolchain": _STABLE, "rust.rustc": "1.95.0", "rust.cargo": "1.95.0-stable"}
    assert not (tmp_path / "shim").exists()


@pytest.mark.parametrize(
    ("file", "text"),
    [("rust-toolchain.toml", '[toolchain]\nchannel = "nightly"\n'), ("rust-toolchain", "nightly\n"), ("../rust-toolchain", "nightly")],
)
def test_the_workspaces_own_toolchain_counts(tmp_path: Path, file: str, text: str) -> None:
    workspace = tmp_path / "ws/inner"
    workspace.mkdir(parents=True)
    (workspace / file).write_text(text)
    facts = _seen(_rustup(tmp_path, _STABLE, "nightly-2025-01-01-x86_64", "nightly-x86_64-unknown-linux-gnu"), workspace)
    assert (facts["rust.toolchain"].value, facts["rust.cargo"].value) == ("nightly", "1.95.0-nightly")


def test_the_environment_and_overrides_outrank_the_file(tmp_path: Path) -> None:
    put(tmp_path / "ws/rust-toolchain", "nightly")
    settings = f'default_toolchain = "nightly"\n[overrides]\n"{tmp_path}/ws" = "{_STABLE}"\n'
    assert _seen(_rustup(tmp_path, _STABLE, settings=settings), tmp_path / "ws")["rust.cargo"].value == "1.95.0-stable"
    host = _rustup(tmp_path, "1.80.0-x86_64", settings=settings, env={"RUSTUP_TOOLCHAIN": "1.80.0"})
    assert _seen(host, tmp_path / "ws")["rust.cargo"].value == "1.95.0-1.80.0"


def test_a_toolchain_that_is_not_there_is_not_downloaded(tmp_path: Path) -> None:
    put(tmp_path / "ws/rust-toolchain.toml", '[toolchain]\nchannel = "1.99.0"\n')
    facts = _seen(_rustup(tmp_path, _STABLE), tmp_path / "ws")
    assert facts["rust.toolchain"].value == "1.99.0"
    assert "1.99.0" in facts["rust.rustc"].why
    assert not (tmp_path / "shim").exists()


@pytest.mark.parametrize("settings", ["", "not toml [", "default_toolchain = 3\n"])
def test_broken_settings_start_nothing(tmp_path: Path, settings: str) -> None:
    facts = _seen(_rustup(tmp_path, _STABLE, settings=settings))
    assert facts["rust.cargo"].state is State.UNKNOWN
    assert not (tmp_path / "shim").exists()


@pytest.mark.parametrize("body", [HANG, BABBLE, "echo garbage", "exit 1", "head -c 300 /dev/urandom"])
def test_a_bad_rustc_costs_its_version_alone(tmp_path: Path, body: str) -> None:
    host = made_host(tmp_path, tools={"rustc": body, "cargo": "echo 'cargo 1.65.0'"})
    started = time.monotonic()
    facts = _seen(host, patience=0.3)
    assert time.monotonic() - started < 2
    assert (facts["rust.rustc"].state, facts["rust.cargo"].value) == (State.UNKNOWN, "1.65.0")


def test_a_lock_in_outline(tmp_path: Path) -> None:
    put(tmp_path / "ws/Cargo.lock", _LOCK)
    facts = _seen(made_host(tmp_path), tmp_path / "ws")
    assert values(facts) == {
        "cargo.workspace": str(tmp_path / "ws"),
        "cargo.lock": str(tmp_path / "ws/Cargo.lock"),
        "crate.candle-core.version": "0.9.1",
        "crate.candle-core.versions": ["0.9.1"],
        "crate.candle-core.source": "git",
        "crate.candle-core.commit": "66f0a4ee0123456789012345678901234567890a",
        "crate.candle-onnx.version": "0.9.1",
        "crate.candle-onnx.versions": ["0.9.1"],
        "crate.candle-onnx.source": "path",
        "crate.rand.version": "0.10.0",
        "crate.rand.versions": ["0.8.5", "0.10.0"],
        "crate.rand.source": "registry",
    }
    assert facts["crate.half.version"].state is State.ABSENT
    assert facts["cargo.lock_problem"].state is State.ABSENT
    assert [name for name in facts if not is_known(name)] == []


def test_no_lock_is_no_problem_but_tells_nothing(tmp_path: Path) -> None:
    facts = _seen(made_host(tmp_path), tmp_path)
    assert (facts["cargo.lock"].state, facts["cargo.lock_problem"].state) == (State.ABSENT, State.ABSENT)
    assert facts["crate.half.version"].state is State.UNKNOWN


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[[package]]\nname = ", "no TOML"),
        (_LOCK.replace("[[package]]", "<<<<<<< HEAD\n[[package]]", 1), "unresolved merge"),
        ("version = 4\n", "lists no package"),
        ("package = 3\n", "lists no package"),
        ('[[package]]\nname = "half"\nversion = 2\n', "lists no package"),
        ("x = " + "[" * 100_000, "no TOML"),
        ("#" * ((4 << 20) + 1), "larger than 4 MiB"),
    ],
)
def test_a_broken_lock_is_a_problem(tmp_path: Path, text: str, problem: str) -> None:
    put(tmp_path / "ws/Cargo.lock", text)
    facts = _seen(made_host(tmp_path), tmp_path / "ws")
    assert problem in facts["cargo.lock_problem"].value
    assert problem in facts["crate.candle-core.version"].why
