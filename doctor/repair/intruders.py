"""Find what comes into a program from outside of its environment, and write how to keep it out.

| way in | what is tried |
| --- | --- |
| LD_PRELOAD, LD_LIBRARY_PATH | the program without one entry, where a library may be the matter |
| PYTHONPATH, a `.pth` file | without a folder that hides a module of the environment |
| PYTHONHOME, the user's site-packages | without them |

The other entries stay. A folder that a `.pth` file puts first goes behind the packages: what lies
in it alone is still found. https://docs.python.org/3/library/site.html
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from doctor.environments.environment import Environment
from doctor.model.fixes import Command, Step
from doctor.model.issues import Edit
from doctor.repair.commands import is_inside
from doctor.repair.failures import Failure
from doctor.repair.hiding import behind, first_folders
from doctor.repair.shell_files import Entry

_LIBRARY = re.compile(
    r"ImportError|undefined symbol|symbol lookup error|\.so\b|\.so\.\d|version `|GLIBC"
    r"|\.dylib\b|DLL|[Ss]egmentation|Aborted"
)
LISTS = ("PYTHONPATH", "LD_LIBRARY_PATH", "LD_PRELOAD")
_PRELOADED = re.compile(r"[: ]+")
_OF_THE_USER = re.compile(r"[^\s\"'(]{0,500}(?:[/\\]\.local[/\\]lib|[/\\]Roaming[/\\]Python)[/\\]")
_KEEP = "Where the variable is set, in a start file of the shell, the job or the image, leave out"


def without_intruders(
    failure: Failure,
    env: Mapping[str, str],
    environment: Environment,
    modules: Collection[str],
    *,
    by_signal: bool = False,
) -> Iterator[tuple[str, tuple[Step, ...]]]:
    """Yield ways to keep one thing out: what it is, and the steps.

    `modules` are the names of the environment's modules. `by_signal`: the program was killed.
    """
    if by_signal or _LIBRARY.search(failure.chain) or not failure.frames:
        yield from _libraries(env, environment)
    if env.get("PYTHONHOME"):
        yield "PYTHONHOME", (_set("PYTHONHOME", "", "Start without PYTHONHOME"),)
    for entry in _outside(env.get("PYTHONPATH", "").split(os.pathsep), environment):
        if _hides(entry, modules):
            yield f"{entry} of PYTHONPATH", (_less("PYTHONPATH", env, entry, os.pathsep),)
    seen = " ".join((failure.chain, *(frame.path for frame in failure.every)))
    own = _OF_THE_USER.search(seen)
    if own and not is_inside(own[0].rstrip("/\\"), environment):
        what = "the user's own site-packages"
        yield what, (_set("PYTHONNOUSERSITE", "1", f"Start without {what}"),)
    for file, folder in first_folders(environment):
        if _hides(folder, modules) and (step := _behind(file, folder)) is not None:
            yield f"{folder}, which {file.name} puts first", (step,)


def without_lines(
    failure: Failure,
    found: Iterable[Entry],
    environment: Environment,
    modules: Collection[str],
    *,
    by_signal: bool = False,
) -> Iterator[tuple[str, tuple[Step, ...]]]:
    """Yield ways to keep out what a file of the shell puts into such a variable."""
    by_library = by_signal or _LIBRARY.search(failure.chain) or not failure.frames
    for one in found:
        outside = not is_inside(str(one.place), environment)
        matters = _hides(str(one.place), modules) if one.name == "PYTHONPATH" else by_library
        if outside and matters:
            edit = Edit(file=str(one.file), before=one.line, after=one.without)
            what = f"{one.place}, which {one.file.name}:{one.number} puts into {one.name}"
            title = f"Leave {one.place} out of {one.name} in {one.file.name}"
            yield what, (Step(title=title, edit=edit),)


def _libraries(
    env: Mapping[str, str], environment: Environment
) -> Iterator[tuple[str, tuple[Step, ...]]]:
    preloaded = _PRELOADED.split(env.get("LD_PRELOAD", ""))
    for entry in _outside(preloaded, environment):
        rest = ":".join(one for one in preloaded if one and one != entry)
        yield f"{entry} of LD_PRELOAD", (_set("LD_PRELOAD", rest, f"{_KEEP} {entry}"),)
    for entry in _outside(env.get("LD_LIBRARY_PATH", "").split(":"), environment):
        if Path(entry).is_dir():
            yield f"{entry} of LD_LIBRARY_PATH", (_less("LD_LIBRARY_PATH", env, entry, ":"),)


def _outside(entries: Collection[str], environment: Environment) -> Iterator[str]:
    for entry in dict.fromkeys(entries):
        if entry and not is_inside(entry, environment):
            yield entry


def _set(name: str, value: str, title: str) -> Step:
    return Step(title=title, command=Command(argv=(), env={name: value}))


def _less(name: str, env: Mapping[str, str], entry: str, separator: str) -> Step:
    rest = [one for one in env[name].split(separator) if one and one != entry]
    return _set(name, separator.join(rest), f"{_KEEP} {entry}")


def _hides(folder: str, modules: Collection[str]) -> bool:
    """Say whether a folder has a module that the environment has as well."""
    with suppress(OSError):
        names = {one.name.removesuffix(".py") for one in Path(folder).iterdir()}
        return bool({name for name in names if name.isidentifier()} & {*modules})
    return False


def _behind(file: Path, folder: str) -> Step | None:
    """Return the step by which a `.pth` file puts a folder last; None where no edit does."""
    edit = behind(file, folder)
    title = f"Let {folder} come after the packages of the environment"
    return None if edit is None else Step(title=title, edit=edit)
