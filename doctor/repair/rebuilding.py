"""Build an extension of the project again, where it was built for another NumPy or Python.

No index has such a package, and its metadata say nothing of what it was compiled against. Its own
sources lie in the project: its build configuration says what it is built with.
https://numpy.org/doc/stable/dev/depending_on_numpy.html#numpy-2-abi-handling
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from doctor.fixes import installer
from doctor.model.facts import Facts
from doctor.model.fixes import Command, Step
from doctor.model.issues import Option
from doctor.observe.installed.editables import folder_of
from doctor.observe.scene import Distribution
from doctor.repair.damage import listed
from doctor.repair.failures import Failure
from doctor.repair.moved import projects
from doctor.repair.reading import tops

_MISFIT = re.compile(
    r"numpy\.(?:core|_core)\.(?:multiarray|umath) failed to import|_ARRAY_API not found"
    r"|compiled using NumPy 1|(?:compiled|built) against (?:API|ABI|NumPy)|size changed"
    r"|binary incompatibility|undefined symbol|[Ss]ymbol not found|DLL load failed"
    r"|Python version mismatch|compiled for Python|incompatible architecture|wrong ELF class"
)
_NO_MODULE = re.compile(r"No module named '(\w{1,100})")
_COMPILED = (".so", ".pyd")
_SOURCES = (".c", ".cc", ".cpp", ".cxx", ".cu", ".pyx", ".rs", ".f90", *_COMPILED)
_MOST_FILES = 2000


class Rebuilding(NamedTuple):
    """A package that is built again: its name and folder, the step, and a note."""

    name: str
    folder: Path
    step: Step
    note: str


def rebuildings(
    failure: Failure, here: Mapping[str, Distribution], facts: Facts, project: Path
) -> Iterator[Rebuilding]:
    """Yield ways to build extensions below a project again, where one may not fit what is here.

    First as its build configuration says, then with the packages of the environment.
    """
    missing = _NO_MODULE.search(failure.error)
    unfit = _MISFIT.search(failure.chain) is not None
    for one in here.values() if unfit or missing is not None else ():
        if not unfit and missing is not None and missing[1] not in _modules(one):
            continue
        folder = _folder(one, project)
        if folder is None or not _is_compiled(one, folder):
            continue
        for options in ((), (Option.NO_BUILD_ISOLATION,)):
            step = _step(one, folder, options, facts)
            note = f"{one.name} is built again from {folder}, for the packages that are here."
            yield Rebuilding(one.name, folder, step, note)


def _modules(one: Distribution) -> frozenset[str]:
    return frozenset(part.partition(".")[0] for part in tops(one))


def _folder(one: Distribution, project: Path) -> Path | None:
    """Return the only folder of the project that has the sources of a package."""
    named = folder_of(one.direct_url)
    if named and Path(named).is_dir():
        return Path(named) if Path(named).is_relative_to(project) else None
    if "vcs_info" in one.direct_url or one.installer == "conda":
        return None
    found = list(islice(projects(one.name, (project,)), 2))
    return found[0] if len(found) == 1 else None


def _is_compiled(one: Distribution, folder: Path) -> bool:
    """Say whether a package has compiled parts: itself, or its sources where it is editable."""
    if any(path.endswith(_COMPILED) for path in listed(one)):
        return True
    files = islice(folder.rglob("*"), _MOST_FILES)
    return bool(folder_of(one.direct_url)) and any(path.suffix in _SOURCES for path in files)


def _step(one: Distribution, folder: Path, options: tuple[Option, ...], facts: Facts) -> Step:
    words = ["-e", str(folder)] if folder_of(one.direct_url) else [str(folder)]
    chosen = [Option.NO_DEPS, Option.REINSTALL, *options]
    argv = list(installer.install(words, chosen, None, facts)[-1].argv)
    if argv[1:3] == ["pip", "install"]:  # uv keeps what it built before
        at = argv.index("--no-deps") + 1
        argv[at:at] = ["--reinstall-package", one.name, "--refresh-package", one.name]
    return Step(title=f"Build {one.name} again", command=Command(argv=tuple(argv)))
