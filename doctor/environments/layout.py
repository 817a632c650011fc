"""Decide for each entry of an environment how a copy gets it: shared, copied, or written anew."""

from __future__ import annotations

import os
import posixpath
from collections.abc import Iterator
from enum import Enum
from pathlib import Path

import msgspec

from doctor.base.errors import DoctorError
from doctor.environments.conda_files import CondaFiles, conda_files
from doctor.environments.environment import Environment
from doctor.environments.records import is_metadata, listed
from doctor.environments.tree import Entry, Kind, Tree, scan

SMALL = 1 << 20
"""Bytes up to which a file that programs may write in place is copied."""
_NESTED = 4
"""How often a folder outside may lead to another one."""
_LOCK_OF_UV = ".lock"
_BYTECODE = "__pycache__"
_CONFIGURATION = ("etc", "conda-meta")
_TEXT = (".pth", ".egg-link")
_EDITABLE = "__editable__"
"""Begins the names of the modules with which setuptools finds an editable install."""


class CloneError(DoctorError):
    """An environment cannot be cloned; the message says why."""


class Action(Enum):
    """How a clone gets an entry.

    SHARED: the content may be that of the original, since programs only ever replace the file.
    COPIED: its own content, with the prefix replaced in text.
    """

    FOLDER = "folder"
    LINK = "link"
    PIPE = "pipe"
    SHARED = "shared"
    COPIED = "copied"


class Item(msgspec.Struct, frozen=True, kw_only=True):
    """One entry of a clone: `source` is where its content lies, `target` the text of a link.

    `placeholder` is the length of what conda replaced by the prefix in a binary, else 0.
    """

    entry: Entry
    source: str
    action: Action
    target: str = ""
    placeholder: int = 0


class Layout(msgspec.Struct, frozen=True, kw_only=True):
    """All entries of a clone, each folder before its content, and what is left out and why."""

    items: tuple[Item, ...]
    notes: tuple[str, ...] = ()


def layout(environment: Environment, tree: Tree, target: Path, *, follow: bool = True) -> Layout:
    """Decide for every entry of a tree; `target` is the prefix of the clone.

    Links stay as they are unless `follow`: then those that leave the prefix are dealt with.
    Raises CloneError for a folder that cannot be listed, and for a link to a folder outside that
    cannot be copied: an installer would write through it.
    """
    if tree.unlisted:
        raise CloneError(f"this user cannot list {tree.root / tree.unlisted[0]}")
    return _Layout(environment, tree, target, follow=follow).result()


class _Layout:
    def __init__(self, environment: Environment, tree: Tree, target: Path, *, follow: bool) -> None:
        self._tree, self._target, self._follow = tree, target, follow
        self._real = os.path.realpath(tree.root)
        self._conda = conda_files(tree) if environment.kind == "conda" else CondaFiles()
        self._prefixed = self._conda.text | self._conda.binary.keys()
        self._listed = listed(tree) | self._conda.listed
        self._scripts = _relative(environment.scripts, environment.root)
        self._notes: list[str] = []

    def result(self) -> Layout:
        items = [
            item
            for entry in self._tree.entries
            if entry.path != _LOCK_OF_UV
            for item in self._items(entry, f"{self._tree.root}/{entry.path}")
        ]
        return Layout(items=tuple(items), notes=tuple(self._notes))

    def _items(self, entry: Entry, source: str, depth: int = 0) -> Iterator[Item]:
        match entry.kind:
            case Kind.FOLDER:
                yield Item(entry=entry, source=source, action=Action.FOLDER)
            case Kind.PIPE:
                yield Item(entry=entry, source=source, action=Action.PIPE)
            case Kind.OTHER:
                self._notes.append(f"{source} is a device or a socket, and is left out")
            case Kind.FILE:
                action = Action.COPIED if self._is_written(entry) else Action.SHARED
                placeholder = self._conda.binary.get(entry.path, 0)
                yield Item(entry=entry, source=source, action=action, placeholder=placeholder)
            case Kind.LINK:
                yield from self._link(entry, source, depth)

    def _is_written(self, entry: Entry) -> bool:
        """Say whether programs may write into this file instead of replacing it.

        pip, uv, compileall and numba replace what they change. What no RECORD lists came from some
        other program, which may write it again.
        """
        folder, name = entry.parent, entry.name
        if folder == self._scripts and name.startswith("python"):
            return True  # `venv --upgrade` copies over the interpreter
        if is_metadata(folder) or entry.path in self._prefixed:
            return True
        if entry.size > SMALL:
            return False
        return (
            folder in ("", self._scripts)
            or entry.path.partition("/")[0] in _CONFIGURATION
            or name.endswith(_TEXT)
            or name.startswith(_EDITABLE)
            or (entry.path not in self._listed and folder.rpartition("/")[2] != _BYTECODE)
        )

    def _link(self, entry: Entry, source: str, depth: int) -> Iterator[Item]:
        """Yield a link, or what it leads to: a folder outside becomes a folder of the clone."""
        if not self._follow:
            yield self._as_link(entry, source, entry.target)
            return
        leads_to = _real(source)
        if _is_within(leads_to, self._real):
            yield self._as_link(entry, source, self._inner(entry, leads_to))
        elif os.path.isdir(leads_to):  # noqa: PTH112 - tens of thousands of times
            yield from self._folder_outside(entry, source, leads_to, depth)
        else:
            parent = _real(posixpath.dirname(source))
            yield self._as_link(entry, source, os.path.join(parent, entry.target))  # noqa: PTH118

    def _inner(self, entry: Entry, leads_to: str) -> str:
        """Return the text of a link whose target the clone has as well."""
        lexical = posixpath.normpath(posixpath.join(entry.parent, entry.target))
        if not Path(entry.target).is_absolute() and not lexical.startswith(".."):
            return entry.target
        inner = os.path.relpath(leads_to, self._real)
        return str(self._target / inner)

    def _as_link(self, entry: Entry, source: str, target: str) -> Item:
        return Item(entry=entry, source=source, action=Action.LINK, target=target)

    def _folder_outside(
        self, entry: Entry, source: str, leads_to: str, depth: int
    ) -> Iterator[Item]:
        if _is_within(self._real, leads_to) or depth >= _NESTED:
            raise CloneError(
                f"{source} is a link to {leads_to}, through which an installer would write there"
            )
        self._notes.append(f"{source} is a link to the folder {leads_to}; the clone has its files")
        tree = scan(Path(leads_to))
        if tree.unlisted:
            raise CloneError(f"this user cannot list {leads_to}/{tree.unlisted[0]}")
        top = msgspec.structs.replace(tree.top, path=entry.path)
        yield Item(entry=top, source=leads_to, action=Action.FOLDER)
        for inner in tree.entries:
            moved = msgspec.structs.replace(inner, path=f"{entry.path}/{inner.path}")
            yield from self._items(moved, f"{leads_to}/{inner.path}", depth + 1)


def _relative(path: Path, root: Path) -> str:
    return path.relative_to(root).as_posix() if path.is_relative_to(root) else "bin"


def _real(path: str) -> str:
    """Resolve links as far as possible; a loop stays as it is."""
    try:
        return os.path.realpath(path)
    except OSError:
        return path


def _is_within(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/\\") + os.sep)
