"""Find files in site-packages that no package owns, and that come into a failing program.

Nobody installed them, so no installer removes them, and no metadata tells. What counts:

| file | why |
| --- | --- |
| a module that hides another one, or a part of one | the failure speaks of that module |
| a file that the traceback or the message names | it failed |
| `sitecustomize.py`, `usercustomize.py`, lines of code in a `.pth` file | each start runs them |

A folder comes before a compiled module, and that before source and bytecode:
https://docs.python.org/3/library/importlib.html#importlib.machinery.FileFinder
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from doctor.base.requirements import normalize_name
from doctor.environments.environment import Environment
from doctor.host import read_regular
from doctor.model.fixes import Command, Step
from doctor.observe.scene import Distribution
from doctor.repair.damage import every_path, listed
from doctor.repair.failures import Failure

_AT_START = ("sitecustomize", "usercustomize")
_MODULES = (".py", ".pyc", ".so", ".pyd")
_OF_TOOLS = re.compile(
    r"^(?:_virtualenv|__editable__|__pycache__|distutils-precedence|easy-install)"
)
_RUNS = re.compile(r"^import[ \t]", re.MULTILINE)
_SAFE = re.compile(r"[\w./ +@=-]{1,300}")
_MOST_FILES, _PTH_LIMIT, _MOST = 5000, 1 << 16, 6


def unowned(
    failure: Failure, here: Mapping[str, Distribution], environment: Environment
) -> Iterator[tuple[Path, Step, str]]:
    """Yield such a file, the step that gives it another name, and a note."""
    owned = {one.folder.parent / path for one in here.values() for path in every_path(one)}
    owned |= {folder for path in owned for folder in path.parents}
    # Where a RECORD cannot be read, nobody can say what lies in the folder of the package.
    unknown = {normalize_name(one.name) for one in here.values() if not listed(one)}
    found = dict[Path, str]()
    for site in environment.own_folders:
        found |= dict(_named(failure, site, owned))
        found |= dict(_hiding(failure, site, owned))
        found |= dict(_at_start(site, owned))
    known = [pair for pair in found.items() if normalize_name(_top(pair[0])) not in unknown]
    for file, why in known[:_MOST]:
        target = file.with_name(f"{file.name}.old")
        if _SAFE.fullmatch(str(file)) and not target.exists():
            title = f"Rename {file.name}, which no package owns"
            step = Step(title=title, command=Command(argv=("mv", "-i", str(file), str(target))))
            yield file, step, f"{file} belongs to no package: {why}."


def _top(file: Path) -> str:
    """Return the first folder or module below site-packages."""
    found = next(
        (one for one in (file, *file.parents) if one.parent.name.endswith("-packages")), file
    )
    return found.name.partition(".")[0]


def _named(failure: Failure, site: Path, owned: set[Path]) -> Iterator[tuple[Path, str]]:
    """Yield the outermost parts that nobody owns of paths which the failure names."""
    frames = [Path(frame.path) for frame in reversed(failure.every)]
    told = [Path(one) for one in re.findall(r"/[^\s'\":,;()]{1,1000}", failure.error[:2000])]
    for path in (*frames, *told):
        if path.is_relative_to(site) and path != site and path not in owned:
            parts = (*reversed(path.parents), path)
            part = next(one for one in parts if one.is_relative_to(site) and one not in owned)
            if part != site and part.exists() and not _OF_TOOLS.match(part.name):
                yield part, "the failure names it"


def _hiding(failure: Failure, site: Path, owned: set[Path]) -> Iterator[tuple[Path, str]]:
    """Yield modules beside those of packages, with the same name, that a failure speaks of."""
    words = {*re.findall(r"\w+", failure.error[:2000])}
    quoted = {*re.findall(r"['\"`](\w+)(?:\.\w+)*['\"`]", failure.error[:2000])}
    tops = {frame.top for frame in failure.every if frame.top}
    folders = [site, *(one for one in (site / top for top in sorted(tops | words)) if one.is_dir())]
    for folder in folders:
        with suppress(OSError):
            entries = sorted(folder.iterdir())[:_MOST_FILES]
            names = dict[str, list[Path]]()
            for entry in entries:
                if entry.suffix in _MODULES or (entry.name.isidentifier() and entry.is_dir()):
                    names.setdefault(entry.name.partition(".")[0], []).append(entry)
            for name, several in names.items():
                own = [one for one in several if one in owned]
                spoken = name in words or name in tops
                if folder == site and not own and name in quoted:
                    yield several[0], "the failure speaks of it"
                for one in several if own and spoken else ():
                    if one not in own:
                        yield one, f"it lies beside {own[0].name}, with the same name"


def _at_start(site: Path, owned: set[Path]) -> Iterator[tuple[Path, str]]:
    for name in _AT_START:
        for file in (site / f"{name}.py", site / name):
            if file.exists() and file not in owned:
                yield file, "Python runs it at each start"
    for file in sorted(site.glob("*.pth")):
        text = (read_regular(file, _PTH_LIMIT) or b"").decode("utf-8", "replace")
        if file not in owned and not _OF_TOOLS.match(file.name) and _RUNS.search(text):
            yield file, "Python runs its lines at each start"
