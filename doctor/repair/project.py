"""The files of a project: a copy for a proof, and what they were before a plan was applied."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

from doctor.base.errors import DoctorError, WriteError
from doctor.host.reading import UnreadableFile, read_whole
from doctor.host.writing import write
from doctor.model.issues import Edit

_MOST_FILES, _MOST_BYTES, _LARGEST = 20_000, 256 << 20, 8 << 20
_PASSED_OVER = frozenset(
    {".git", ".hg", ".svn", "node_modules", "__pycache__", ".pixi", ".tox", ".nox", "target"}
)
_ENVIRONMENT = ("pyvenv.cfg", "conda-meta")
MANIFESTS = (
    *("pyproject.toml", "uv.lock", "poetry.lock", "pixi.toml", "pixi.lock", "Cargo.toml"),
    *("Cargo.lock", "setup.cfg", "environment.yml", "constraints.txt", "Dockerfile"),
)
"""Files that the commands of a project may change."""


class ProjectError(DoctorError):
    """The files of a project cannot be copied or put back; the message says why."""


def copy_project(project: Path, target: Path) -> None:
    """Copy the files of a project, without environments, histories and large files.

    Raises ProjectError where there are too many.
    """
    files = total = 0
    for source in _files(project, target):
        try:
            size = source.lstat().st_size
        except OSError:
            continue
        files, total = files + 1, total + size
        if files > _MOST_FILES or total > _MOST_BYTES:
            raise ProjectError(f"{project} has too many files for a copy")
        place = target / source.relative_to(project)
        place.parent.mkdir(parents=True, exist_ok=True)
        try:
            shutil.copy2(source, place, follow_symlinks=False)
        except OSError as error:
            raise ProjectError(f"{source}: {error.strerror or error}") from None


def _files(project: Path, target: Path) -> Iterator[Path]:
    for folder, folders, names in os.walk(project):
        here = Path(folder)
        folders[:] = [
            name
            for name in folders
            if name not in _PASSED_OVER
            and not target.is_relative_to(here / name)
            and not any((here / name / mark).exists() for mark in _ENVIRONMENT)
        ]
        for name in names:
            path = here / name
            if path.is_symlink() or (path.is_file() and path.lstat().st_size <= _LARGEST):
                yield path


def edited(edit: Edit, project: Path) -> str:
    """Carry out an edit below a folder; return why that is not possible, empty where it is done."""
    place = Path(edit.file)
    place = place if place.is_absolute() else project / place
    try:
        if not place.resolve().is_relative_to(project.resolve()):
            return f"{edit.file} does not lie in the project"
        text = (read_whole(place, _LARGEST) or b"").decode("utf-8")
    except (OSError, UnreadableFile, UnicodeDecodeError) as error:
        return f"{edit.file}: {error}"
    if not edit.before or text.count(edit.before) != 1:
        return f"{edit.file} does not hold the line once: {edit.before[:80]}"
    try:  # as a new file: in a clone the old one may be a link to that of the original
        write(place, text.replace(edit.before, edit.after))
    except WriteError as error:
        return str(error)
    return ""


def renamed(source: Path, target: Path, project: Path) -> str:
    """Rename a file below a folder; return why that is not possible, empty where it is done."""
    try:
        if not source.parent.resolve().is_relative_to(project.resolve()):
            return f"{source} does not lie in the project"
        if target.exists():
            return f"{target.name} is there already"
        source.rename(target)
    except OSError as error:
        return f"{source}: {error.strerror or error}"
    return ""


def remember(project: Path, names: Sequence[str], place: Path) -> None:
    """Write what the manifests of a project are now into a file; raises WriteError."""
    kept: dict[str, str | None] = {}
    times: dict[str, int] = {}
    for name in dict.fromkeys((*MANIFESTS, *names)):
        path = project / name
        data = path.read_bytes() if path.is_file() else None
        kept[name] = None if data is None else data.hex()
        if data is not None:
            times[name] = path.stat().st_mtime_ns
    told = {"project": str(project), "files": kept, "times": times}
    write(place, json.dumps(told), private=True)


def put_back(place: Path) -> int:
    """Make the manifests what they were; return how many changed. Raises ProjectError."""
    try:
        told = json.loads(place.read_text(encoding="utf-8"))
        project, files = Path(told["project"]), dict(told["files"])
        changed = 0
        for name, text in files.items():
            path = project / name
            was = None if text is None else bytes.fromhex(text)
            if (path.read_bytes() if path.is_file() else None) == was:
                continue
            changed += 1
            if was is None:
                path.unlink()
            else:
                path.write_bytes(was)
                if (changed_at := told.get("times", {}).get(name)) is not None:
                    os.utime(path, ns=(changed_at, changed_at))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ProjectError(f"{place}: {error}") from None
    return changed
