"""Find files of the program's folder that hide a module of the standard library or of a package.

Python puts the folder of a program first on its path, so that every import of that name takes the
file: https://docs.python.org/3/library/sys.html#sys.path. A folder with an `__init__.py` does the
same, a compiled module comes before the source that lies beside it, and compiled bytecode without
a source is a module as well: https://peps.python.org/pep-3147/#case-4-legacy-pyc-files-and-source-less-imports
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from doctor.environments.environment import Environment
from doctor.host import read_regular
from doctor.model.fixes import Command, Step
from doctor.repair.commands import is_inside
from doctor.repair.failures import Failure
from doctor.timelines.standard_library import standard_module

_LIBRARY = re.compile(r"[/\\](?:site|dist)-packages[/\\]|[/\\]lib[/\\]python\d|^<frozen ")
_SAFE = re.compile(r"[\w./ +@=-]{1,300}")
_MOST_FILES, _BYTES, _NAMED = 300, 1 << 18, 5
_BYTECODE = ".pyc"
_COMPILED = (".so", ".pyd", _BYTECODE)


class Shadow(NamedTuple):
    """A file, the module that it hides, and where that belongs."""

    file: Path
    module: str
    owner: str

    folder: str = "the project"

    @property
    def words(self) -> str:
        """Return what the file hides."""
        return f"{self.file.name} of {self.folder} hides the module {self.module} of {self.owner}"

    @property
    def target(self) -> Path:
        """Return the new path of the file."""
        if self.file.suffix in _COMPILED:
            return self.file.with_name(f"{self.file.name}.old")
        return self.file.with_name(f"{self.module}_own{self.file.suffix}")

    @property
    def step(self) -> Step:
        """Return the step that gives the file another name; `-i` asks before it overwrites."""
        argv = ("mv", "-i", str(self.file), str(self.target))
        what = "folder" if self.file.is_dir() else "file"
        title = f"Rename {self.file.name}, a {what} of your own"
        return Step(title=title, command=Command(argv=argv))

    @property
    def note(self) -> str:
        """Return which files of the folder import it, and have to follow."""
        pattern = re.compile(rf"^[ \t]*(?:import|from)[ \t]+{self.module}\b", re.MULTILINE)
        users = [
            path.name
            for path in sorted(self.file.parent.glob("*.py"))[:_MOST_FILES]
            if path != self.file
            and pattern.search((read_regular(path, _BYTES) or b"").decode("utf-8", "replace"))
        ]
        more = ""
        if self.file.suffix in _COMPILED:
            more = " It does not suit what is installed; build it again where you need it."
            if self.file.suffix == _BYTECODE:
                more = " It is bytecode, and its source is not there."
        elif users:
            named = ", ".join(users[:_NAMED])
            more = f" Where {named} means that file, import {self.target.stem} there."
        if self.file.suffix in _COMPILED:
            return f"{self.words}.{more}"
        first = "in PYTHONPATH" if self.folder != "the project" else "in the program's folder"
        return f"{self.words}, since Python looks {first} first.{more}"


def shadows(
    failure: Failure,
    modules: Collection[str],
    environment: Environment,
    folder: Path,
    listed: Sequence[str] = (),
) -> Iterator[Shadow]:
    """Yield the files that hide a module which the failure speaks of, or which a library imports.

    `modules` are those of the installed packages, `folder` is where a program without a file runs,
    `listed` are the folders of PYTHONPATH: of one that has more than such files, they go alone.
    """
    places = _places(failure, environment, folder)
    for place in places:
        for shadow in _hiding(place, modules):
            if _is_spoken_of(shadow, failure):
                yield shadow
    for one in [Path(one) for one in listed if Path(one).is_absolute()]:
        if one not in places and not is_inside(str(one), environment):
            hiding = list(_hiding(one, modules))
            if len(hiding) < len(_modules(one)):
                named = [shadow._replace(folder=str(one)) for shadow in hiding]
                yield from (shadow for shadow in named if _is_spoken_of(shadow, failure))


def unspoken(
    failure: Failure, modules: Collection[str], environment: Environment, folder: Path
) -> Iterator[Shadow]:
    """Yield the files of a failing program's folder that hide a module of which nothing speaks.

    What a library makes of a failed import is often another message.
    """
    places = _places(failure, environment, folder)
    # A program imports its own file on purpose, unless a library of this traceback came first.
    for shadow in (one for place in places for one in _hiding(place, modules)):
        if not _is_spoken_of(shadow, failure) and any(one.top for one in failure.every):
            yield shadow


def _places(failure: Failure, environment: Environment, folder: Path) -> list[Path]:
    """Return the folders of a failing program that Python may look in first.

    That is the folder of its first file, and where that is a part of a package, the one that has
    the package: `python -m` puts the working folder there. None is a part of the environment.
    """
    own = [frame.path for frame in failure.every if not _LIBRARY.search(frame.path)]
    own = [path for path in own if not path.startswith("<")]
    place = Path(own[0]).parent if own else folder
    place = place if place.is_absolute() else folder / place
    found = [place]
    if own and Path(own[0]).name == "__main__.py":
        place = place.parent
    while place != place.parent and (place / "__init__.py").is_file():
        place = place.parent
    found += [] if place in found else [place]
    return [one for one in found if not _is_of_environment(one, environment)]


def _is_of_environment(place: Path, environment: Environment) -> bool:
    return is_inside(str(place / "x"), environment) and bool(_LIBRARY.search(f"{place}/"))


def _modules(place: Path) -> list[Path]:
    with suppress(OSError):
        return [one for one in sorted(place.iterdir())[:_MOST_FILES] if _is_module(one)]
    return []


def _hiding(place: Path, modules: Collection[str]) -> Iterator[Shadow]:
    """Yield the files of a folder that hide a module of another place."""
    for file in _modules(place):
        name = file.name.partition(".")[0]
        owner = "an installed package" if name in modules else ""
        owner = "the standard library" if standard_module(name) else owner
        if file.suffix == _BYTECODE and file.with_suffix(".py").exists():
            continue  # the source comes first
        if not owner and file.suffix in _COMPILED and file.with_name(f"{name}.py").is_file():
            owner = f"{name}.py beside it"
        if owner and _SAFE.fullmatch(str(file)):
            shadow = Shadow(file, name, owner)
            if not shadow.target.exists():
                yield shadow


def _is_module(file: Path) -> bool:
    """Say whether Python imports a file or folder, and it is not the project itself."""
    if not file.is_dir():
        return file.suffix in (".py", *_COMPILED) and file.is_file()
    own = re.compile(rf"\bname[ \t]*=[ \t]*[\"']?{re.escape(file.name)}\b", re.IGNORECASE)
    made = (file.with_name(name) for name in ("pyproject.toml", "setup.cfg", "setup.py"))
    texts = ((read_regular(path, _BYTES) or b"").decode("utf-8", "replace") for path in made)
    return (file / "__init__.py").is_file() and not any(map(own.search, texts))


def _is_spoken_of(shadow: Shadow, failure: Failure) -> bool:
    """Say whether a message names the module or the file, or a library imported the file."""
    said = re.compile(
        rf"module '{shadow.module}(?:\.\w+)*'|from '{shadow.module}(?:\.\w+)*'"
        rf"|bad magic number in '{shadow.module}'"
        rf"|No module named '{shadow.module}\.|{re.escape(str(shadow.file))}"
    )
    if said.search(failure.chain) or said.search(failure.error):
        return True
    paths = [frame.path for frame in failure.every]
    inner = (str(shadow.file), str(shadow.file / "__init__.py"))
    return any(path in inner and _LIBRARY.search(before) for before, path in pairwise(paths))
