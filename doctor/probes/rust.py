"""Rust: the toolchain, and what a workspace's Cargo.lock says in outline; cargo itself is asked for nothing but its version."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from packaging.version import Version

from doctor.host import Ended, Host
from doctor.model.facts import Fact, absent, present, unknown
from doctor.probes.contract import Scene, Seen
from doctor.versions import parse

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

WAITS = True
BOUND = 6.0

_LARGEST_LOCK = 4 << 20
_ZERO = Version("0")
_LIST = """
candle-core candle-nn candle-transformers candle-kernels candle-metal-kernels candle-flash-attn
cudarc bindgen_cuda cudaforge half rand metal objc2-metal
"""
_CRATES = tuple(_LIST.split())


def probe(scene: Scene, *, patience: float = 3.0) -> Seen:
    """Yield `rust.*`, `cargo.*` and `crate.*`; nothing is downloaded, whatever toolchain the workspace asks for."""
    yield from _workspace(scene)
    yield from _toolchain(scene, patience)


def _toml(text: str | None) -> Mapping[str, Any]:
    try:
        return tomllib.loads(text or "")
    except tomllib.TOMLDecodeError:
        return {}


def _wanted(scene: Scene, home: str) -> tuple[str, str]:
    """Return the toolchain that rustup would choose, and what chooses it, in rustup's own order."""
    host, workspace = scene.host, scene.workspace
    if name := host.env.get("RUSTUP_TOOLCHAIN"):
        return name, "RUSTUP_TOOLCHAIN"
    settings = _toml(host.read(f"{home}/settings.toml", limit=1 << 18))
    overrides = settings.get("overrides")
    for folder in (workspace, *workspace.parents) if workspace else ():
        if isinstance(overrides, dict) and isinstance(name := overrides.get(str(folder)), str):
            return name, f"{home}/settings.toml"
        for file in ("rust-toolchain", "rust-toolchain.toml"):
            if name := _channel(host.read(folder / file, limit=1 << 16)):
                return name, str(folder / file)
    return str(settings.get("default_toolchain", "")), f"{home}/settings.toml"


def _channel(text: str | None) -> str:
    told = _toml(text).get("toolchain")
    if isinstance(told, dict):
        return str(told.get("channel", ""))
    lines = (text or "").split()
    return lines[0] if len(lines) == 1 else ""


def _toolchain(scene: Scene, patience: float) -> Seen:
    host = scene.host
    paths = {name: host.which(name) for name in ("rustc", "cargo")}
    shim = any(path and host.exists(Path(path).with_name("rustup")) for path in paths.values())
    if not shim:
        yield "rust.toolchain", absent("no rustup beside rustc")
        yield from _versions(host, paths, patience)
        return
    home = host.env.get("RUSTUP_HOME") or f"{host.env.get('HOME', str(Path.home()))}/.rustup"
    name, source = _wanted(scene, home)
    yield "rust.toolchain", present(name, source) if name else absent(source)
    folder = _installed(host, home, name)
    if folder is None:
        # A shim would now download what is missing.
        why = f"toolchain {name or '(no default)'} ({source}) is not installed"
        yield "rust.rustc", unknown(why, home)
        yield "rust.cargo", unknown(why, home)
        return
    inside = {tool: host.which(f"{folder}/bin/{tool}") for tool in paths}
    yield from _versions(host, inside, patience)


def _installed(host: Host, home: str, name: str) -> str | None:
    if name.startswith("/"):
        return name if host.exists(name) else None
    names = host.list(f"{home}/toolchains") if name else ()
    # `1.84.0` stands for 1.84.0-x86_64-unknown-linux-gnu, but `nightly` not for nightly-2025-01-01-x86_64-unknown-linux-gnu.
    found = [each for each in names if each == name or re.fullmatch(re.escape(name) + r"-(?!\d)[\w-]+", each)]
    return f"{home}/toolchains/{found[0]}" if found else None


def _versions(host: Host, paths: Mapping[str, str | None], patience: float) -> Iterator[tuple[str, Fact]]:
    with ThreadPoolExecutor(max_workers=2) as pool:
        told = {name: pool.submit(_version, host, path, patience) for name, path in paths.items() if path}
    for name in paths:
        yield f"rust.{name}", told[name].result() if name in told else absent(f"PATH: {name}")


def _version(host: Host, path: str, patience: float) -> Fact:
    ran = host.run([path, "--version"], timeout=patience, limit=1 << 14, env={"RUSTUP_AUTO_INSTALL": "0"}, cwd=Path("/"))
    found = re.match(r"\w+ (\d+\.\d+\.\d+\S*)", ran.output) if ran.ok else None
    if found:
        return present(found[1], f"{path} --version")
    if ran.ended is Ended.TIMEOUT:
        return unknown(f"it did not answer within {patience:g} s", path)
    said = (ran.errors.strip() or ran.output.strip() or ran.why)[:160].partition("\n")[0]
    return unknown(f"exit code {ran.code}, and no version in: {said or '(nothing)'}", path)


def _workspace(scene: Scene) -> Seen:
    host, folder = scene.host, scene.workspace
    if folder is None:
        for name in ("workspace", "lock", "lock_problem"):
            yield f"cargo.{name}", absent("no Cargo workspace")
        return
    yield "cargo.workspace", present(str(folder), "Cargo.toml")
    path = folder / "Cargo.lock"
    packages, problem = _locked(host, path)
    yield "cargo.lock", present(str(path), "workspace") if host.exists(path) else absent(str(path))
    yield "cargo.lock_problem", present(problem, str(path)) if problem else absent(str(path))
    if packages is None:
        for name in _CRATES:
            yield f"crate.{name}.version", unknown(problem or "there is no Cargo.lock", str(path))
        return
    for name in sorted({*_CRATES, *(each for each in packages if each.startswith("candle-"))}):
        yield from _crate(name, packages.get(name, []), str(path))


def _locked(host: Host, path: Path) -> tuple[dict[str, list[Mapping[str, Any]]] | None, str]:
    """Return the packages of a lock by name, or None and what is wrong with it; a lock that is not there has no problem."""
    if not host.exists(path):
        return None, ""
    text = host.read(path, limit=_LARGEST_LOCK + 1)
    if text is None or len(text) > _LARGEST_LOCK:
        return None, "it cannot be read" if text is None else f"it is larger than {_LARGEST_LOCK >> 20} MiB"
    if re.search(r"^(<{7}|>{7}) ", text, re.MULTILINE):
        return None, "it holds the markers of an unresolved merge"
    try:
        listed = tomllib.loads(text).get("package", [])
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        return None, f"it is no TOML: {error}"
    packages: dict[str, list[Mapping[str, Any]]] = {}
    for each in listed if isinstance(listed, list) else ():
        if isinstance(each, dict) and isinstance(each.get("name"), str) and isinstance(each.get("version"), str):
            packages.setdefault(each["name"], []).append(each)
    return (packages, "") if packages else (None, "it lists no package")


def _crate(name: str, found: list[Mapping[str, Any]], source: str) -> Seen:
    """Yield the facts of one crate; where the lock has it more than once, the newest is the one that is described."""
    if not found:
        yield f"crate.{name}.version", absent(source)
        return
    ranked = sorted(found, key=lambda each: parse(each["version"]) or _ZERO)
    newest = ranked[-1]
    origin = str(newest.get("source", ""))
    yield f"crate.{name}.version", present(newest["version"], source)
    yield f"crate.{name}.versions", present([each["version"] for each in ranked], source)
    yield f"crate.{name}.source", present(origin.partition("+")[0] if origin else "path", source)
    commit = re.search(r"#([0-9a-f]{7,40})$", origin)
    yield f"crate.{name}.commit", present(commit[1], source) if commit else absent(source)
