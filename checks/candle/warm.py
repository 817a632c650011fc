"""The workspace's own target folder: what candle-core needs of it is copied, which saves most of a minute."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import NamedTuple

from candle.workspace import Workspace

PARTS = ("build", "deps", ".fingerprint")
LARGEST = 4 << 30


class Copied(NamedTuple):
    """Whether anything was copied, and what there is to say of it."""

    copied: bool
    line: str


def copied(whole: Workspace, mine: Workspace, target: Path) -> Copied:
    """Copy the packages of our crate out of the workspace's target folder.

    Of a package that lies in a folder cargo compares times alone, so with one of these nothing that was built before is trusted.
    """
    debug = whole.target / "debug"
    if not (debug / ".fingerprint").is_dir():
        return Copied(False, "")
    if any(each["source"] is None for each in mine.packages.values() if each["id"] not in mine.members):
        return Copied(False, "built from nothing: cargo cannot tell an older build of a crate in a folder from a new one")
    wanted = names(mine)
    entries = [entry for part in PARTS for entry in listed(debug / part) if belongs(entry.name, wanted)]
    size = sum(entry.stat().st_size if entry.is_file() else folder_size(entry.path) for entry in entries)
    if size > LARGEST or size * 2 > shutil.disk_usage(target.parent).free:
        return Copied(False, f"built from nothing: the {size >> 20} MiB that {debug} holds of it were too much to copy")
    try:
        for entry in entries:
            copy(entry, target / "debug" / Path(entry.path).relative_to(debug))
    except (OSError, shutil.Error) as error:
        shutil.rmtree(target, ignore_errors=True)
        return Copied(False, f"built from nothing: what {debug} holds could not be copied: {str(error)[:160]}")
    return Copied(bool(entries), f"{size >> 20} MiB of the workspace's own builds were copied, not made again" if entries else "")


def copy(entry: os.DirEntry[str], goal: Path) -> None:
    """Copy a file or a folder with its times, which cargo compares."""
    goal.parent.mkdir(parents=True, exist_ok=True)
    if entry.is_dir():
        shutil.copytree(entry.path, goal, symlinks=True)
    else:
        shutil.copy2(entry.path, goal)


def names(mine: Workspace) -> set[str]:
    """Return what files of a target folder are called after: packages and their libraries."""
    packages = [each for each in mine.packages.values() if each["id"] not in mine.members]
    return {each["name"] for each in packages} | {
        target["name"].replace("-", "_")
        for each in packages
        for target in each["targets"]
        if {"lib", "proc-macro", "rlib"} & set(target["kind"])
    }


def belongs(name: str, wanted: set[str]) -> bool:
    """Say whether an entry (`candle-core-0f1e…`, `libcandle_core-0f1e….rlib`) belongs to a package."""
    stem = name.partition(".")[0].rpartition("-")[0]
    return stem in wanted or (stem.startswith("lib") and stem[3:] in wanted)


def listed(folder: Path) -> list[os.DirEntry[str]]:
    """Return the entries of a folder that may not be there."""
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError:
        return []


def folder_size(folder: str) -> int:
    """Return the bytes of all files below a folder."""
    return sum(os.lstat(os.path.join(parent, file)).st_size for parent, _, files in os.walk(folder) for file in files)
