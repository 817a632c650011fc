"""Compare the releases of the parts of cuDNN that torch loads."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

from doctor.base.lazy_pattern import Pattern
from doctor.host import Host, UnreadableFile
from doctor.model.facts import FactStream, absent, present, unknown
from doctor.observe.binaries.linking import Resolved
from doctor.observe.installed.distributions import requirements
from doctor.observe.scene import ProbeInput

Version: TypeAlias = tuple[int, ...]

_CUDNN = Pattern(r"libcudnn\w*\.so\.(\d+)(?:\.(\d+)\.(\d+))?")
_DEFINED = Pattern(r"^#define CUDNN_(MAJOR|MINOR|PATCHLEVEL)[ \t]+([0-9]{1,6})", re.MULTILINE)
_PINNED = Pattern(r"==([0-9]{1,6})\.([0-9]{1,6})")
_PARTS = ("MAJOR", "MINOR", "PATCHLEVEL")


def of_cudnn(scene: ProbeInput, found: Mapping[str, Resolved]) -> FactStream:
    """Give libs.cudnn_older and libs.cudnn_mixed.

    torch compares major and minor: another major never fits, and an older minor does not
    (torch/backends/cudnn/__init__.py). The library that it is linked with opens the others by name,
    which LD_LIBRARY_PATH may lead elsewhere.
    """
    paths = {
        one.path.parent: one.path
        for name, one in found.items()
        if one.path is not None and _CUDNN.fullmatch(name)
    }
    versions = {path: version for path in paths.values() if (version := _version(scene.host, path))}
    wanted, source, why = (
        None,
        "METADATA of torch",
        "a cuDNN lies beside no header that says its version",
    )
    try:
        wanted, whole = _wanted(scene), len(versions) == len(paths)
    except UnreadableFile as error:
        whole, why = False, str(error)
    older = [
        path
        for path, here in versions.items()
        if wanted and (here[0] != wanted[0] or here[1] < wanted[1])
    ]
    known = absent(source) if whole else unknown(why, source)
    yield (
        "libs.cudnn_older",
        present(_cudnn_fact(older, versions, wanted or ()), str(older[0])) if older else known,
    )
    mixed = (
        sorted(versions, key=lambda path: versions[path]) if len(set(versions.values())) > 1 else []
    )
    yield (
        "libs.cudnn_mixed",
        present(_cudnn_fact(mixed, versions, versions[mixed[-1]]), str(mixed[0]))
        if mixed
        else known,
    )


def _cudnn_fact(
    paths: Sequence[Path], versions: Mapping[Path, Version], other: Version
) -> dict[str, str]:
    return {"library": str(paths[0]), "version": _text(versions[paths[0]]), "wanted": _text(other)}


def _text(version: Version) -> str:
    return ".".join(map(str, version))


def _wanted(scene: ProbeInput) -> Version | None:
    torch = next((one for one in scene.distributions if one.name == "torch"), None)
    if torch is None or scene.interpreter is None:
        return None
    pins = (
        _PINNED.match(one.specifier)
        for one in requirements(torch, scene.interpreter)
        if one.name.startswith("nvidia-cudnn-")
    )
    return next(((int(pin[1]), int(pin[2])) for pin in pins if pin), None)


def _version(host: Host, path: Path) -> Version | None:
    """Return the version of a cuDNN, by its file name or by the header beside it."""
    named = _CUDNN.fullmatch(path.resolve().name)
    if named and named[2]:
        return tuple(int(part) for part in named.groups())
    for folder in (path.parents[1] / "include", path.parent, path.parent / "include"):
        defined = dict(_DEFINED.findall(host.read(folder / "cudnn_version.h", limit=1 << 16) or ""))
        if len(defined) == len(_PARTS):
            return tuple(int(defined[part]) for part in _PARTS)
    return None
