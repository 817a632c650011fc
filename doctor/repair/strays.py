"""Find an `__init__.py` that ends a namespace which several packages share.

Where one part of a namespace has that file, Python looks for the rest nowhere else:
https://packaging.python.org/en/latest/guides/packaging-namespace-packages/
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from doctor.environments.environment import Environment
from doctor.host import read_regular
from doctor.model.fixes import Command, Step
from doctor.repair.failures import Failure

_MISSING = re.compile(
    r"No module named '(\w{1,100})\.(\w{1,100})|cannot import name '(\w{1,100})' from '(\w{1,100})'"
)
_INIT, _ASIDE, _PTH_LIMIT = "__init__.py", "__init__.py.old", 1 << 16


def strays(
    failure: Failure, environment: Environment, outside: Iterable[Path]
) -> Iterator[tuple[Path, Step, str]]:
    """Yield such a file of the environment, the step that renames it, and a note.

    The missing module has to lie in another part, in a folder of a `.pth` file or in `outside`.
    """
    found = _MISSING.search(failure.error)
    if found is None:
        return
    package, module = (found[1], found[2]) if found[1] else (found[4], found[3])
    sites = [folder for folder in environment.own_folders if (folder / package / _INIT).is_file()]
    folders = [*environment.folders, *_of_pth(environment), *outside]
    for site in sites[:1]:
        parts = [one / package for one in folders if (one / package) != site / package]
        part = next((one for one in parts if _has(one, module)), None)
        file, target = site / package / _INIT, site / package / _ASIDE
        if part is None or target.exists() or _has(site / package, module):
            return
        title = f"Rename {package}/{_INIT}, which ends the namespace {package}"
        step = Step(title=title, command=Command(argv=("mv", "-i", str(file), str(target))))
        yield file, step, f"{file} hides {module}, which lies in {part}: the two share {package}."


def _has(part: Path, module: str) -> bool:
    """Say whether a part of a namespace has a module, and does not end the namespace itself."""
    there = (part / module).is_dir() or (part / f"{module}.py").is_file()
    return there and not (part / _INIT).exists()


def _of_pth(environment: Environment) -> Iterator[Path]:
    for site in environment.own_folders:
        for path in sorted(site.glob("*.pth")):
            text = (read_regular(path, _PTH_LIMIT) or b"").decode("utf-8", "replace")
            for line in text.splitlines():
                if line.strip() and not line.startswith(("#", "import ", "import\t")):
                    yield site / line.strip()
