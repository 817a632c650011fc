"""Find the new place of an editable install whose sources were moved, and install it from there.

An editable install is a path to its sources. Where they lie elsewhere today, in the project or
beside it, the module is not found: https://packaging.python.org/en/latest/specifications/direct-url/
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from doctor.base.requirements import normalize_name
from doctor.base.toml import TomlError, parse_toml
from doctor.fixes.installer import install
from doctor.host import read_regular
from doctor.model.facts import Facts
from doctor.model.fixes import Step
from doctor.model.issues import Option
from doctor.observe.installed.editables import folder_of
from doctor.observe.scene import Distribution
from doctor.repair.failures import Failure

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
    text = (read_regular(folder / "pyproject.toml", _BYTES) or b"").decode("utf-8", "replace")
    try:
        project = parse_toml(text).get("project") if text else None
    except TomlError:
        project = None
    if isinstance(project, dict) and isinstance(project.get("name"), str):
        return normalize_name(project["name"])
    for file in ("setup.cfg", "setup.py"):
        text = (read_regular(folder / file, _BYTES) or b"").decode("utf-8", "replace")
        if found := _NAME.search(text):
            return normalize_name(found[1])
    return ""
