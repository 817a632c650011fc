"""Find the rustc and cargo of a workspace.

rustup is not asked: it would download a missing toolchain.

The order is that of rustup's overrides (https://rust-lang.github.io/rustup/overrides.html).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from doctor.base import toml
from doctor.base.refusals import home_folder as own_home
from doctor.host import Host

_FILES = ("rust-toolchain", "rust-toolchain.toml")


class Toolchain(msgspec.Struct, frozen=True):
    """Paths of rustc and cargo, None where there is none.

    The toolchain's name and what chose it, where rustup is in charge.

    `missing` says which toolchain is wanted and not installed: then there are no paths, for
    rustup's shims would now download it.
    """

    rustc: str | None = None
    cargo: str | None = None
    name: str = ""
    chosen_by: str = ""
    missing: str = ""


def find_toolchain(host: Host, workspace: Path | None) -> Toolchain:
    """Find the toolchain for a workspace, in rustup's own order of what chooses it.

    Without rustup, what PATH holds.
    """
    rustc, cargo = host.which("rustc"), host.which("cargo")
    if not any(path and host.exists(Path(path).with_name("rustup")) for path in (rustc, cargo)):
        return Toolchain(rustc, cargo)
    home = host.env.get("RUSTUP_HOME") or f"{host.env.get('HOME') or own_home() or ''}/.rustup"
    name, source = _wanted(host, workspace, home)
    if "/" in name and source.endswith(_FILES):
        why = (
            f"{source} names a folder, {name}, and a file of the project does not say "
            "which programs are started"
        )
        return Toolchain(
            name=name,
            chosen_by=source,
            missing=f"{why}; RUSTUP_TOOLCHAIN or `rustup toolchain link` does",
        )
    folder = _installed(host, home, name)
    if folder is None:
        return Toolchain(
            name=name,
            chosen_by=source,
            missing=f"toolchain {name or '(no default)'} ({source}) is not installed",
        )
    return Toolchain(
        host.which(f"{folder}/bin/rustc"), host.which(f"{folder}/bin/cargo"), name, source
    )


def table(text: str | None) -> Mapping[str, Any]:
    """Parse a TOML text; empty where it is none."""
    try:
        return toml.parse_toml(text or "")
    except toml.TomlError:
        return {}


def _wanted(host: Host, workspace: Path | None, home: str) -> tuple[str, str]:
    if name := host.env.get("RUSTUP_TOOLCHAIN"):
        return name, "RUSTUP_TOOLCHAIN"
    settings = table(host.read(f"{home}/settings.toml", limit=1 << 18))
    overrides = settings.get("overrides")
    for folder in (workspace, *workspace.parents) if workspace else ():
        if isinstance(overrides, dict) and isinstance(name := overrides.get(str(folder)), str):
            return name, f"{home}/settings.toml"
        for file in _FILES:
            if name := _channel(host.read(folder / file, limit=1 << 16)):
                return name, str(folder / file)
    return str(settings.get("default_toolchain", "")), f"{home}/settings.toml"


def _channel(text: str | None) -> str:
    told = table(text).get("toolchain")
    if isinstance(told, dict):
        return str(told.get("channel") or told.get("path") or "")
    lines = (text or "").split()
    return lines[0] if len(lines) == 1 else ""


def _installed(host: Host, home: str, name: str) -> str | None:
    if name.startswith("/"):
        return name if host.exists(name) else None
    names = host.list(f"{home}/toolchains") if name else ()
    # `1.84.0` stands for 1.84.0-x86_64-unknown-linux-gnu, but `nightly` not for
    # nightly-2025-01-01-x86_64-unknown-linux-gnu.
    found = [
        each
        for each in names
        if each == name or re.fullmatch(re.escape(name) + r"-(?!\d)[\w-]+", each)
    ]
    return f"{home}/toolchains/{found[0]}" if found else None
