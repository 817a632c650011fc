"""The pins of a project that keep a plan from lasting: their edits, and the owners' commands.

A plan changes an environment. In a project the next installation undoes it, unless the line that
pins the package says the same. Locks are never edited; the tool that owns one writes it again.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType

import msgspec

from doctor.base.requirements import normalize_name
from doctor.base.text import sanitize
from doctor.base.versions import public
from doctor.fixes.installer import install
from doctor.model.compat import Table
from doctor.model.facts import Facts, value_of
from doctor.model.fixes import Step
from doctor.model.plans import Change, Plan
from doctor.observe.manifests import LOCK, Kind, kind_of
from doctor.planning.edits import commands
from doctor.planning.edits.commands import PinnedRelease
from doctor.planning.edits.compiled import Compiled, argv, compiled
from doctor.planning.edits.files import FileEdit, Replacement, unified_diff
from doctor.planning.edits.indexes import Build, build_of
from doctor.planning.edits.pinned import Pinned, edit_manifest

__all__ = ["FileEdit", "ProjectEdits", "Replacement", "edits_for", "unified_diff"]

Read = Callable[[str], "str | None"]
_MOST_FILES, _LONGEST, _MOST_NOTES = 60, 4 << 20, 40


class ProjectEdits(msgspec.Struct, frozen=True, kw_only=True):
    """What makes a plan last in a project.

    `files` are edits; `commands` come after them, in order, and write the locks again. `instead`
    are the commands of the tool that owns the project, which edit, lock and install in one: they
    take the place of both, for the packages that the project names. `locks` are files that the
    commands write. Paths start at the root of the project, and `cwd` of a command does too where no
    absolute root is known.
    """

    files: tuple[FileEdit, ...] = ()
    commands: tuple[Step, ...] = ()
    instead: tuple[Step, ...] = ()
    locks: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


class _Project:
    """The manifests of a project as they are read, and what is to be done to them."""

    def __init__(
        self, plan: Plan, facts: Facts, read: Read, root: str, tables: Mapping[str, Table]
    ) -> None:
        self.facts, self.read, self.root = facts, read, root
        self.paths = tuple(_paths(facts))
        self.rust, self.python = _by_ecosystem(plan, facts)
        torch = self.python.get("torch")
        release = str(torch.after) if torch and torch.after else ""
        machine = str(value_of(facts, "host.machine") or "x86_64")
        self.build = build_of(plan, release, machine, tables) if release else Build()
        self.files: list[FileEdit] = []
        self.commands: list[Step] = []
        self.instead: list[Step] = []
        self.locks: list[str] = []
        self.notes: list[str] = []

    def cwd(self, path: str) -> str | None:
        """Return the folder of a file, where its commands run."""
        folder = posixpath.dirname(path)
        return (
            posixpath.join(self.root, folder)
            if folder and self.root
            else self.root or (folder or None)
        )

    def beside(self, path: str, name: str) -> str | None:
        """Return the path of a file in the folder of another, where the project has it."""
        other = posixpath.join(posixpath.dirname(path), name)
        return other if other in self.paths or self.read(other) is not None else None


def edits_for(
    plan: Plan,
    facts: Facts,
    read: Read,
    *,
    root: str = "",
    tables: Mapping[str, Table] = MappingProxyType({}),
) -> ProjectEdits:
    """Return the edits of a project's manifests that make a plan last.

    `read` gives the text of a file of the project as it is, with its line ends, by a path from the
    root; None where there is none that may be read. `root` is the absolute folder of the project.
    `tables` are those of the catalog: without them no image is moved to another release.
    """
    project = _Project(plan, facts, read, root, tables)
    if not project.python and not project.rust:
        return ProjectEdits()
    named: dict[str, Pinned] = {}
    for path in project.paths:
        kind = _kind(path)
        if kind is not None and kind.rank != LOCK:
            _one_file(project, path, kind, named)
    _owners(project, named)
    return ProjectEdits(
        files=tuple(project.files),
        commands=tuple(project.commands),
        instead=tuple(project.instead),
        locks=tuple(dict.fromkeys(project.locks)),
        notes=tuple(dict.fromkeys(project.notes))[:_MOST_NOTES],
    )


def _paths(facts: Facts) -> Iterator[str]:
    listed = value_of(facts, "project.manifests")
    for path in listed[:_MOST_FILES] if isinstance(listed, list | tuple) else ():
        if isinstance(path, str) and _is_inside(path):
            yield path


def _is_inside(path: str) -> bool:
    parts = path.split("/")
    plain = sanitize(path) == path and "\n" not in path and "\\" not in path and ":" not in path
    return plain and not {"", "..", "."} & {*parts} and path[:1] not in ("~", "-")


def _kind(path: str) -> Kind | None:
    folder, name = posixpath.split(path)
    return kind_of(posixpath.basename(folder), name)


def _by_ecosystem(plan: Plan, facts: Facts) -> tuple[dict[str, Change], dict[str, Change]]:
    """Return the changes of crates and those of Python packages, by name.

    A name may be both, as `tokenizers` is: then the release that is installed decides.
    """
    rust: dict[str, Change] = {}
    python: dict[str, Change] = {}
    for change in plan.changes:
        crate = value_of(facts, f"crate.{change.name}.version")
        package = value_of(facts, f"package.{normalize_name(change.name)}.version")
        if crate is not None and (package is None or crate == change.before != package):
            rust[normalize_name(change.name)] = change
        else:
            python[normalize_name(change.name)] = change
    return rust, python


def _one_file(project: _Project, path: str, kind: Kind, named: dict[str, Pinned]) -> None:
    changes = project.rust if kind.reader == "cargo" else project.python
    if not changes:
        return
    text = project.read(path)
    if text is None or len(text) > _LONGEST:
        project.notes.append(f"{path}: could not be read as UTF-8 text of the project")
        return
    if kind.module == "requirements" and kind.reader == "requirements":
        made = compiled(path, text, project.paths)
        if made is not None:
            _compile_again(project, path, text, kind, made)
            return
    found = edit_manifest(
        path, text, kind, changes, project.build, locked=_is_locked(project, path, kind)
    )
    named[path] = found
    project.notes += found.notes
    if found.edit is not None:
        project.files.append(found.edit)


def _is_locked(project: _Project, path: str, kind: Kind) -> bool:
    names = {
        "pyproject": ("uv.lock", "poetry.lock", "pdm.lock", "pixi.lock"),
        "pixi": ("pixi.lock",),
        "pipfile": ("Pipfile.lock",),
        "cargo": ("Cargo.lock",),
    }.get(kind.reader, ())
    listed = path.endswith(".in") and any(
        posixpath.splitext(path)[0] + ".txt" == other for other in project.paths
    )
    return listed or any(project.beside(path, name) for name in names)


def _compile_again(project: _Project, path: str, text: str, kind: Kind, made: Compiled) -> None:
    """Add the command that writes a compiled list again, where it names a package of the plan."""
    inside = {normalize_name(pin.name) for pin in kind.read(text)}
    releases = [
        f"{name}=={public(change.after)}"
        for name, change in project.python.items()
        if name in inside and change.after
    ]
    if not inside & {*project.python}:
        return
    words = argv(made, posixpath.basename(path), releases)
    if words is None:
        tool = " ".join(made.tool) or "the tool that wrote it"
        project.notes.append(
            f"{path} is written by {tool} and is not edited by hand: run it again for "
            + ", ".join(releases or sorted(inside & {*project.python}))
        )
        return
    project.locks.append(path)
    project.commands.append(
        commands.step(f"Write {posixpath.basename(path)} again", project.cwd(path), *words)
    )


def _owners(project: _Project, named: Mapping[str, Pinned]) -> None:
    """Add the commands of the tools that own the manifests."""
    for path, found in named.items():
        name = posixpath.basename(path)
        if name == "pyproject.toml":
            _pyproject(project, path, found)
        elif name == "Pipfile" and found.pins:
            project.commands += commands.pipenv_lock(_names(found), project.cwd(path))
            project.locks.append(posixpath.join(posixpath.dirname(path), "Pipfile.lock"))
        elif name == "pixi.toml" and found.pins:
            _pixi(project, path, found)
        elif name.endswith((".yml", ".yaml")) and found.edit:
            prefix = value_of(project.facts, "python.conda")
            project.commands.append(
                commands.conda_update(name, str(prefix) if prefix else None, project.cwd(path))
            )
        elif (kind := _kind(path)) and kind.module == "docker" and found.edit:
            project.notes.append(f"{path}: build the image again afterwards")
    lists = [path for path in (*named, *project.locks) if _is_list(path)]
    changed = {*(edit.path for edit in project.files), *project.locks}
    for path in lists:
        if path in changed and not path.endswith(".in"):
            own = install(["-r", posixpath.basename(path)], [], None, project.facts)
            project.commands += (
                commands.step(
                    f"Install what {posixpath.basename(path)} says", project.cwd(path), *one.argv
                )
                for one in own
            )
    _cargo(project, [path for path in named if path.endswith("Cargo.toml")])


def _is_list(path: str) -> bool:
    kind = _kind(path)
    return kind is not None and kind.rank == 0


def _asked(project: _Project, found: Pinned) -> list[PinnedRelease]:
    """Return the packages that a manifest names and the plan moves, as the manifest spells them."""
    asked = []
    for pin in found.pins:
        change = project.python.get(normalize_name(pin.name))
        if change and change.after and pin.span:
            asked.append(PinnedRelease(pin.name, pin.table, change.after))
    return asked


def _names(found: Pinned) -> list[str]:
    return list(dict.fromkeys(pin.name for pin in found.pins))


def _removed(project: _Project, found: Pinned) -> list[str]:
    return [name for name in _names(found) if project.python[normalize_name(name)].after is None]


def _pyproject(project: _Project, path: str, found: Pinned) -> None:
    cwd, asked, gone = project.cwd(path), _asked(project, found), _removed(project, found)
    if lock := project.beside(path, "uv.lock"):
        _uv(project, path, lock, found)
    elif lock := project.beside(path, "poetry.lock"):
        if found.pins:
            project.commands += commands.poetry_lock(_names(found), cwd)
            project.instead += commands.poetry_add(asked, gone, cwd)
            project.locks.append(lock)
    elif lock := project.beside(path, "pdm.lock"):
        if found.pins:
            project.commands += commands.pdm_lock(_names(found), cwd)
            project.locks.append(lock)
    elif project.beside(path, "pixi.lock") or any("pixi" in pin.table for pin in found.pins):
        _pixi(project, path, found)
    elif found.edit:
        own = install(["-e", "."], [], None, project.facts)
        project.commands += (
            commands.step("Install the project with its new pins", cwd, *one.argv) for one in own
        )


def _uv(project: _Project, path: str, lock: str, found: Pinned) -> None:
    """Add `uv lock` for what the lock names, and `uv add` for what nothing names."""
    cwd, text = project.cwd(path), project.read(lock) or ""
    kind = _kind(lock)
    locked = {normalize_name(pin.name) for pin in kind.read(text)} if kind else set()
    pinned = {normalize_name(pin.name) for pin in found.pins}
    moves = {name: change for name, change in project.python.items() if change.after}
    releases = [
        f"{name}=={public(str(change.after))}"
        for name, change in moves.items()
        if name in locked | pinned
    ]
    loose = [
        PinnedRelease(name, "", str(change.after))
        for name, change in moves.items()
        if name not in locked | pinned
    ]
    if loose:
        project.notes.append(
            f"{lock} does not know {', '.join(one.name for one in loose)}: `uv sync` would remove "
            "it again, so the project has to name it"
        )
        project.commands += commands.uv_add(loose, (), cwd, sync=False)
    if not releases and found.edit is None and not loose:
        return
    own = value_of(project.facts, "python.lock")
    sync = isinstance(own, str) and own.replace("\\", "/").endswith("uv.lock")
    if releases or found.edit:
        project.commands += commands.uv_lock(releases, cwd, sync=sync)
    project.instead += commands.uv_add(
        [*_asked(project, found), *loose], _removed(project, found), cwd
    )
    project.locks.append(lock)


def _pixi(project: _Project, path: str, found: Pinned) -> None:
    cwd = project.cwd(path)
    if found.edit:
        project.commands += commands.pixi_install(cwd)
    asked = [
        one
        if one.table.endswith("pypi-dependencies") or one.name != "torch"
        else one._replace(name="pytorch")
        for one in _asked(project, found)
    ]
    project.instead += commands.pixi_add(asked, cwd)
    project.locks.append(posixpath.join(posixpath.dirname(path), "pixi.lock"))


def _cargo(project: _Project, paths: Sequence[str]) -> None:
    lock = next((path for path in project.paths if path.endswith("Cargo.lock")), None)
    changes = [change for change in project.rust.values() if change.after]
    if changes and (lock or paths):
        at = lock or paths[0]
        project.commands += commands.cargo_update(changes, project.cwd(at))
        project.locks.append(posixpath.join(posixpath.dirname(at), "Cargo.lock"))
