"""Find leftovers of interrupted installs: renamed folders, half packages, old metadata."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from doctor.base.requirements import normalize_name
from doctor.base.versions import public
from doctor.model.facts import Fact, FactStream, absent, present
from doctor.observe.installed.distributions import PROVED, fit, installed_as
from doctor.observe.installed.modules import constants
from doctor.observe.probes.own_modules import lacking
from doctor.observe.scene import Distribution, ProbeInput

BOUND = 5.0

# What a torch brings that a folder of somebody's own called torch does not.
_OF_TORCH = ("version.py", "__init__.py", "lib/libtorch_cpu.so", "lib/libc10.so")


def probe(scene: ProbeInput) -> FactStream:
    """Give python.left_behind, python.interrupted, python.stale_metadata and the like of torch.

    Absent where all is tidy.
    """
    if scene.interpreter is None:
        return
    here = {one.name: one for one in scene.distributions}
    folders = list(dict.fromkeys(scene.interpreter.site_packages))
    left = [path for folder in folders for path in _entries(folder, "~")]
    removed = {
        name: version
        for path in left
        if path.name.endswith(".dist-info")
        for name, version in installed_as(path)
    }
    gone = {name: version for name, version in removed.items() if name not in here}
    yield "python.left_behind", _fact([str(path) for path in left])
    yield (
        "python.interrupted",
        _fact([f"{name}=={version}" for name, version in gone.items() if name != "torch"]),
    )
    yield (
        "torch.interrupted",
        present(gone["torch"], str(left[0])) if "torch" in gone else absent("site-packages"),
    )
    stale = [
        path
        for folder in folders
        for path in _stale(folder, {one.folder: one for one in here.values()})
    ]
    yield "python.stale_metadata", _fact([str(path) for path in stale])
    yield (
        "python.doubled",
        _fact([f"{name}=={version}" for path in stale for name, version in installed_as(path)]),
    )
    torch = [
        str(Path(folder, "torch"))
        for folder in folders
        if "torch" not in here and _holds_torch(Path(folder, "torch"))
    ]
    yield (
        "torch.without_metadata",
        present(torch[0], torch[0]) if torch else absent("site-packages"),
    )
    lacks = lacking(Path(torch[0])) if torch else None
    yield "torch.hollow", present(lacks, torch[0]) if lacks else absent("site-packages")
    told = constants(scene.host, Path(torch[0], "version.py")) if lacks else None
    version = public(str((told or {}).get("__version__", "")))
    yield (
        "torch.hollow_release",
        present(version, f"{torch[0]}/version.py") if version else absent("site-packages"),
    )


def _fact(values: list[str]) -> Fact:
    return present(values, "site-packages") if values else absent("site-packages")


def _entries(folder: str, beginning: str = "") -> Iterator[Path]:
    try:
        with os.scandir(folder) as entries:
            names = sorted(
                entry.name
                for entry in entries
                if entry.name.startswith(beginning) and entry.is_dir(follow_symlinks=False)
            )
    except OSError:
        return
    yield from (Path(folder, name) for name in names)


def _stale(folder: str, real: Mapping[Path, Distribution]) -> Iterator[Path]:
    """Yield the stale dist-info folders beside one whose RECORD fits the files."""
    beside = {
        normalize_name(path.name.partition("-")[0]): one
        for path, one in real.items()
        if path.parent == Path(folder)
    }
    for path in _entries(folder):
        name = normalize_name(path.name.partition("-")[0])
        if (
            path.suffix == ".dist-info"
            and path.name[0] != "~"
            and path not in real
            and name in beside
            and fit(beside[name]) > PROVED
        ):
            yield path


def _holds_torch(folder: Path) -> bool:
    return any((folder / name).exists() for name in _OF_TORCH)
