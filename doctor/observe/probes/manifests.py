"""Find the file and line where a project pins its packages."""

from __future__ import annotations

import fnmatch
import os
import re
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from doctor.base.refusals import home_folder
from doctor.base.requirements import normalize_name
from doctor.base.text import sanitize
from doctor.host.reading import SOURCE, UnreadableFile, read_regular, read_whole
from doctor.model.facts import FactStream, absent, present
from doctor.observe.installed.gpu_stack import matters_to_stack
from doctor.observe.manifests import LOCK, Kind, kind_of
from doctor.observe.scene import Scene

if TYPE_CHECKING:
    from doctor.observe.manifests.pins import Pin

BOUND = 5.0

_BESIDE = ("requirements", "docker", ".devcontainer")
"""Folders of a project where manifests lie beside those at its root."""
_ROOTS = ("GITHUB_WORKSPACE", "CI_PROJECT_DIR")
"""Variables in which a runner names the checkout; reports name files from there."""
_MOST_NAMES, _MOST_FILES, _LARGEST, _MOST_BYTES = 20_000, 60, 4 << 20, 12 << 20
_MOST_MEMBERS, _MOST_LISTED, _MOST_UNREAD, _MOST_FOLDERS = 40, 40, 3, 2000
_WILD = frozenset("*?[")
_CRATES = frozenset(
    (
        "cudarc",
        "bindgen_cuda",
        "cudaforge",
        "half",
        "rand",
        "gemm",
        "metal",
        "objc2-metal",
        "intel-mkl-src",
        "accelerate-src",
    ),
)
_MEMBERS, _LONGEST_LIST = r"(?m)^members[ \t]*=\s{0,80}\[", 8000


class _File(NamedTuple):
    """A manifest: where it lies, what a report calls it, and its kind."""

    path: Path
    name: str
    kind: Kind


def probe(scene: Scene) -> FactStream:
    """Give project.manifests, and manifest.* for each package of the stack with a pin.

    Raises UnreadableFile, once it has told the others, where a manifest cannot be read.
    """
    if scene.project is None:
        return
    files = sorted(
        _files(scene.project, scene),
        key=lambda file: (file.kind.rank, file.name.count("/"), len(file.name), file.name),
    )
    names = [file.name for file in files][:_MOST_LISTED]
    yield "project.manifests", present(names, "project") if names else absent("project")
    best: dict[str, tuple[tuple[bool, bool, int, int], _File]] = {}
    unread: list[str] = []
    for order, (file, pin) in enumerate(_pins(files, unread)):
        name = (
            pin.name
            if file.name.endswith(("Cargo.toml", "Cargo.lock"))
            else normalize_name(pin.name)
        )
        weight = (file.kind.rank == LOCK, not pin.firm, order, pin.line)
        if name not in best or weight < best[name][0]:
            best[name] = (weight, file)
    for name, ((*_, line), file) in sorted(best.items()):
        yield f"manifest.{name}", present({"path": file.name, "line": line}, file.name)
    if unread:
        raise UnreadableFile("; ".join(unread[:_MOST_UNREAD]))


def _pins(files: list[_File], unread: list[str]) -> Iterator[tuple[_File, Pin]]:
    left = _MOST_BYTES
    for file in files[:_MOST_FILES]:
        try:
            data = read_whole(file.path, _LARGEST) or b""
        except UnreadableFile as error:
            unread.append(str(error))
            continue
        left -= len(data)
        if left < 0:
            return
        rust = file.name.endswith(("Cargo.toml", "Cargo.lock"))
        for pin in file.kind.read(data.decode("utf-8", "replace")):
            if _is_wanted(pin.name, rust=rust):
                yield file, pin


def _is_wanted(name: str, *, rust: bool) -> bool:
    return (
        name in _CRATES or name.startswith("candle")
        if rust
        else name == "cuda" or matters_to_stack(normalize_name(name))
    )


def _files(project: Path, scene: Scene) -> Iterator[_File]:
    root = shown_from(project, scene.host.env)
    folders = [project, *(project / name for name in _BESIDE)]
    if scene.workspace is not None:
        folders += [scene.workspace, *_members(scene.workspace)]
    for folder in dict.fromkeys(folders):
        # A link may lead anywhere; what is read is the project's own.
        if (real := _real(folder)) is not None and real.is_relative_to(root):
            yield from _in_folder(real, root)


def _in_folder(folder: Path, root: Path) -> Iterator[_File]:
    try:
        with os.scandir(folder) as entries:
            found = [
                (entry.path, entry.name)
                for entry in islice(entries, _MOST_NAMES)
                if kind_of(folder.name, entry.name)
            ]
    except OSError:
        return
    for path, name in found:
        kind, real = kind_of(folder.name, name), _real(Path(path))
        shown = os.path.relpath(path, root).replace(os.sep, "/")
        if (
            kind
            and real is not None
            and real.is_relative_to(root)
            and real.is_file()
            and sanitize(shown) == shown
        ):
            yield _File(real, shown, kind)


def _real(path: Path) -> Path | None:
    try:
        return path.resolve(strict=True)
    except (OSError, RuntimeError, ValueError):
        return None


def shown_from(project: Path, env: Mapping[str, str]) -> Path:
    """Return the folder from which reports name the files of a project.

    That is the checkout of a CI runner, the repository around the project, or the project.
    """
    whole = _real(project) or project
    for name in _ROOTS:
        if (given := env.get(name)) and (real := _real(Path(given))) and whole.is_relative_to(real):
            return real
    own = home_folder()
    above = (
        folder for folder in (whole, *whole.parents) if folder != own and (folder / ".git").exists()
    )
    return next(above, whole)


def _members(workspace: Path) -> list[Path]:
    """Return the folders of a workspace's members, as its manifest lists them."""
    text = (read_regular(workspace / "Cargo.toml", SOURCE) or b"").decode("utf-8", "replace")
    listed = re.search(_MEMBERS, text)
    inside, closed, _ = (
        text[listed.end() : listed.end() + _LONGEST_LIST].partition("]") if listed else ("", "", "")
    )
    found: list[Path] = []
    for pattern in re.findall(r'"([^"\n]{0,200})"', inside) if closed else ():
        if pattern.startswith(("/", "~")) or ".." in pattern.split("/") or "**" in pattern:
            continue
        found += _matching(workspace, pattern)
    return sorted(found)[:_MOST_MEMBERS]


def _matching(workspace: Path, pattern: str) -> list[Path]:
    """Return the folders that a members pattern matches, within the workspace."""
    inside, level = os.path.realpath(workspace), {os.path.realpath(workspace): workspace}
    for part in pattern.split("/"):
        if part in ("", "."):
            continue
        below: dict[str, Path] = {}
        for folder in level.values():
            for name in fnmatch.filter(_names(folder), part) if _WILD & set(part) else (part,):
                real = os.path.realpath(folder / name)
                if (
                    len(below) < _MOST_FOLDERS
                    and real.startswith(inside + os.sep)
                    and os.path.isdir(real)  # noqa: PTH112
                ):
                    below.setdefault(real, folder / name)
        level = below
    return list(level.values())[:_MOST_MEMBERS]


def _names(folder: Path) -> list[str]:
    try:
        with os.scandir(folder) as entries:
            return sorted(entry.name for entry in islice(entries, _MOST_FOLDERS))
    except (OSError, ValueError):
        return []
