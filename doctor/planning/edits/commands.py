"""The commands of the tools that own manifests and locks.

- uv: https://docs.astral.sh/uv/reference/cli/
- Poetry: https://python-poetry.org/docs/cli/
- pixi: https://pixi.sh/latest/reference/cli/pixi/
- conda: https://docs.conda.io/projects/conda/en/stable/commands/env/update.html
- Cargo: https://doc.rust-lang.org/cargo/commands/cargo-update.html
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from doctor.base.versions import public
from doctor.model.fixes import Command, Step
from doctor.model.plans import Change

_GROUP = re.compile(r"(?:dependency-groups/|tool\.poetry\.group\.)([\w-]{1,60})(?:\.dependencies)?")
_EXTRA = re.compile(r"project\.optional-dependencies/([\w-]{1,60})")
_FEATURE = re.compile(r"(?:tool\.pixi\.)?feature\.([\w-]{1,60})\.(?:pypi-)?dependencies")


class PinnedRelease(NamedTuple):
    """A package that a project names: its spelling there, the table, and its release."""

    name: str
    table: str
    release: str

    @property
    def exact(self) -> str:
        """Return it as a requirement, `torch==2.13.0`."""
        return f"{self.name}=={public(self.release)}"


def step(title: str, cwd: str | None, *argv: str) -> Step:
    """Return the step of one command that runs in a folder."""
    return Step(title=title, command=Command(argv=argv, cwd=cwd))


def uv_lock(releases: Sequence[str], cwd: str | None, *, sync: bool) -> Iterator[Step]:
    """Yield the steps after an edit of a project of uv; `releases` are `torch==2.13.0`."""
    moves = [word for each in releases for word in ("--upgrade-package", each)]
    yield step("Write uv.lock again, with these releases", cwd, "uv", "lock", *moves)
    if sync:
        yield step("Install what uv.lock says", cwd, "uv", "sync")


def _by_group(asked: Sequence[PinnedRelease]) -> dict[tuple[str, ...], list[str]]:
    """Return the requirements by the option that names their group."""
    places: dict[tuple[str, ...], list[str]] = {}
    for one in asked:
        where: tuple[str, ...] = ()
        if group := _GROUP.fullmatch(one.table):
            where = ("--group", group[1])
        elif extra := _EXTRA.fullmatch(one.table):
            where = ("--optional", extra[1])
        places.setdefault(where, []).append(one.exact)
    return places


def uv_add(
    asked: Sequence[PinnedRelease], removed: Sequence[str], cwd: str | None, *, sync: bool = True
) -> Iterator[Step]:
    """Yield the commands that edit pyproject.toml and lock, and with `sync` install."""
    later = () if sync else ("--no-sync",)
    for where, exact in _by_group(asked).items():
        yield step(
            "Pin it in pyproject.toml, and write uv.lock again",
            cwd,
            "uv",
            "add",
            *later,
            *where,
            *exact,
        )
    if removed:
        yield step("Take it out of pyproject.toml and uv.lock", cwd, "uv", "remove", *removed)


def poetry_lock(names: Sequence[str], cwd: str | None) -> Iterator[Step]:
    """Yield the step after an edit of a project of Poetry; other packages stay where they are."""
    title = "Write poetry.lock again, and install"
    yield step(title, cwd, "poetry", "update", *names)


def poetry_add(
    asked: Sequence[PinnedRelease], removed: Sequence[str], cwd: str | None
) -> Iterator[Step]:
    """Yield the commands that edit pyproject.toml, lock and install in one."""
    for where, exact in _by_group(asked).items():
        yield step("Pin it, and write poetry.lock again", cwd, "poetry", "add", *where, *exact)
    if removed:
        yield step("Take it out of the project", cwd, "poetry", "remove", *removed)


def pdm_lock(names: Sequence[str], cwd: str | None) -> Iterator[Step]:
    """Yield the step after an edit of a project of PDM."""
    yield step("Write pdm.lock again, and install", cwd, "pdm", "update", *names)


def pipenv_lock(names: Sequence[str], cwd: str | None) -> Iterator[Step]:
    """Yield the step after an edit of a Pipfile."""
    yield step("Write Pipfile.lock again, and install", cwd, "pipenv", "update", *names)


def pixi_install(cwd: str | None) -> Iterator[Step]:
    """Yield the step after an edit of pixi's manifest: it locks what changed, and installs."""
    yield step("Write pixi.lock again, and install", cwd, "pixi", "install")


def pixi_add(asked: Sequence[PinnedRelease], cwd: str | None) -> Iterator[Step]:
    """Yield the commands that edit pixi's manifest, lock and install in one."""
    places: dict[tuple[str, ...], list[str]] = {}
    for one in asked:
        feature = _FEATURE.fullmatch(one.table)
        pypi = ("--pypi",) if one.table.endswith("pypi-dependencies") else ()
        where = (*pypi, *(("--feature", feature[1]) if feature else ()))
        places.setdefault(where, []).append(one.exact)
    for where, exact in places.items():
        yield step("Pin it, and write pixi.lock again", cwd, "pixi", "add", *where, *exact)


def conda_update(file: str, prefix: str | None, cwd: str | None) -> Step:
    """Return the step after an edit of a conda environment; it removes nothing."""
    where = ("--prefix", prefix) if prefix else ()
    return step(f"Install what {file} says", cwd, "conda", "env", "update", *where, "--file", file)


def cargo_update(changes: Sequence[Change], cwd: str | None) -> Iterator[Step]:
    """Yield a step for each crate: Cargo takes an exact release for one at a time."""
    for change in changes:
        argv = ("cargo", "update", "-p", change.name, "--precise", str(change.after))
        yield step(f"Lock {change.name} {change.after}", cwd, *argv)
