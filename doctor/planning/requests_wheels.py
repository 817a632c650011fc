"""Which releases of extensions exist as a wheel, and for which builds of torch.

| package | table | what its wheels ask for |
| --- | --- | --- |
| flash-attn | compat/flash-attn | Linux on x86-64, a torch, a CUDA, a Python, a GPU |
| torchaudio | compat/torch | a torch of the table; its last release refuses later ones |
| vllm, sglang, xformers | compat/… | a torch; vllm also a GPU |
| cupy-cuda12x, cupy-cuda13x | the name | the CUDA of the torch beside it |
| torchvision and every other package with a table | compat/… | a torch |
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import msgspec

from doctor.base.versions import major, minor
from doctor.facts.derive.arch import uncovered
from doctor.facts.derive.cells import accepts, cell_text
from doctor.model.catalog import Catalog
from doctor.planning.requests_builds import Build, Rule, order
from doctor.planning.requests_place import Place
from doctor.planning.requests_tables import torches_by_release

_CUPY = re.compile(r"cupy-cuda(\d{2})x")
_WITH_TORCH = {"vllm": "vllm", "sglang": "sglang", "xformers": "xformers"}
"""Packages whose table names the torch of each release, and the key column of the table."""


class Release(msgspec.Struct, frozen=True, kw_only=True):
    """A release of an extension: `refused` here, else the builds of torch that it goes with.

    `asks` says in words which torch that is.
    """

    version: str
    asks: str = ""
    torch: Callable[[Build], bool] | None = None
    refused: Rule | None = None


def releases(name: str, catalog: Catalog, place: Place, specifier: str = "") -> tuple[Release, ...]:
    """Return the releases of a package that tables know, newest first; empty for any other.

    All of them where one is asked for that a table names, else those that a specifier leaves.
    """
    if name == "flash-attn":
        found = _flash_attn(catalog, place)
    elif name == "torchaudio":
        found = _torchaudio(catalog)
    elif name in _WITH_TORCH:
        found = _with_torch(name, catalog, place)
    elif match := _CUPY.fullmatch(name):
        found = iter([_cupy(name, int(match[1]))])
    else:
        found = _tabled(name, specifier, catalog, place)
    return tuple(sorted(found, key=lambda one: order(one.version), reverse=True))


def _flash_attn(catalog: Catalog, place: Place) -> Iterator[Release]:
    table = catalog.tables.get("flash-attn")
    for row in table.rows if table else ():
        version = str(row["flash-attn"]["from"])
        if "cu13" in row["source"]:
            continue  # what this release ships was not read
        yield Release(
            version=version,
            asks=f"flash-attn {version} has wheels for torch {_list(row['torch'])} with CUDA "
            f"{_list(row['cuda'])} only",
            torch=_torch_and_cuda(row),
            refused=_refused(version, row, place),
        )


def _refused(version: str, row: Mapping[str, Any], place: Place) -> Rule | None:
    name = f"flash-attn {version}"
    if place.os != "linux" or place.machine != "x86_64":
        where = {"windows": "Windows", "macos": "macOS", "linux": "Linux"}.get(place.os, place.os)
        return Rule(
            f"{name} has wheels for Linux on x86_64 only",
            f"this is {where} on {place.machine}",
            "system",
        )
    if place.vendor in ("amd", "intel"):
        return Rule(f"{name} has wheels for NVIDIA GPUs only", f"this is {place.gpu}", "vendor")
    archs = str(row["archs"]).split()
    if without := uncovered(archs, place.capabilities):
        return Rule(
            f"{name} has code for {', '.join(archs)} only",
            f"this machine has {place.gpu or without[0]}",
            "gpu",
        )
    if accepts(row["python"], place.python) is False:
        return Rule(
            f"{name} has wheels for Python {cell_text(row['python'])} only",
            f"this is Python {place.python}",
            "python",
        )
    return None


def _torch_and_cuda(row: Mapping[str, Any]) -> Callable[[Build], bool]:
    torches = [str(one) for one in _cells(row["torch"])]
    cudas = [str(one) for one in _cells(row["cuda"])]

    def fits(build: Build) -> bool:
        # The wheels of one major version of CUDA run beside any torch of it.
        majors = {major(one) for one in cudas}
        return minor(build.release) in torches and major(build.cuda or "0") in majors

    return fits


def _torchaudio(catalog: Catalog) -> Iterator[Release]:
    table = catalog.tables.get("torch")
    of: dict[str, list[str]] = {}
    for row in table.rows if table else ():
        if "torchaudio" in row:
            of.setdefault(str(row["torchaudio"]), []).append(str(row["torch"]))
    for version, torches in of.items():
        yield Release(
            version=version,
            asks=f"torchaudio {version} loads beside torch {_span(torches)} only",
            torch=_one_of(torches),
        )


def _tabled(name: str, specifier: str, catalog: Catalog, place: Place) -> Iterator[Release]:
    for version, found in torches_by_release(name, specifier, catalog, place):
        yield Release(
            version=version,
            asks=f"{name} {version} needs torch {_span([*found])}",
            torch=_one_of([*found]),
        )


def _one_of(torches: list[str]) -> Callable[[Build], bool]:
    return lambda build: build.release in torches


def _with_torch(name: str, catalog: Catalog, place: Place) -> Iterator[Release]:
    table = catalog.tables.get(name)
    for row in table.rows if table else ():
        for version in _cells(row[_WITH_TORCH[name]]):
            if isinstance(version, dict) or "torch" not in row:
                continue
            yield Release(
                version=str(version),
                asks=f"{name} {version} needs torch {_list(row['torch'])}",
                torch=_accepting(row["torch"], everywhere=name == "xformers"),
                refused=_too_old(f"{name} {version}", row, place),
            )


def _accepting(cell: Any, *, everywhere: bool) -> Callable[[Build], bool]:
    """Accept builds of a torch; those of other indexes too where the wheels are there as well."""
    return lambda build: accepts(cell, build.release) is True and (everywhere or not build.index)


def _too_old(name: str, row: Mapping[str, Any], place: Place) -> Rule | None:
    cell = row.get("capability")
    for capability in place.capabilities:
        if cell is not None and accepts(cell, capability) is False:
            return Rule(
                f"{name} needs a GPU of compute capability {cell_text(cell)}",
                f"this machine has {place.gpu}",
                "gpu",
            )
    return None


def _cupy(name: str, wanted: int) -> Release:
    return Release(
        version="0",
        asks=f"{name} is for CUDA {wanted}, and shares its libraries with the torch beside it",
        torch=lambda build: major(build.cuda or "0") == wanted,
    )


def _cells(cell: Any) -> list[Any]:
    return list(cell) if isinstance(cell, list | tuple) else [cell]


def _list(cell: Any) -> str:
    return ", ".join(cell_text(one) for one in _cells(cell))


def _span(versions: list[str]) -> str:
    ordered = sorted(versions, key=order)
    return ordered[0] if len(ordered) == 1 else f"{ordered[0]} to {ordered[-1]}"
