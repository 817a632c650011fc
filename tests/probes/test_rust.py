"""Rust: the toolchain that rustup would choose, without a download."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from doctor.host import Host
from doctor.model.facts import Fact, State
from doctor.model.vocabulary import is_known
from doctor.observe.probes import rust
from doctor.observe.scene import ProbeInput
from tests.hosts import BABBLE, HANG, facts_of, made_host, put, script, values

_STABLE = "stable-x86_64-unknown-linux-gnu"
_SETTINGS = f'default_toolchain = "{_STABLE}"\n'


def _rustup(
    tmp_path: Path, *toolchains: str, settings: str = _SETTINGS, env: dict[str, str] | None = None
) -> Host:
    shims = dict.fromkeys(("rustup", "rustc", "cargo"), f"touch {tmp_path}/shim")
    put(tmp_path / "rustup/settings.toml", settings)
    for name in toolchains:
        script(
            tmp_path / f"rustup/toolchains/{name}/bin/rustc",
            "echo 'rustc 1.95.0 (59807616e 2026-04-14)'",
        )
        script(
            tmp_path / f"rustup/toolchains/{name}/bin/cargo",
            f"echo 'cargo 1.95.0-{name.split('-')[0]} (f2d3ce0bd)'",
        )
    return made_host(
        tmp_path, tools=shims, env={"RUSTUP_HOME": str(tmp_path / "rustup"), **(env or {})}
    )


def _seen(host: Host, workspace: Path | None = None, *, patience: float = 2.0) -> dict[str, Fact]:
    # Only PATH and RUSTUP_HOME are looked at, and both lie in the made-up machine: no path needs
    # another root.
    whole = Host(env=host.env, cwd=host.cwd)
    return facts_of(rust.probe(ProbeInput(host=whole, workspace=workspace), patience=patience))


def test_neither_rust_nor_workspace(tmp_path: Path) -> None:
    facts = _seen(made_host(tmp_path))
    assert {fact.state for fact in facts.values()} == {State.ABSENT}
    assert [name for name in facts if not is_known(name)] == []


def test_a_rust_without_rustup_is_asked(tmp_path: Path) -> None:
    facts = _seen(
        made_host(tmp_path, tools={"rustc": "echo 'rustc 1.63.0'", "cargo": "echo 'cargo 1.65.0'"})
    )
    tools = str(tmp_path / "root/tools")
    assert values(facts) == {"rust.rustc": "1.63.0", "rust.cargo": "1.65.0", "rust.bin": tools}


def test_the_default_toolchain_is_started_without_the_shim(tmp_path: Path) -> None:
    facts = _seen(_rustup(tmp_path, _STABLE, "nightly-2025-01-01-x86_64-unknown-linux-gnu"))
    at = str(tmp_path / f"rustup/toolchains/{_STABLE}/bin")
    assert values(facts) == {
        "rust.toolchain": _STABLE,
        "rust.rustc": "1.95.0",
        "rust.cargo": "1.95.0-stable",
        "rust.bin": at,
    }
    assert not (tmp_path / "shim").exists()


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("rust-toolchain.toml", '[toolchain]\nchannel = "nightly"\n'),
        ("rust-toolchain", "nightly\n"),
        ("../rust-toolchain", "nightly"),
    ],
)
def test_the_workspaces_own_toolchain_counts(tmp_path: Path, file: str, text: str) -> None:
    workspace = tmp_path / "ws/inner"
    workspace.mkdir(parents=True)
    (workspace / file).write_text(text)
    facts = _seen(
        _rustup(tmp_path, _STABLE, "nightly-2025-01-01-x86_64", "nightly-x86_64-unknown-linux-gnu"),
        workspace,
    )
    assert (facts["rust.toolchain"].value, facts["rust.cargo"].value) == (
        "nightly",
        "1.95.0-nightly",
    )


def test_the_environment_and_overrides_outrank_the_file(tmp_path: Path) -> None:
    put(tmp_path / "ws/rust-toolchain", "nightly")
    settings = f'default_toolchain = "nightly"\n[overrides]\n"{tmp_path}/ws" = "{_STABLE}"\n'
    assert (
        _seen(_rustup(tmp_path, _STABLE, settings=settings), tmp_path / "ws")["rust.cargo"].value
        == "1.95.0-stable"
    )
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


@pytest.mark.parametrize(
    "body", [HANG, BABBLE, "echo garbage", "exit 1", "head -c 300 /dev/urandom"]
)
def test_a_bad_rustc_costs_its_version_alone(tmp_path: Path, body: str) -> None:
    host = made_host(tmp_path, tools={"rustc": body, "cargo": "echo 'cargo 1.65.0'"})
    started = time.monotonic()
    facts = _seen(host, patience=1)
    assert time.monotonic() - started < 50
    assert (facts["rust.rustc"].state, facts["rust.cargo"].value) == (State.UNKNOWN, "1.65.0")
