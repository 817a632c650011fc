"""What the lock of a project says of a package, and where the environment departed from it.

No probe of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from doctor.base.requirements import may_meet, normalize_name
from doctor.base.versions import public
from doctor.host.reading import LOCK, SOURCE, UnreadableFile
from doctor.model.facts import Fact, absent, present, unknown
from doctor.observe.manifests import kind_of
from doctor.observe.manifests.specifiers import MAIN_TABLES, specifier_in
from doctor.observe.scene import ProbeInput

LOCKS = ("uv.lock", "poetry.lock", "pdm.lock", "Pipfile.lock")
"""Locks of a project's tools, in the order in which they count."""
_MANIFESTS = ("pyproject.toml", "Pipfile")


def departed(scene: ProbeInput, lock: Path) -> Fact:
    """Give the packages whose installed version differs from the lock: name and version."""
    try:
        text = scene.host.whole(lock, LOCK)
    except UnreadableFile as error:
        return unknown(str(error), str(lock))
    if text is None:
        return unknown("it is gone", str(lock))
    named: dict[str, set[str]] = {}
    for name, version in _packages(text):
        named.setdefault(name, set()).add(version)
    found = {
        one.name: version
        for one in scene.distributions
        if len(named.get(one.name, ())) == 1
        and not _same(one.version, version := next(iter(named[one.name])))
    }
    return present(found, str(lock)) if found else absent(str(lock))


def of_project(scene: ProbeInput) -> Fact:
    """Give the release of each package that the project's lock names once.

    What the manifest beside the lock excludes is left out: the lock is older than that line.
    Absent where most of those that are installed have another release: that is no environment of
    this project, unless it lies in the project's folder.
    """
    named: dict[str, set[str]] = {}
    lock = scene.host.cwd / LOCKS[0]
    for path in (scene.host.cwd / name for name in LOCKS):
        try:
            text = scene.host.whole(path, LOCK)
        except UnreadableFile as error:
            return unknown(str(error), str(path))
        if text is not None:
            lock = path
            read = _of_pipenv if path.suffix == ".lock" and path.stem == "Pipfile" else _packages
            for name, version in read(text):
                named.setdefault(normalize_name(name), set()).add(version)
            break
    told = {name: version for name, (version, *more) in named.items() if not more}
    asked: dict[str, list[str]] = {}
    for name, specifier in _asked(scene) if told else ():
        asked.setdefault(name, []).append(specifier)
    told = {
        name: one
        for name, one in told.items()
        # Of several lines, each with its marker, one is enough.
        if name not in asked or any(may_meet(public(one), each) for each in asked[name])
    }
    here = {one.name: one.version for one in scene.distributions if one.name in told}
    alike = sum(_same(version, told[name]) for name, version in here.items())
    inside = scene.interpreter is not None and Path(scene.interpreter.prefix).is_relative_to(
        scene.host.cwd
    )
    is_its_own = 2 * alike > len(here) or (inside and alike > 0)
    return present(told, str(lock)) if is_its_own else absent(str(lock))


def _asked(scene: ProbeInput) -> Iterator[tuple[str, str]]:
    """Yield the range of each package that the project's manifest names in its main table."""
    for name in _MANIFESTS:
        kind = kind_of(scene.host.cwd.name, name)
        try:
            text = scene.host.whole(scene.host.cwd / name, SOURCE)
        except UnreadableFile:
            continue
        for pin in kind.read(text) if kind is not None and text is not None else ():
            if pin.table in MAIN_TABLES:
                yield normalize_name(pin.name), specifier_in(text or "", pin)


def _of_pipenv(text: str) -> Iterator[tuple[str, str]]:
    """Yield name and version of each package of a Pipfile.lock, which is JSON."""
    import json

    try:
        told = json.loads(text)
    except (ValueError, RecursionError):
        return
    for section in ("default", "develop"):
        listed = told.get(section) if isinstance(told, dict) else None
        for name, row in listed.items() if isinstance(listed, dict) else ():
            match row:
                case {"version": str(version)} if version.startswith("=="):
                    yield str(name), version.removeprefix("==")
                case _:
                    pass


def _same(here: str, locked: str) -> bool:
    return here == locked or public(here) == locked


def _packages(text: str) -> Iterator[tuple[str, str]]:
    """Yield name and version of each `[[package]]`: its first two lines, as uv, poetry and pdm do.

    A table that says otherwise is passed over.
    """
    for table in text.split("\n[[package]]\n")[1:]:
        lines = table.split("\n", 2)
        told = [line.partition(" = ") for line in lines[:2]]
        if [key for key, _, _ in told] == ["name", "version"]:
            yield told[0][2].strip('"'), told[1][2].strip('"')
