"""What the workspace has built already.

A program of ours is linked with the very candle-core that lies in its target folder.

That costs seconds, where compiling candle-core costs a minute or two, and the folder is only read.
Cargo is not asked: our crate is another one than the workspace's, features of shared dependencies
would differ, and it would compile most of them again.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, NamedTuple

from candle.cargo import Cargo, Undone
from candle.workspace import Workspace

PROFILES = ("debug", "release")
BOUND = 120.0


class Library(NamedTuple):
    """A candle-core that was built, and the folder of everything that it was built with."""

    rlib: Path
    folder: Path


def linked(
    cargo: Cargo, whole: Workspace, features: list[str], source: Path, folder: Path
) -> Path | None:
    """Compile a program against what the workspace has built.

    None without a library that can be trusted, or if it does not link.
    """
    library = newest_library(whole, features)
    if library is None:
        return None
    folder.mkdir(parents=True, exist_ok=True)
    program = folder / source.stem
    command = [
        "rustc",
        "--edition",
        "2021",
        "--cap-lints",
        "allow",
        "--crate-name",
        source.stem,
        str(source),
        "-o",
        str(program),
    ]
    try:
        done = cargo.start(
            [
                *command,
                "--extern",
                f"candle_core={library.rlib}",
                "-L",
                f"dependency={library.folder}",
            ],
            folder,
            BOUND,
        )
    except Undone:
        return None
    return program if done.code == 0 else None


def newest_library(whole: Workspace, features: list[str]) -> Library | None:
    """Return the newest candle-core built from the locked source with these features; else nothing.

    A crate in a folder may have changed since, and a time says little of it: where candle leans on
    one, nothing is trusted.
    """
    core = whole.the("candle-core")
    if core["source"] is None or any(package["source"] is None for package in whole.beneath(core)):
        return None
    built = [
        library
        for profile in PROFILES
        for library in libraries(whole.target / profile, core, set(features))
    ]
    fresh = [
        library for library in built if library.rlib.stat().st_mtime > whole.lock.stat().st_mtime
    ]
    return max(fresh, key=lambda library: library.rlib.stat().st_mtime, default=None)


def libraries(folder: Path, core: dict[str, Any], features: set[str]) -> list[Library]:
    """Return what a profile's folder holds of a package with exactly these features."""
    root, deps = os.path.dirname(core["manifest_path"]), folder / "deps"
    kept = []
    for entry in sorted((folder / ".fingerprint").glob("candle-core-*/lib-candle_core.json")):
        mark = entry.parent.name.rpartition("-")[2]
        rlib = deps / f"libcandle_core-{mark}.rlib"
        if (
            rlib.is_file()
            and features_of(entry) == features
            and comes_from(deps / f"candle_core-{mark}.d", root)
        ):
            kept.append(Library(rlib, deps))
    return kept


def features_of(fingerprint: Path) -> set[str] | None:
    """Return the features that cargo notes beside what it has built.

    None where it notes them otherwise.
    """
    try:
        told = json.loads(json.loads(fingerprint.read_text(encoding="utf-8"))["features"])
    except (OSError, ValueError, LookupError, TypeError):
        return None
    return {str(feature) for feature in told} if isinstance(told, list) else None


def comes_from(listing: Path, root: str) -> bool:
    """Say whether a library was compiled from the sources in a folder, by rustc's list of files."""
    try:
        with open(listing, encoding="utf-8") as file:
            return f"{root}{os.sep}src{os.sep}lib.rs".replace(" ", "\\ ") in file.readline().rstrip(
                "\n"
            ).replace(": ", " ").split(" ")
    except (OSError, UnicodeDecodeError):
        return False
