"""Which GPU can run code that was compiled for which architecture."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from doctor.base.lazy_pattern import Pattern
from doctor.base.versions import parse

_ARCH = Pattern(r"(?:sm|compute)_(\d+)(\d)([af]?)$")
_ALONE = {(8, 7), (5, 3), (6, 2), (7, 2)}
"""Tegra chips: desktop code of their generation does not run on them.

torch/cuda/__init__.py lists them in DEVICE_REQUIREMENT.
"""

_RENAMED = {(10, 1): (11, 0)}


def runs(arch: str, capability: str, *, unified: bool = False) -> bool:
    """Return whether code for `arch` (`sm_86`, `compute_90`) runs on a `capability` (`8.9`).

    Machine code runs within its major version on the same or a later minor; `compute_` is PTX and
    runs on anything later; with an `a` suffix either runs on that very capability alone, with `f`
    within the family. `unified`: built with CUDA 13.2 or later, which made Orin (8.7) a device like
    any other of its generation.
    """
    parts, device = _ARCH.match(arch), _pair(capability)
    if parts is None or device is None:
        return False
    code = _RENAMED.get(pair := (int(parts[1]), int(parts[2])), pair)
    device = _RENAMED.get(device, device)
    if parts[3] == "a":
        return device == code
    within = device[0] == code[0] and device[1] >= code[1]
    if arch.startswith("compute_"):
        return within if parts[3] == "f" else device >= code
    # Orin's own code runs on Orin alone, whichever CUDA made it.
    alone = _ALONE - {(8, 7)} if unified else _ALONE
    return device == code if code in _ALONE or device in alone else within


FIRST_CUDA = {6: "8.0", 7: "9.0", 8: "11.0", 9: "11.8", 10: "12.8", 11: "13.0", 12: "12.8"}
"""The first CUDA that compiles code which GPUs of a major version run.

From the release notes of the toolkits (https://docs.nvidia.com/cuda/archive/) and the lists of
`ptxas --help`: 11.0 brought sm_80, whose code runs on 8.6 and 8.9 as well.
"""


def beyond(cuda: str, capabilities: Iterable[str]) -> list[str]:
    """Return the capabilities that no code runs on which a release of CUDA compiles.

    Only PTX can be translated for them, which builds of torch seldom hold.
    """
    here = parse(cuda)
    return [
        one
        for one in dict.fromkeys(capabilities)
        if here is not None
        and (pair := _pair(one)) is not None
        and (first := parse(FIRST_CUDA.get(pair[0], "0"))) is not None
        and here < first
    ]


def _pair(capability: str) -> tuple[int, int] | None:
    first, _, second = capability.partition(".")
    return (int(first), int(second)) if first.isdigit() and second.isdigit() else None


def uncovered(
    archs: Sequence[str], capabilities: Iterable[str], *, unified: bool = False
) -> list[str]:
    """Return the capabilities that none of the architectures runs on."""
    return [
        here
        for here in dict.fromkeys(capabilities)
        if not any(runs(arch, here, unified=unified) for arch in archs)
    ]
