"""What uv.lock says of a package, and where the environment departed from it.

No probe of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from doctor.base.versions import public
from doctor.host.reading import LOCK, UnreadableFile
from doctor.model.facts import Fact, absent, present, unknown
from doctor.observe.scene import Scene


def departed(scene: Scene, lock: Path) -> Fact:
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


def of_project(scene: Scene) -> Fact:
    """Give the release in uv.lock of each installed package that it names once.

    Absent where most of them are installed in another release: that is no environment of this
    project, wherever it lies.
    """
    lock = scene.host.cwd / "uv.lock"
    try:
        text = scene.host.whole(lock, LOCK)
    except UnreadableFile as error:
        return unknown(str(error), str(lock))
    named: dict[str, set[str]] = {}
    for name, version in _packages(text or ""):
        named.setdefault(name, set()).add(version)
    told = {
        one.name: next(iter(named[one.name]))
        for one in scene.distributions
        if len(named.get(one.name, ())) == 1
    }
    alike = sum(
        one.name in told and _same(one.version, told[one.name]) for one in scene.distributions
    )
    return present(told, str(lock)) if 2 * alike > len(told) else absent(str(lock))


def _same(here: str, locked: str) -> bool:
    return here == locked or public(here) == locked


def _packages(text: str) -> Iterator[tuple[str, str]]:
    """Yield name and version of each `[[package]]`: its first two lines, as uv writes them.

    A table that says otherwise is passed over.
    """
    for table in text.split("\n[[package]]\n")[1:]:
        lines = table.split("\n", 2)
        told = [line.partition(" = ") for line in lines[:2]]
        if [key for key, _, _ in told] == ["name", "version"]:
            yield told[0][2].strip('"'), told[1][2].strip('"')
