"""A Cargo workspace as its lock, cargo itself and the sources of its crates tell it."""

from __future__ import annotations

from pathlib import Path

import pytest

from doctor.host import Host
from doctor.model.facts import Fact, State
from doctor.model.vocabulary import is_known
from doctor.observe.probes import cargo
from doctor.observe.scene import ProbeInput
from tests.hosts import facts_of, made_host, put, values

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


def _seen(host: Host, workspace: Path | None = None) -> dict[str, Fact]:
    whole = Host(env=host.env, cwd=host.cwd)
    return facts_of(cargo.probe(ProbeInput(host=whole, workspace=workspace), patience=2.0))


def test_a_lock_in_outline(tmp_path: Path) -> None:
    put(tmp_path / "ws/Cargo.lock", _LOCK)
    facts = _seen(made_host(tmp_path), tmp_path / "ws")
    assert values(facts) == {
        "cargo.workspace": str(tmp_path / "ws"),
        "cargo.lock": str(tmp_path / "ws/Cargo.lock"),
        "cargo.lock_version": 4,
        "crate.candle-core.version": "0.9.1",
        "crate.candle-core.versions": ["0.9.1"],
        "crate.candle-core.source": "git",
        "crate.candle-core.commit": "66f0a4ee0123456789012345678901234567890a",
        "crate.candle-core.url": "https://github.com/huggingface/candle",
        "crate.candle-core.rev": "66f0a4ee",
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
    assert (facts["cargo.lock"].state, facts["cargo.lock_problem"].state) == (
        State.ABSENT,
        State.ABSENT,
    )
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
