"""Cargo workspaces made by tests.

Small crates that bear the names of Candle's, and workspaces on its releases.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

from doctor.host import Host
from tests import environments

BROKEN = """\
use std::path::PathBuf;

fn main() {
    let builder = PathBuf::from("kernels");
    if std::env::var("TARGET").unwrap_or_default().contains("msvc") {
        builder = builder.join("msvc");
    }
    println!("{}", builder.display());
}
"""
"""A build script with the fault of candle-flash-attn's, in small."""
HEALTHY = BROKEN.replace("let builder", "let mut builder")
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


class CargoError(Exception):
    """Cargo could not do what a test needs before it begins."""


def write(folder: Path, files: Mapping[str, str]) -> Path:
    """Write files into a folder, which is made where it is not there."""
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def crate(
    folder: Path,
    name: str,
    files: Mapping[str, str] | None = None,
    tail: str = "",
    version: str = "0.8.2",
) -> Path:
    """Write a library crate; `tail` is the rest of its manifest."""
    manifest = f'[package]\nname = "{name}"\nversion = "{version}"\nedition = "2021"\n{tail}\n'
    return write(folder, {"Cargo.toml": manifest, "src/lib.rs": "", **(files or {})})


def application(folder: Path, dependencies: str, manifest: str = "") -> Path:
    """Write a workspace of one program that depends on something."""
    head = '[package]\nname = "application"\nversion = "0.1.0"\nedition = "2021"\n'
    text = f"{head}\n[dependencies]\n{dependencies}\n{manifest}"
    return write(
        folder, {"Cargo.toml": text, "src/main.rs": "fn main() {}\n", ".gitignore": "/target\n"}
    )


def cargo(folder: Path, *arguments: str, home: Path | None = None) -> str:
    """Run cargo in a workspace with a home of its own, kept between runs beside the patients.

    Raises CargoError.
    """
    env = {
        **os.environ,
        "CARGO_HOME": str(home or cargo_home()),
        "CARGO_TERM_COLOR": "never",
        "RUSTUP_AUTO_INSTALL": "0",
    }
    ran = subprocess.run(
        ["cargo", *arguments],
        cwd=folder,
        env=env,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    if ran.returncode:
        raise CargoError(f"cargo {' '.join(arguments)}: {ran.stderr[-800:]}")
    return ran.stdout


def cargo_home() -> Path:
    """Return the folder that keeps what cargo has fetched for tests."""
    return environments.root() / "cargo"


def git(folder: Path, *arguments: str) -> str:
    """Run git in a folder, as nobody in particular."""
    who = [
        "-c",
        "user.name=test",
        "-c",
        "user.email=test@example.invalid",
        "-c",
        "init.defaultBranch=main",
    ]
    return subprocess.run(
        ["git", *who, *arguments], cwd=folder, check=True, capture_output=True, text=True
    ).stdout.strip()


def committed(folder: Path) -> str:
    """Put everything in a folder under git; return the commit."""
    git(folder, "init", "-q")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "as it is")
    return git(folder, "rev-parse", "HEAD")


def stand_in(folder: Path, files: Mapping[str, str] | None = None, *, manifest: str = APP) -> Path:
    """Make a workspace of three path crates with a lock and `files`, and return its folder."""
    standard = {
        "Cargo.toml": manifest,
        "src/main.rs": "fn main() {}\n",
        "candle/candle-core/Cargo.toml": CORE,
        "candle/candle-core/src/lib.rs": "",
        "candle/candle-flash-attn/Cargo.toml": FLASH,
        "candle/candle-flash-attn/src/lib.rs": "",
    }
    write(folder, {**standard, **(files or {})})
    cargo(folder, "generate-lockfile", "--offline", home=Path(home_of(folder)["CARGO_HOME"]))
    return folder


def home_of(folder: Path) -> dict[str, str]:
    """Return the environment in which cargo keeps what is its own beside a workspace."""
    return {"CARGO_HOME": str(folder.parent / "cargo-home")}


def host(folder: Path, **env: str) -> Host:
    """Return this machine, as somebody sees it who works in a workspace."""
    return Host(env={**os.environ, **home_of(folder), **env}, cwd=folder)


def fetched(folder: Path, *pins: str) -> Path:
    """Lock a workspace and fetch what it needs, some crates held at a version (`half@2.4.1`).

    Raises CargoError.

    Candle's commits of 2024 name a submodule that may be out of reach and that none of these builds
    needs: where only its fetch has failed, the checkout is there already.
    """
    try:
        cargo(folder, "generate-lockfile")
    except CargoError as error:
        if "failed to update submodule" not in str(error):
            raise
        for checkout in cargo_home().glob("git/checkouts/*/*/Cargo.toml"):
            checkout.with_name(".cargo-ok").touch()
        cargo(folder, "generate-lockfile")
    for name, version in (pin.split("@") for pin in pins):
        cargo(folder, "update", "-p", name, "--precise", version)
    cargo(folder, "fetch", "--locked")
    return folder
