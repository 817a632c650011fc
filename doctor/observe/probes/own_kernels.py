"""Find Triton kernels in the project's own files, for a torch that miscompiles around them.

Only a torch before 2.6 does (https://github.com/pytorch/pytorch/issues/136504), so no other costs
this search.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from doctor.base.versions import parse
from doctor.host.reading import SOURCE, UnreadableFile
from doctor.model.facts import FactStream, absent, present, unknown
from doctor.observe.scene import ProbeInput

BOUND = 5.0

_FIXED = "2.6"
_MOST_FILES = 5_000
_SHOWN = 3
# Folders that hold no source of the project: other people's packages, and what tools leave behind.
_SKIPPED = frozenset({"__pycache__", "site-packages", "node_modules", "build", "dist"})


def probe(scene: ProbeInput) -> FactStream:
    """Give project.triton_kernels; absent where every file was read and none defines a kernel."""
    torch = next((one.version for one in scene.distributions if one.name == "torch"), None)
    version, fixed = parse(torch or ""), parse(_FIXED)
    if scene.project is None or version is None or fixed is None or version >= fixed:
        return
    found: list[str] = []
    doubt = ""
    for number, path in enumerate(_sources(scene.project)):
        if number >= _MOST_FILES:
            doubt = f"the project has more than {_MOST_FILES} Python files"
            break
        try:
            text = scene.host.whole(path, SOURCE) or ""
        except UnreadableFile as error:
            doubt = str(error)
            continue
        if "triton" in text and "jit" in text and (line := _kernel(text)):
            found.append(f"{path.relative_to(scene.project).as_posix()}:{line}")
            if len(found) == _SHOWN:
                break
    name = "project.triton_kernels"
    if found:
        yield name, present(found, "project")
    else:
        yield name, unknown(doubt, "project") if doubt else absent("project")


def _sources(project: Path) -> Iterator[Path]:
    """Yield the Python files of a project, without hidden folders and virtual environments."""
    for folder, folders, files in os.walk(project):
        folders[:] = [
            name
            for name in sorted(folders)
            if not name.startswith(".")
            and name not in _SKIPPED
            and not Path(folder, name, "pyvenv.cfg").is_file()
        ]
        yield from (Path(folder, name) for name in sorted(files) if name.endswith(".py"))


def _kernel(text: str) -> int | None:
    """Return the line of the first decorator that makes a Triton kernel, `@triton.jit`, from 1."""
    for number, line in enumerate(text.splitlines(), 1):
        name = line.strip().removesuffix("()")
        if name in ("@triton.jit", "@jit") or name.startswith("@triton.jit("):
            return number
    return None
