"""The builds of torch, and what each one asks of a machine.

| source | what |
| --- | --- |
| compat/torch | the CUDA, the Pythons and the companions of each release on the package index |
| compat/torch-archs | the builds for each CUDA, and the GPUs that they have code for |
| compat/cuda-driver | the oldest driver for a CUDA |
| compat/gpu-arch, cuda-toolkit-driver | the first driver that drives a GPU |
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
from packaging.version import Version

from doctor.base.versions import major, parse
from doctor.facts.derive.arch import uncovered
from doctor.facts.derive.cells import accepts, cell_text
from doctor.facts.gpu_models import family
from doctor.model.catalog import Catalog
from doctor.planning.requests_place import Place

INDEX = "https://download.pytorch.org/whl/"
_UNIFIED = "13.2"
"""From this CUDA on, Orin runs the code of desktop GPUs (doctor/facts/derive/arch.py)."""
_CUDA_ON_ARM = "2.11.0"
"""PyPI's wheels of torch for Linux on aarch64 have CUDA from here on; before, they are for CPUs.

Up to 2.10.0 the markers of the CUDA libraries in METADATA ask for x86_64.
"""


class Build(msgspec.Struct, frozen=True, kw_only=True):
    """One build of a release of torch: its CUDA, its GPUs and the index that serves it.

    `index` is empty for the package index itself. `cuda` is empty for a build without.
    """

    release: str
    cuda: str = ""
    archs: tuple[str, ...] = ()
    index: str = ""
    pythons: Any = None
    companions: Mapping[str, Any] = msgspec.field(default_factory=dict)

    @property
    def tag(self) -> str:
        """Return the name of its index: cu128, cpu."""
        return f"cu{self.cuda.replace('.', '')}" if self.cuda else "cpu"

    @property
    def words(self) -> str:
        """Return it in words."""
        if not self.index:
            return f"torch {self.release}" + (f" (built for CUDA {self.cuda})" if self.cuda else "")
        return f"torch {self.release}+{self.tag}"


class Rule(msgspec.Struct, frozen=True):
    """What somebody asks of the machine, and what the machine has instead."""

    asks: str
    has: str
    kind: str


def builds(catalog: Catalog, place: Place) -> tuple[Build, ...]:
    """Return the builds for this system, newest first; of a release, the index's own first."""
    table = catalog.tables.get("torch")
    rows = sorted(
        table.rows if table else (), key=lambda row: order(str(row["torch"])), reverse=True
    )
    return tuple(build for row in rows for build in _of_row(row, catalog, place))


def _of_row(row: Mapping[str, Any], catalog: Catalog, place: Place) -> Iterator[Build]:
    release, own = str(row["torch"]), _own_cuda(row, place)
    pythons = row.get("python")
    served = dict(_archs(release, catalog, place))
    build = Build(release=release, pythons=pythons, companions=row)
    yield msgspec.structs.replace(build, cuda=own, archs=served.get(own, ()))
    if place.os in ("linux", "windows"):
        # Every system has a build for the CUDA of the package index; others come and go.
        usual = str(row.get("cuda", ""))
        for cuda in sorted(served, key=lambda one: (one == usual, order(one)), reverse=True):
            if cuda != own:
                index = f"{INDEX}cu{cuda.replace('.', '')}"
                yield msgspec.structs.replace(build, cuda=cuda, archs=served[cuda], index=index)


def _own_cuda(row: Mapping[str, Any], place: Place) -> str:
    """Return the CUDA of the build on the package index."""
    here, first = parse(str(row["torch"])), parse(_CUDA_ON_ARM)
    if place.os != "linux" or "cuda" not in row:
        return ""  # the index's own wheels for Windows and macOS have no CUDA
    is_arm = place.machine in ("aarch64", "arm64")
    return "" if is_arm and here and first and here < first else str(row["cuda"])


def _archs(release: str, catalog: Catalog, place: Place) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the CUDA releases that a release was built for, with the GPUs of each."""
    table = catalog.tables.get("torch-archs")
    machine = "aarch64" if place.machine == "arm64" else place.machine
    for row in table.rows if table else ():
        # The wheels for Windows come from the same lists of architectures.
        if accepts(row["torch"], release) and row["machine"] == machine:
            cells = row["cuda"] if isinstance(row["cuda"], list | tuple) else [row["cuda"]]
            for cuda in cells:
                yield str(cuda), tuple(str(row["archs"]).split())


def violated(build: Build, catalog: Catalog, place: Place) -> Iterator[Rule]:
    """Yield the rules of a build that this machine breaks."""
    if build.pythons is not None and accepts(build.pythons, place.python) is False:
        wanted = cell_text(build.pythons)
        yield Rule(
            f"torch {build.release} needs Python {wanted}",
            f"this is Python {place.python}",
            "python",
        )
    if place.vendor == "nvidia":
        yield from _of_gpu(build, catalog, place)
    if place.vendor in ("amd", "intel"):
        other = {"amd": "ROCm", "intel": "XPU"}[place.vendor]
        yield Rule(
            f"{build.words} has no code for {other}", f"this machine has {place.gpu}", "vendor"
        )
    if place.os == "macos" and place.macos:
        yield from _of_macos(build, catalog, place)


def _of_gpu(build: Build, catalog: Catalog, place: Place) -> Iterator[Rule]:
    if place.jetson and not _is_for_jetson(build):
        yield Rule(
            f"{build.words} is for servers with Arm processors, not for Jetson boards",
            f"this is {place.gpu}",
            "jetson",
        )
        return
    if not build.cuda:
        yield Rule(f"{build.words} on the package index computes on the CPU alone here",
                   f"this machine has {place.gpu}", "gpu")  # fmt: skip
        return
    if build.archs:
        unified = accepts({"from": _UNIFIED}, build.cuda) is True
        if without := uncovered(build.archs, place.capabilities, unified=unified):
            has = ", ".join(build.archs)
            yield Rule(
                f"{build.words} has code for {has} only",
                f"this machine has {_named(without[0], place)}",
                "gpu",
            )
    elif beyond := [one for one in place.capabilities if _is_later(one, build.cuda, catalog)]:
        yield Rule(
            f"{build.words} is older than this GPU",
            f"this machine has {_named(beyond[0], place)}",
            "gpu",
        )
    needs = _driver_for(build.cuda, catalog) if place.driver else ""
    if needs and accepts({"from": needs}, place.driver) is False:
        yield Rule(
            f"{build.words} needs an NVIDIA driver >= {needs}",
            f"this machine has driver {place.driver}",
            "driver",
        )


def gpu_and_driver(catalog: Catalog, place: Place) -> Rule | None:
    """Return the rule that a GPU and a driver break together, whatever is installed."""
    if not place.driver or place.jetson:
        return None
    for capability in place.capabilities:
        first = (family(capability, catalog).get("toolkit") or {}).get("from")
        needs = _driver_of_toolkit(str(first), catalog) if first else ""
        # Each toolkit comes with the first driver that knows the GPUs which are new in it.
        branch = str(major(needs)) if needs else ""
        if branch and accepts({"from": branch}, place.driver) is False:
            return Rule(
                f"{_named(capability, place)} needs an NVIDIA driver >= {branch}, the first with "
                f"CUDA {first}",
                f"this machine has driver {place.driver}",
                "driver",
            )
    return None


def _is_for_jetson(build: Build) -> bool:
    return bool(build.cuda) and accepts({"from": _UNIFIED}, build.cuda) is True


def _named(capability: str, place: Place) -> str:
    if len(place.capabilities) == 1 and place.gpu:
        return place.gpu
    return f"a GPU of compute capability {capability}"


def _is_later(capability: str, cuda: str, catalog: Catalog) -> bool:
    first = (family(capability, catalog).get("toolkit") or {}).get("from")
    return bool(first) and accepts({"from": str(first)}, cuda) is False


def _driver_for(cuda: str, catalog: Catalog) -> str:
    table = catalog.tables.get("cuda-driver")
    for row in table.rows if table else ():
        if accepts(row["cuda"], cuda):
            return str(row["driver"]["from"])
    return ""


def _driver_of_toolkit(cuda: str, catalog: Catalog) -> str:
    table = catalog.tables.get("cuda-toolkit-driver")
    for row in table.rows if table else ():
        if str(row["cuda"]) == cuda and "driver" in row:
            return str(row["driver"]["from"])
    return ""


def _of_macos(build: Build, catalog: Catalog, place: Place) -> Iterator[Rule]:
    table = catalog.tables.get("torch-macos")
    for row in table.rows if table else ():
        if accepts(row["torch"], build.release):
            column = "wheel" if place.machine == "arm64" else "intel"
            needs = row.get(column)
            if needs is None:
                yield Rule(f"torch {build.release} has no wheel for Macs with Intel processors",
                           "this is one", "system")  # fmt: skip
            elif accepts(needs, place.macos) is False:
                yield Rule(
                    f"torch {build.release} needs macOS {cell_text(needs)}",
                    f"this is macOS {place.macos}",
                    "system",
                )
            return


def order(version: str) -> Version:
    """Return a key to sort versions by; what is none comes first."""
    return parse(version) or Version("0")
