"""What cargo says of a real workspace, without a build, a download or a trace."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from doctor.model.facts import Fact, State
from doctor.observe.probes import cargo
from doctor.observe.scene import ProbeInput
from tests.fingerprint import changes, fingerprint
from tests.hosts import HANG, facts_of, put, script
from tests.workspaces import CORE, home_of, host, stand_in

_REGISTRY = """
[[package]]
name = "candle-core"
version = "0.9.1"
source = "registry+https://github.com/rust-lang/crates.io-index"
"""


@pytest.fixture(autouse=True)
def _cargo(needs: Callable[[str], str]) -> None:
    needs("cargo")


def _seen(folder: Path, *features: str, **env: str) -> dict[str, Fact]:
    return facts_of(
        cargo.probe(ProbeInput(host=host(folder, **env), workspace=folder, features=features))
    )


def test_features_are_those_that_are_on(tmp_path: Path) -> None:
    folder = stand_in(tmp_path / "ws")
    plain, flash = _seen(folder), _seen(folder, "flash")
    assert (plain["candle.features"].state, plain["crate.candle-flash-attn.used"].value) == (
        State.ABSENT,
        False,
    )
    assert (flash["candle.features"].value, flash["crate.candle-flash-attn.used"].value) == (
        ["cuda", "flash-attn"],
        True,
    )
    assert flash["crate.candle-core.features"].value == ["cuda"]
    assert (plain["cargo.resolved"].value, flash["cargo.resolved"].value) == (2, 3)


def test_the_wanted_rust_is_that_of_the_build(tmp_path: Path) -> None:
    facts = _seen(stand_in(tmp_path / "ws"))
    assert (facts["cargo.rust_wanted"].value, facts["cargo.rust_wanted_by"].value) == (
        "1.56",
        "candle-core 0.4.2",
    )


def test_nothing_is_written_and_no_wrapper_runs(tmp_path: Path) -> None:
    wrapper = script(tmp_path / "ws/wrapper.sh", f'touch "{tmp_path}/ran"; exec "$@"')
    for setting in ("rustc-wrapper", "rustc-workspace-wrapper", "rustc"):
        put(tmp_path / "ws/.cargo/config.toml", f'[build]\n{setting} = "{wrapper}"\n')
        folder = stand_in(tmp_path / "ws")
        (tmp_path / "ran").unlink(missing_ok=True)
        before = fingerprint(tmp_path)
        assert _seen(folder)["cargo.resolved"].value == 2
        assert changes(before, fingerprint(tmp_path)) == []


def test_sources_that_were_not_fetched_are_unknown_not_broken(tmp_path: Path) -> None:
    manifest = '[package]\nname = "app"\nversion = "0.1.0"\n[dependencies]\ncandle-core = "0.9.1"\n'
    folder = put(tmp_path / "ws/Cargo.toml", manifest).parent
    put(folder / "src/main.rs", "fn main() {}")
    put(folder / "Cargo.lock", "version = 4\n" + _REGISTRY)
    facts = _seen(folder)
    assert "cargo fetch" in facts["cargo.resolved"].why
    assert facts["crate.candle-core.version"].value == "0.9.1"
    assert {facts[f"crate.candle-core.{name}"].state for name in ("used", "features")} == {
        State.UNKNOWN
    }
    assert facts["candle.matmul_refuses_contiguous"].state is State.UNKNOWN
    assert not Path(home_of(folder)["CARGO_HOME"]).exists()


def test_a_manifest_that_cargo_refuses_is_told_in_its_words(tmp_path: Path) -> None:
    folder = stand_in(tmp_path / "ws")
    put(folder / "Cargo.toml", "[package]\nname = 3\n")
    facts = _seen(folder)
    assert "invalid type" in facts["cargo.resolved"].why
    assert facts["crate.candle-core.version"].value == "0.4.2"


def test_features_that_are_not_there_are_told(tmp_path: Path) -> None:
    assert "turbo" in _seen(stand_in(tmp_path / "ws"), "turbo")["cargo.resolved"].why


def test_without_cargo_the_lock_is_read_all_the_same(tmp_path: Path) -> None:
    facts = _seen(stand_in(tmp_path / "ws"), PATH=str(tmp_path))
    assert facts["crate.candle-core.version"].value == "0.4.2"
    assert "no cargo" in facts["cargo.resolved"].why


def test_vendored_sources_need_no_cargo_home(tmp_path: Path) -> None:
    manifest = '[package]\nname = "app"\nversion = "0.1.0"\n[dependencies]\ncandle-core = "0.9.1"\n'
    folder = put(tmp_path / "ws/Cargo.toml", manifest).parent
    put(folder / "src/main.rs", "fn main() {}")
    put(folder / "vendor/candle-core/Cargo.toml", CORE.replace("0.4.2", "0.9.1"))
    put(folder / "vendor/candle-core/src/lib.rs", "")
    put(folder / "vendor/candle-core/.cargo-checksum.json", '{"files":{}}')
    put(
        folder / ".cargo/config.toml",
        '[source.crates-io]\nreplace-with = "here"\n[source.here]\ndirectory = "vendor"\n',
    )
    put(
        folder / "Cargo.lock",
        "version = 4\n"
        + _REGISTRY
        + '\n[[package]]\nname = "app"\nversion = "0.1.0"\ndependencies = ["candle-core"]\n',
    )
    facts = _seen(folder)
    assert facts["cargo.resolved"].value == 2
    assert facts["crate.candle-core.path"].value == str(folder / "vendor/candle-core")


def test_a_crate_beside_a_python_project_costs_no_question(tmp_path: Path) -> None:
    folder = stand_in(tmp_path / "ws", manifest='[package]\nname = "app"\nversion = "0.1.0"\n')
    facts = _seen(folder)
    assert "nothing of Candle" in facts["cargo.resolved"].why
    assert facts["crate.candle-core.version"].state is State.ABSENT


def test_a_cargo_that_hangs_is_asked_once(tmp_path: Path) -> None:
    folder = stand_in(tmp_path / "ws")
    script(tmp_path / "bin/cargo", f"echo asked >> {tmp_path}/asked; {HANG}")
    scene = ProbeInput(host=host(folder, PATH=f"{tmp_path}/bin:/usr/bin:/bin"), workspace=folder)
    facts = facts_of(cargo.probe(scene, patience=0.3))
    assert "did not answer" in facts["cargo.resolved"].why
    assert (tmp_path / "asked").read_text() == "asked\n"
