"""Tell whether Intel's Level Zero driver is older than the GPUs here.

The driver is part of Intel's compute runtime, whose releases are at
https://github.com/intel/compute-runtime/releases. It finds no device where it does not know the
number of the GPU. The last number of its file's version is the build: 31294 is release 24.39.
"""

from __future__ import annotations

from typing import Any

from doctor.facts.derive.making import SOURCE
from doctor.facts.devices import cards
from doctor.model.facts import Facts, FactStream, absent, present, value_of

_IN_PROCESSOR = "0000:00:02.0"
"""Where a GPU sits that is part of the processor."""
_BATTLEMAGE, _LUNAR_LAKE, _PANTHER_LAKE = "0xe2", "0x64", "0xb0"
_BUILDS = {_BATTLEMAGE: 31294, _LUNAR_LAKE: 29138, _PANTHER_LAKE: 31294}
"""First digits of PCI device numbers, and a build before which no release knows such a GPU.

Of Battlemage it is the first that does; of the others the first may be a later one.
"""


def level_zero(facts: Facts) -> FactStream:
    """Yield `intel.level_zero_older`, the GPUs that are newer than the driver, and the cards."""
    apart = [
        _label(gpu)
        for gpu in cards(facts, "intel.gpus")
        if gpu.get("driver") and gpu.get("pci_bus_id") != _IN_PROCESSOR
    ]
    yield "intel.cards", present(apart, SOURCE) if apart else absent(SOURCE)
    build = str(value_of(facts, "intel.level_zero_version") or "").rpartition(".")[2]
    listed = cards(facts, "intel.gpus") if build.isdecimal() else []
    older = [_label(gpu) for gpu in listed if int(build) < _first(gpu)]
    every = bool(older) and len(older) == len(listed)
    yield "intel.level_zero_older", present(older, SOURCE) if every else absent(SOURCE)


def _first(gpu: dict[str, Any]) -> int:
    return _BUILDS.get(str(gpu.get("device", ""))[:4], 0)


def _label(gpu: dict[str, Any]) -> str:
    return f"{gpu.get('pci_bus_id')} (8086:{str(gpu.get('device')).removeprefix('0x')})"
