"""What a Cargo workspace resolves to, and how a crate elsewhere names the same packages."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from candle.cargo import Cargo, Undone

CRATES_IO = (
    "registry+https://github.com/rust-lang/crates.io-index",
    "sparse+https://index.crates.io/",
)
KIN = re.compile(r"candle|half$|rand|gemm|cudarc|float8$|ug$|ug-|intel-mkl|metal$|objc2-metal$")
"""Packages that decide how candle computes, or whether it compiles at all."""


class Workspace:
    """The packages that a build of the workspace takes in on this platform."""

    def __init__(self, told: dict[str, Any], host: str) -> None:
        resolve = told.get("resolve") or {}
        self.root, self.target, self.host = (
            Path(told["workspace_root"]),
            Path(told.get("build_directory") or told["target_directory"]),
            host,
        )
        self.nodes: dict[str, dict[str, Any]] = {
            node["id"]: node for node in resolve.get("nodes", ())
        }
        self.packages: dict[str, dict[str, Any]] = {
            each["id"]: each for each in told["packages"] if each["id"] in self.nodes
        }
        self.members = set(told["workspace_members"])
        self.lock = self.root / "Cargo.lock"

    def the(self, name: str) -> dict[str, Any]:
        """Return the package of a name.

        Where there are several, one that the workspace's own crates use, and the newest of these.
        """
        found = [each for each in self.packages.values() if each["name"] == name]
        if not found:
            raise Undone(f"{name} is in Cargo.lock, but no build with these features takes it in")
        direct = {
            dep["pkg"]
            for member in self.members & set(self.nodes)
            for dep in self.nodes[member]["deps"]
        }
        return max(found, key=lambda each: (each["id"] in direct, numbers(each["version"])))

    def features(self, package: dict[str, Any]) -> list[str]:
        """Return the features of a package that are on."""
        return sorted(self.nodes[package["id"]]["features"])

    def beneath(self, package: dict[str, Any]) -> list[dict[str, Any]]:
        """Return every package that a package is built from."""
        found: dict[str, dict[str, Any]] = {}
        waiting = [package["id"]]
        while waiting:
            new = {
                dep["pkg"]: self.packages[dep["pkg"]]
                for dep in self.nodes[waiting.pop()]["deps"]
                if dep["pkg"] not in found
            }
            found.update(new)
            waiting += new
        return list(found.values())

    def built_with(self, package: dict[str, Any]) -> dict[str, dict[str, Any]]:
        """Return what a package's build script uses, by the name that its source knows it by."""
        deps = self.nodes[package["id"]]["deps"]
        return {
            dep["name"]: self.packages[dep["pkg"]]
            for dep in deps
            if any(kind["kind"] == "build" for kind in dep["dep_kinds"])
        }


def read(cargo: Cargo) -> Workspace:
    """Ask cargo; the lock stays as it is."""
    if not (cargo.workspace / "Cargo.toml").is_file():
        raise Undone(f"there is no Cargo.toml in {cargo.workspace}")
    host, features = cargo.host(), os.environ.get("CANARY_FEATURES", "").split()
    wanted = ["--features", " ".join(features)] if features else []
    told = cargo.metadata(
        cargo.workspace / "Cargo.toml", "--locked", "--filter-platform", host, *wanted
    )
    return Workspace(told, host)


def dependency(package: dict[str, Any], features: list[str], *, default: bool) -> str:
    """Return an entry under `[dependencies]` that means the same package from anywhere."""
    source = str(package["source"] or "")
    fields: dict[str, Any] = {
        "package": package["name"],
        "default-features": default,
        "features": features,
    }
    if not source:
        fields["path"] = str(Path(package["manifest_path"]).parent)
    elif source.startswith("git+"):
        url, _, query = source[len("git+") :].partition("#")[0].partition("?")
        fields["git"] = url
        # Spelt as the workspace spells it: under another spelling cargo would look the commit up
        # again.
        fields.update(
            (key, unquote(value))
            for key, _, value in (part.partition("=") for part in query.split("&"))
            if value
        )
    else:
        fields["version"] = f"={package['version']}"
        if source not in CRATES_IO:
            fields["registry-index"] = (
                source[len("registry+") :] if source.startswith("registry+") else source
            )
    return "{ " + ", ".join(f"{key} = {toml(value)}" for key, value in fields.items()) + " }"


def toml(value: object) -> str:
    """Return a text, a truth value or a list of texts as TOML has it."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def differing(one: Workspace, other: Workspace) -> list[str]:
    """Return the packages of our crate, of those that matter, that are not the workspace's own."""
    ours = {
        identity(each): each
        for each in one.packages.values()
        if KIN.match(each["name"]) and each["id"] not in one.members
    }
    return sorted(
        f"{each['name']} {each['version']}"
        for key, each in ours.items()
        if key not in map(identity, other.packages.values())
    )


def identity(package: dict[str, Any]) -> tuple[str, str, str]:
    """Return what makes two packages the same: name, version and the place they come from."""
    return package["name"], package["version"], package["source"] or package["manifest_path"]


def origin(package: dict[str, Any]) -> str:
    """Return a package's version and the place it comes from, with its commit."""
    return f"{package['version']} {package['source'] or Path(package['manifest_path']).parent}"


def numbers(version: str) -> list[int]:
    """Return the numbers of a version, to be compared."""
    return [int(part) for part in re.findall(r"\d+", version.partition("-")[0])]
