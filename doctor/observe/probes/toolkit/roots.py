"""Find every CUDA toolkit, in the order in which a torch build searches."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import msgspec

from doctor.host import Host
from doctor.observe.probes.toolkit import headers
from doctor.observe.scene import ProbeInput

SELECTING = ("CUDA_HOME", "CUDA_PATH", "PATH", "/usr/local/cuda")
"""How torch finds a toolkit (`_find_cuda_home` in torch/utils/cpp_extension.py), first wins.

Elsewhere it only lies there.
"""

_COMPILER = "nvidia-cuda-nvcc"


class Toolkit(msgspec.Struct, frozen=True, kw_only=True):
    """A toolkit: its folder, how it was found, and its packaging.

    The packaging is pip, conda, distribution (in /usr) or nvidia.
    """

    root: str
    origin: str
    packaging: str
    nvcc: str | None

    @property
    def selected(self) -> bool:
        """Whether the environment points at it."""
        return self.origin in SELECTING


def toolkits(scene: ProbeInput) -> list[Toolkit]:
    """Return the toolkits, each once, the one that a build would take first."""
    found: dict[str, Toolkit] = {}
    for root, origin in _roots(scene):
        real = os.path.realpath(scene.host.at(root))
        if real not in found and Path(real).is_dir():
            nvcc = scene.host.which(str(scene.host.at(f"{root}/bin/nvcc")))
            found[real] = Toolkit(
                root=root, origin=origin, packaging=_packaging(scene, root), nvcc=nvcc
            )
    return list(found.values())


def broken_home(host: Host) -> tuple[str, str] | None:
    """Return name and value of a CUDA_HOME or CUDA_PATH without nvcc that torch would take."""
    for name in ("CUDA_HOME", "CUDA_PATH"):
        if value := host.env.get(name):
            return None if host.which(str(host.at(f"{value}/bin/nvcc"))) else (name, value)
    return None


def _roots(scene: ProbeInput) -> Iterator[tuple[str, str]]:
    host = scene.host
    broken = broken_home(host)
    for name in ("CUDA_HOME", "CUDA_PATH"):
        value = host.env.get(name)
        if value and (name, value) != broken:
            yield os.path.normpath(value), name
    if nvcc := host.which("nvcc"):
        yield str(Path(nvcc).parent.parent), "PATH"
    if _holds_a_part(host, "/usr/local/cuda"):
        yield "/usr/local/cuda", "/usr/local/cuda"
    yield from _lying_there(scene)


def _holds_a_part(host: Host, root: str) -> bool:
    """Say whether a folder holds nvcc, headers or libraries; `compat` alone is no toolkit."""
    parts = (
        "bin/nvcc",
        "nvvm",
        "version.json",
        "version.txt",
        "include",
        "lib64",
        "lib",
        "targets",
    )
    return any(host.exists(f"{root}/{part}") for part in parts)


def _lying_there(scene: ProbeInput) -> Iterator[tuple[str, str]]:
    host, python = scene.host, scene.interpreter
    prefixes = (python.prefix, python.base_prefix) if python else ()
    for prefix in prefixes:
        if host.exists(f"{prefix}/conda-meta") and host.exists(f"{prefix}/bin/nvcc"):
            yield prefix, "conda"
    pip = any(distribution.name == _COMPILER for distribution in scene.distributions)
    for folder in python.site_packages if python else ():
        for path in reversed(tuple(host.glob(f"{folder}/nvidia", "cu[0-9]*"))):
            if pip or (path / "bin/nvcc").exists():
                yield str(path), "pip"
    versioned = [
        name for name in host.list("/usr/local") if re.fullmatch(r"cuda-\d+(\.\d+)*", name)
    ]
    newest = sorted(
        versioned, key=lambda name: [int(part) for part in name[5:].split(".")], reverse=True
    )
    for root in (*(f"/usr/local/{name}" for name in newest), "/opt/cuda"):
        if host.exists(f"{root}/bin/nvcc"):
            yield root, "folder"


def _packaging(scene: ProbeInput, root: str) -> str:
    host, python = scene.host, scene.interpreter
    if "site-packages" in Path(root).parts or any(
        root.startswith(f"{site}/") for site in (python.site_packages if python else ())
    ):
        return "pip"
    if host.exists(f"{root}/conda-meta"):
        return "conda"
    return "distribution" if root in {"/usr", "/usr/lib/cuda"} else "nvidia"


def version_json(host: Host, root: str, component: str) -> str | None:
    """Return a version out of a toolkit's version.json; None where there is none."""
    import json

    try:
        told = json.loads(host.read(f"{root}/version.json", limit=1 << 18) or "null")
        version = told[component]["version"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    return version if isinstance(version, str) else None


def filed_nvcc_version(scene: ProbeInput, kit: Toolkit) -> tuple[str, str] | None:
    """Return version and source of a toolkit's nvcc from a file, without starting nvcc."""
    host = scene.host
    if version := version_json(host, kit.root, "cuda_nvcc"):
        return version, f"{kit.root}/version.json"
    if kit.packaging == "pip":
        told = {
            each.name: each.version
            for each in scene.distributions
            if each.folder.parent in Path(kit.root).parents
        }
        return (told[_COMPILER], f"dist-info of {_COMPILER}") if _COMPILER in told else None
    if kit.packaging == "conda":
        for name in host.list(f"{kit.root}/conda-meta"):
            if found := re.fullmatch(r"cuda-nvcc(?:-tools|-impl)?-(\d[\d.]*)-[^-]+\.json", name):
                return found[1], f"{kit.root}/conda-meta/{name}"
    return None


def short(version: str) -> str:
    """Return major.minor of a version."""
    return ".".join(version.split(".")[:2])


def filed_version(scene: ProbeInput, kit: Toolkit) -> tuple[str, str] | None:
    """Return major.minor and source of a toolkit's CUDA where a file tells it.

    Nvcc's own counts before the headers'.
    """
    host, root = scene.host, kit.root
    if version := version_json(host, root, "cuda"):
        return short(version), f"{root}/version.json"
    if compiler := filed_nvcc_version(scene, kit):
        return short(compiler[0]), compiler[1]
    if version := headers.headers_version(host, root):
        return version, f"{root}/include/cuda.h"
    found = re.search(
        r"CUDA Version (\d+\.\d+)", host.read(f"{root}/version.txt", limit=4096) or ""
    )
    return (found[1], f"{root}/version.txt") if found else None
