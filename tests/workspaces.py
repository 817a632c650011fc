"""Cargo workspaces made by tests: real ones, of path crates that stand for candle's where a release would take too long."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

from doctor.host import Host
from tests.hosts import put

APP = """
[package]
name = "app"
version = "0.1.0"
edition = "2021"

[features]
gpu = ["candle-core/cuda"]
flash = ["gpu", "dep:candle-flash-attn"]

[dependencies]
candle-core = { path = "candle/candle-core" }
candle-flash-attn = { path = "candle/candle-flash-attn", optional = true }
"""
CORE = """
[package]
name = "candle-core"
version = "0.4.2"
edition = "2021"
rust-version = "1.56"

[features]
cuda = []
metal = []
"""
FLASH = """
[package]
name = "candle-flash-attn"
version = "0.8.2"
edition = "2021"
"""


def stand_in(folder: Path, files: Mapping[str, str] | None = None, *, manifest: str = APP) -> Path:
    """Make a workspace of three crates with a lock, `files` by path within it, and return its folder."""
    standard = {
        "Cargo.toml": manifest,
        "src/main.rs": "fn main() {}\n",
        "candle/candle-core/Cargo.toml": CORE,
        "candle/candle-core/src/lib.rs": "",
        "candle/candle-flash-attn/Cargo.toml": FLASH,
        "candle/candle-flash-attn/src/lib.rs": "",
    }
    for name, text in {**standard, **(files or {})}.items():
        put(folder / name, text)
    cargo(folder, "generate-lockfile", "--offline")
    return folder


def cargo(folder: Path, *arguments: str, **env: str) -> str:
    """Run the machine's cargo in a folder, with a cargo home of its own beside it; gives what it printed, raises where it fails."""
    ran = subprocess.run(
        ["cargo", *arguments], cwd=folder, env={**os.environ, **home_of(folder), **env}, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def home_of(folder: Path) -> dict[str, str]:
    """Return the environment in which cargo keeps what is its own beside a workspace."""
    return {"CARGO_HOME": str(folder.parent / "cargo-home")}


def host(folder: Path, **env: str) -> Host:
    """Return this machine, as somebody sees it who works in a workspace."""
    return Host(env={**os.environ, **home_of(folder), **env}, cwd=folder)
