"""Find files of the program's folder that hide a module of the standard library or of a package.

Python puts the folder of a program first on its path, so that every import of that name takes the
file: https://docs.python.org/3/library/sys.html#sys.path
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
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


class Shadow(NamedTuple):
    """A file, the module that it hides, and where that belongs."""

    file: Path
    module: str
    owner: str

    @property
    def words(self) -> str:
        """Return what the file hides."""
        return f"{self.file.name} of the project hides the module {self.module} of {self.owner}"

    @property
    def target(self) -> Path:
        """Return the new path of the file."""
        return self.file.with_name(f"{self.module}_own.py")

    @property
    def step(self) -> Step:
        """Return the step that gives the file another name; `-i` asks before it overwrites."""
        argv = ("mv", "-i", str(self.file), str(self.target))
        title = f"Rename {self.file.name}, a file of your own"
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
        if users:
            named = ", ".join(users[:_NAMED])
            more = f" Where {named} means that file, import {self.target.stem} there."
        return f"{self.words}, since Python looks in the program's folder first.{more}"


def shadows(
    failure: Failure, modules: Collection[str], environment: Environment, folder: Path
) -> Iterator[Shadow]:
    """Yield the files that hide a module which the failure speaks of, or which a library imports.

    `modules` are those of the installed packages, `folder` is where a program without a file runs.
    """
    own = [frame.path for frame in failure.every if not _LIBRARY.search(frame.path)]
    own = [path for path in own if not path.startswith("<")]
    place = Path(own[0]).parent if own else folder
    place = place if place.is_absolute() else folder / place
    if is_inside(str(place / "x"), environment) and _LIBRARY.search(f"{place}/"):
        return
    with suppress(OSError):
        for file in sorted(place.glob("*.py"))[:_MOST_FILES]:
            name = file.stem
            owner = "an installed package" if name in modules else ""
            owner = "the standard library" if standard_module(name) else owner
            if not owner or not _SAFE.fullmatch(str(file)) or not file.is_file():
                continue
            shadow = Shadow(file, name, owner)
            if not shadow.target.exists() and _is_spoken_of(shadow, failure):
                yield shadow


def _is_spoken_of(shadow: Shadow, failure: Failure) -> bool:
    """Say whether a message names the module or the file, or a library imported the file."""
    said = re.compile(
        rf"module '{shadow.module}(?:\.\w+)*'|from '{shadow.module}(?:\.\w+)*'"
        rf"|No module named '{shadow.module}\.|{re.escape(str(shadow.file))}"
    )
    if said.search(failure.chain) or said.search(failure.error):
        return True
    paths = [frame.path for frame in failure.every]
    return any(
        path == str(shadow.file) and _LIBRARY.search(before) for before, path in pairwise(paths)
    )
