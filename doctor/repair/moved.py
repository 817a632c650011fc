"""Find the place from which an editable install should come, and install it from there.

An editable install is a path to its sources. Where they lie elsewhere today, in the project or
beside it, the module is not found. Where another folder of the project has the release that its
lists ask for, the install came from the wrong one: https://packaging.python.org/en/latest/specifications/direct-url/
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from doctor.base.requirements import may_meet, normalize_name
from doctor.base.toml import TomlError, parse_toml
from doctor.fixes.installer import install
from doctor.host import read_regular
from doctor.model.facts import Facts
from doctor.model.fixes import Step
from doctor.model.issues import Option
from doctor.observe.installed.editables import folder_of
from doctor.observe.scene import Distribution
from doctor.repair.failures import Failure
from doctor.repair.lists import Bound

_WORD = re.compile(r"[A-Za-z_][\w-]{0,100}")
_NO_MODULE = re.compile(r"No module named '(\w{1,100})")
_NAME = re.compile(r"(?m)(?:^|[(,])[ \t]*name[ \t]*=[ \t]*[\"']?([A-Za-z0-9][\w.-]{0,100})")
_PASSED_OVER = frozenset({".git", "node_modules", "__pycache__", "build", "dist", "site-packages"})
_DEPTH, _MOST_FOLDERS, _BYTES = 4, 2000, 1 << 18


def moved_editables(
    failure: Failure, here: Mapping[str, Distribution], facts: Facts, roots: Sequence[Path]
) -> Iterator[tuple[str, tuple[Step, ...], str]]:
    """Yield editable installs of a module that is not found: a name, the steps, and a note.

    Their sources have to lie in one folder below `roots`, which has the module.
    """
    missing = _NO_MODULE.search(failure.error)
    for one in here.values() if missing is not None else ():
        old = folder_of(one.direct_url)
        if missing is None or not old:
            continue
        found = [place for place in projects(one.name, roots) if _has(place, missing[1])]
        if len(found) != 1:
            continue
        made = install(["-e", str(found[0])], [Option.NO_DEPS], None, facts)
        steps = tuple(Step(title=f"Install {one.name} from where it lies", command=c) for c in made)
        yield one.name, steps, f"{one.name} was installed from {old}, and lies in {found[0]}."


def other_sources(
    failure: Failure,
    wanted: Sequence[Bound],
    here: Mapping[str, Distribution],
    facts: Facts,
    root: Path,
) -> Iterator[tuple[str, tuple[Step, ...], str]]:
    """Yield editable installs in a release that the lists do not allow: a name, steps, and a note.

    The failure has to name the package, or to lie in its sources.
    `[tool.uv.sources]` names the right folder, or one project below `root` alone has such a
    release: https://docs.astral.sh/uv/concepts/projects/dependencies/#path
    """
    named = _paths_of_uv(root)
    for bound in wanted:
        old = folder_of(here[bound.name].direct_url)
        if not old or not _is_of(failure, bound.name, old):
            continue
        places = [named[bound.name]] if bound.name in named else projects(bound.name, (root,))
        found = [
            place
            for place in places
            if place.resolve() != Path(old).resolve() and _suits(place, bound)
        ]
        if len(found) == 1:
            made = install(["-e", str(found[0])], [Option.NO_DEPS], None, facts)
            title = f"Install {bound.name} from the folder that the project names"
            steps = tuple(Step(title=title, command=one) for one in made)
            asked = f"{bound.source} asks for {bound.name}{bound.specifier}"
            yield bound.name, steps, f"{asked}; {old} has another release, {found[0]} has it."


def _is_of(failure: Failure, name: str, folder: str) -> bool:
    words = {normalize_name(word) for word in _WORD.findall(failure.chain)}
    return name in words or any(Path(one.path).is_relative_to(folder) for one in failure.every)


def _paths_of_uv(root: Path) -> dict[str, Path]:
    """Return the folders that `[tool.uv.sources]` names, by package."""
    found: object = _project_file(root)
    for key in ("tool", "uv", "sources"):
        found = found.get(key) if isinstance(found, dict) else None
    return {
        normalize_name(str(name)): Path(os.path.normpath(root / one["path"]))
        for name, one in (found.items() if isinstance(found, dict) else ())
        if isinstance(one, dict) and isinstance(one.get("path"), str)
    }


def _suits(folder: Path, bound: Bound) -> bool:
    """Say whether a project has a release that is allowed, as its file says."""
    project = _project_file(folder).get("project")
    version = project.get("version") if isinstance(project, dict) else None
    return isinstance(version, str) and may_meet(version, bound.specifier)


def _project_file(folder: Path) -> dict[str, Any]:
    text = (read_regular(folder / "pyproject.toml", _BYTES) or b"").decode("utf-8", "replace")
    try:
        return parse_toml(text) if text else {}
    except TomlError:
        return {}


def _has(folder: Path, module: str) -> bool:
    places = (folder / module, folder / "src" / module)
    return any(one.is_dir() or one.with_suffix(".py").is_file() for one in places)


def projects(name: str, roots: Sequence[Path]) -> Iterator[Path]:
    """Yield the folders below some others whose project has a normalized name."""
    known, number = set[Path](), 0
    for root in roots:
        for folder, folders, files in os.walk(root):
            place = Path(folder)
            deep = len(place.relative_to(root).parts) >= _DEPTH
            hidden = "pyvenv.cfg" in files
            folders[:] = [
                one
                for one in (() if deep or hidden else sorted(folders))
                if one not in _PASSED_OVER and not one.startswith(".")
            ]
            number += 1
            if number > _MOST_FOLDERS:
                return
            if place not in known and name == _name_in(place):
                known.add(place)
                yield place


def _name_in(folder: Path) -> str:
    """Return the normalized name of the project in a folder; empty where there is none."""
    project = _project_file(folder).get("project")
    if isinstance(project, dict) and isinstance(project.get("name"), str):
        return normalize_name(project["name"])
    for file in ("setup.cfg", "setup.py"):
        text = (read_regular(folder / file, _BYTES) or b"").decode("utf-8", "replace")
        if found := _NAME.search(text):
            return normalize_name(found[1])
    return ""
