"""What is installed in an environment, and what of it does not go together."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from packaging.specifiers import InvalidSpecifier, SpecifierSet

from doctor.base.requirements import normalize_name
from doctor.host import Host, Termination, UnreadableFile
from doctor.observe.descriptions import TargetError
from doctor.observe.installed import distributions
from doctor.observe.scene import Distribution, Interpreter
from doctor.observe.targets import describe
from doctor.redact import without_secrets

_SPEAKER = re.compile(
    r"^The package `([\w.-]{1,200})` |^([\w.-]{1,200}) \S{1,100} (?:has requirement|requires) "
)
_TIMEOUT = 60.0
_MOST = 200


class Folders(Protocol):
    """An environment: its interpreter, and its site-packages in the order of the path."""

    @property
    def python(self) -> Path:
        """Return the interpreter."""

    @property
    def folders(self) -> tuple[Path, ...]:
        """Return the site-packages."""


def installed(environment: Folders) -> dict[str, str]:
    """Return the release of every distribution by its normalized name; reads files alone."""
    path = [str(folder) for folder in environment.folders]
    return {one.name: one.version for one in distributions.installed(path)}


def installed_for(python: str, host: Host) -> dict[str, str] | None:
    """Return the same for an interpreter, which is started once; None where it does not start."""
    try:
        path = describe(host, python).path
    except TargetError:
        return None
    return {one.name: one.version for one in distributions.installed(path)}


def problems(environment: Folders, host: Host) -> tuple[str, ...]:
    """Return what `uv pip check` says of an environment, a line each; empty where all is well.

    Where there is no uv, pip is asked; where neither answers, the metadata are read.
    """
    if _borrows(environment):
        return own_check(environment, host)  # uv sees no packages of a lower environment
    python = str(environment.python)
    asked = _uv_check(python, host)
    if asked is None:
        asked = _pip_check(python, host)
    return own_check(environment, host) if asked is None else _of_today(asked, environment, host)


def _borrows(environment: Folders) -> bool:
    """Say whether an environment sees packages of another one."""
    root = environment.python.parent.parent
    inside = [folder for folder in environment.folders if folder.is_relative_to(root)]
    return 0 < len(inside) < len(environment.folders)


def _of_today(lines: Sequence[str], environment: Folders, host: Host) -> tuple[str, ...]:
    """Return the lines of an installer, with today's for editable installs.

    Installers read the metadata of the day on which an editable install was made.
    """
    path = [str(folder) for folder in environment.folders]
    found = distributions.installed(path)
    names = {one.name for one in found if distributions.todays_requirements(one) is not None}
    if not names:
        return tuple(lines)
    kept = [line for line in lines if names.isdisjoint(_speakers(line))]
    return (*kept, *own_check(environment, host, names))


def _speakers(line: str) -> set[str]:
    """Return the package whose requirements a line speaks of."""
    return {normalize_name(found[1] or found[2]) for found in _SPEAKER.finditer(line[:400])}


def _uv_check(python: str, host: Host) -> tuple[str, ...] | None:
    done = host.run(
        ("uv", "pip", "check", "--python", python), timeout=_TIMEOUT, env={"NO_COLOR": "1"}
    )
    if done.ended is not Termination.ITSELF or "Checked " not in done.errors:
        return None
    return _lines(done.errors, ("Using Python ", "Checked ", "Found ", "All installed packages"))


def _pip_check(python: str, host: Host) -> tuple[str, ...] | None:
    done = host.run((python, "-m", "pip", "check"), timeout=_TIMEOUT)
    if done.ended is not Termination.ITSELF or done.code not in (0, 1) or not done.output:
        return None
    return _lines(done.output, ("No broken requirements",))


def _lines(text: str, others: Sequence[str]) -> tuple[str, ...]:
    lines = (line.strip() for line in without_secrets(text).splitlines())
    return tuple(line for line in lines if line and not line.startswith(tuple(others)))[:_MOST]


def own_check(
    environment: Folders, host: Host, names: Collection[str] | None = None
) -> tuple[str, ...]:
    """Return what the metadata of the distributions say that is not met; of `names` alone."""
    try:
        interpreter = describe(host, environment.python)
    except TargetError as error:
        return (str(error),)
    found = distributions.installed([str(folder) for folder in environment.folders])
    here = {one.name: one.version for one in found}
    asking = [one for one in found if names is None or one.name in names]
    return tuple(line for one in asking for line in _unmet(one, here, interpreter))[:_MOST]


def _unmet(one: Distribution, here: dict[str, str], interpreter: Interpreter) -> Iterator[str]:
    with suppress(UnreadableFile):
        for wanted in distributions.requirements(one, interpreter):
            text = f"{wanted.name}{wanted.specifier}"
            have = here.get(wanted.name)
            if have is None:
                yield f"The package `{one.name}` requires `{text}`, but it's not installed"
            elif not _meets(wanted.specifier, have):
                yield f"The package `{one.name}` requires `{text}`, but `{have}` is installed"


def _meets(specifier: str, version: str) -> bool:
    try:
        return SpecifierSet(specifier).contains(version, prereleases=True)
    except (InvalidSpecifier, ValueError):
        return True
