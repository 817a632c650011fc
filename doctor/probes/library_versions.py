"""Of which release the cuDNN is that torch would load, held against the one that it was built with."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from doctor.distributions import requirements
from doctor.host import Host
from doctor.linking import Resolved
from doctor.model.facts import Fact, absent, present, unknown
from doctor.probes.contract import Scene

_CUDNN = re.compile(r"libcudnn\.so\.(\d+)(?:\.(\d+)\.(\d+))?")
_DEFINED = re.compile(r"^#define CUDNN_(MAJOR|MINOR|PATCHLEVEL)\s+(\d+)", re.MULTILINE)
_PINNED = re.compile(r"==(\d+)\.(\d+)")
_PARTS = ("MAJOR", "MINOR", "PATCHLEVEL")


def cudnn_older(scene: Scene, found: Mapping[str, Resolved]) -> Fact:
    """Return the cuDNN that torch would load where it is older than torch accepts.

    torch compares major and minor: another major never fits, and an older minor does not (torch/backends/cudnn/__init__.py).
    """
    path = next((one.path for name, one in found.items() if _CUDNN.fullmatch(name)), None)
    wanted = _wanted(scene)
    if path is None or wanted is None:
        return absent("METADATA of torch")
    here = _version(scene.host, path)
    if here is None:
        return unknown(f"{path.name} lies beside no header that says its version", str(path))
    if here[0] == wanted[0] and here[1] >= wanted[1]:
        return absent(str(path))
    told = {"path": str(path), "version": ".".join(map(str, here)), "wanted": f"{wanted[0]}.{wanted[1]}"}
    return present(told, str(path))


def _wanted(scene: Scene) -> tuple[int, int] | None:
    torch = next((one for one in scene.distributions if one.name == "torch"), None)
    if torch is None or scene.interpreter is None:
        return None
    pins = (_PINNED.match(one.specifier) for one in requirements(torch, scene.interpreter) if one.name.startswith("nvidia-cudnn-"))
    return next(((int(pin[1]), int(pin[2])) for pin in pins if pin), None)


def _version(host: Host, path: Path) -> tuple[int, ...] | None:
    """Return the version of a cuDNN: by the name of its file where that says it, else by the header that came with it."""
    named = _CUDNN.fullmatch(path.resolve().name)
    if named and named[2]:
        return tuple(int(part) for part in named.groups())
    for folder in (path.parents[1] / "include", path.parent, path.parent / "include"):
        defined = dict(_DEFINED.findall(host.read(folder / "cudnn_version.h") or ""))
        if len(defined) == len(_PARTS):
            return tuple(int(defined[part]) for part in _PARTS)
    return None
