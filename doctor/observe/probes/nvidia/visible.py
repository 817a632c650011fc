"""Which GPUs CUDA_VISIBLE_DEVICES leaves, by the rules of CUDA.

They stand in NVIDIA's guide:
https://docs.nvidia.com/cuda/cuda-programming-guide/05-appendices/environment-variables.html. Where
it is silent, `_parse_visible_devices` of torch/cuda/__init__.py is followed: a repeated entry
leaves no GPU, and numbers are read as strtoul reads them.

CUDA_VISIBLE_DEVICES is described in the CUDA programming guide
(https://docs.nvidia.com/cuda/cuda-c-programming-guide/#cuda-environment-variables), names of MIG
devices in https://docs.nvidia.com/datacenter/tesla/mig-user-guide/. The first invalid entry ends
the list, without an error.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import msgspec

from doctor.host.nvml import Gpu

VARIABLE = "CUDA_VISIBLE_DEVICES"
_NOBODY = ("", "-1", "none", "nodevfiles", "void")
"""Values that hide every GPU because somebody meant it.

Slurm writes NoDevFiles for a job without GPUs.
"""
_OLD_MIG = re.compile(r"MIG-(GPU-[0-9a-fA-F-]+)/(\d+)/(\d+)$")
_REFUSED = "Insufficient Permissions"
_JOINED = re.compile(r"\s{0,8}\d{1,4}[\s;:|/]{1,8}\d")
"""Two numbers in one entry, as strtoul reads no more than the first."""


class Visible(msgspec.Struct, frozen=True):
    """The GPUs that are left; None where that cannot be told, for the reason in `why`.

    `error` is what is wrong with the variable, `meant` that it hides every GPU on purpose.
    """

    gpus: tuple[Gpu, ...] | None
    error: str = ""
    why: str = ""
    meant: bool = False


class _Choice(msgspec.Struct, frozen=True):
    """The meaning of the list: indices of GPUs, the entry that ended it, a repeated entry."""

    places: tuple[int, ...]
    bad: str | None = None
    twice: str | None = None


def visible(gpus: Sequence[Gpu], environ: Mapping[str, str]) -> Visible:
    """Return which of NVML's GPUs a CUDA program sees, in the order in which NVML lists them."""
    # A GPU that the control group refuses is not there for CUDA either, and is not counted: NVML
    # alone lists it.
    here = [gpu for gpu in gpus if gpu.error != _REFUSED] or list(gpus)
    value = environ.get(VARIABLE)
    if value is None:
        return Visible(tuple(here))
    if value.strip().lower() in _NOBODY:
        return Visible((), meant=True)
    by_uuid = value.startswith(("GPU-", "MIG-"))
    chosen = (
        _of_uuids(value.split(","), here) if by_uuid else _of_numbers(value.split(","), len(here))
    )
    error = _error(value, chosen, here, by_uuid=by_uuid)
    if chosen.twice is not None:
        return Visible((), error=error)
    if by_uuid and chosen.bad is not None and any(not gpu.uuid for gpu in here):
        return Visible(None, why="NVML does not tell the UUID of every GPU")
    if not by_uuid and _numbers_are_a_guess(here, chosen.places, environ):
        why = (
            f"{VARIABLE}={value} counts GPUs by their speed, as CUDA guesses it, unless "
            f"CUDA_DEVICE_ORDER=PCI_BUS_ID"
        )
        return Visible(None, error=error, why=why)
    return Visible(tuple(here[place] for place in sorted(set(chosen.places))), error=error)


def _numbers_are_a_guess(
    gpus: Sequence[Gpu], places: Sequence[int], environ: Mapping[str, str]
) -> bool:
    """Say whether the numbers of CUDA need not be those of NVML.

    Whoever takes all of them, or one of equals, need not care.
    """
    if environ.get("CUDA_DEVICE_ORDER") == "PCI_BUS_ID" and not any(gpu.error for gpu in gpus):
        return False
    equal = len({(gpu.name, gpu.capability, gpu.memory_bytes) for gpu in gpus}) == 1
    return not equal and len(set(places)) not in (0, len(gpus))


def _of_numbers(entries: Sequence[str], count: int) -> _Choice:
    places: list[int] = []
    for entry in entries:
        found = re.match(r"\s*\+?(\d+)", entry)
        if found is None or int(found[1]) >= count:
            return _Choice(tuple(places), bad=entry)
        if int(found[1]) in places:
            return _Choice((), twice=entry)
        places.append(int(found[1]))
    return _Choice(tuple(places))


def _of_uuids(entries: Sequence[str], gpus: Sequence[Gpu]) -> _Choice:
    """Resolve UUIDs; a MIG device brings its GPU, and several of one GPU are no repetition."""
    places: list[int] = []
    seen: set[tuple[int, str]] = set()
    for entry in entries:
        fits = _mig(entry, gpus) if entry.startswith("MIG-") else _whole(entry, gpus)
        if len(fits) != 1 or entry[:4] != entries[0][:4]:
            return _Choice(tuple(places), bad=entry)
        if fits[0] in seen:
            return _Choice((), twice=entry)
        seen.add(fits[0])
        places.append(fits[0][0])
    return _Choice(tuple(places))


def _whole(entry: str, gpus: Sequence[Gpu]) -> list[tuple[int, str]]:
    return [
        (place, "")
        for place, gpu in enumerate(gpus)
        if entry.startswith("GPU-") and (gpu.uuid or "").startswith(entry)
    ]


def _mig(entry: str, gpus: Sequence[Gpu]) -> list[tuple[int, str]]:
    """Find a MIG device by UUID, or by the three parts of a name before driver 470.

    The parts are GPU, GPU instance and compute instance.
    """
    old = _OLD_MIG.match(entry)
    found = []
    for place, gpu in enumerate(gpus):
        for device in gpu.mig_devices or ():
            name = str(device.get("uuid") or "")
            ids = (gpu.uuid, str(device.get("gpu_instance")), str(device.get("compute_instance")))
            if name.startswith(entry) or (old and old.groups() == ids):
                found.append((place, name or entry))
    return found


def _error(value: str, chosen: _Choice, gpus: Sequence[Gpu], *, by_uuid: bool) -> str:
    """Say what is wrong with the variable; empty where nothing is."""
    if chosen.twice is not None:
        return f"{VARIABLE}={value} names {chosen.twice.strip()} twice, so CUDA shows no GPU"
    joined = next((one for one in value.split(",") if _JOINED.match(one)), None)
    if not by_uuid and joined and chosen.bad is None:
        return (
            f"{VARIABLE}={value}: a comma alone parts two entries, so CUDA reads the first number "
            f"of {joined.strip()} and leaves out the rest"
        )
    # CUDA's guide itself ends a list with -1: that is how one is cut off on purpose.
    if chosen.bad is None or (chosen.places and chosen.bad.strip() == "-1"):
        return ""
    left = (
        f", so CUDA shows the first {len(chosen.places)} of the list alone"
        if chosen.places
        else ", so CUDA shows no GPU"
    )
    if by_uuid:
        return (
            f"{VARIABLE}={value}: no {'MIG device' if chosen.bad.startswith('MIG-') else 'GPU'} "
            f"here is {chosen.bad}{left}"
        )
    if not re.match(r"\s*[+-]?\d", chosen.bad):
        return (
            f"{VARIABLE}={value}: {chosen.bad.strip() or 'an empty entry'} is neither a number "
            f"nor a UUID{left}"
        )
    numbers = "GPU 0" if len(gpus) == 1 else f"GPUs 0 to {len(gpus) - 1}"
    return f"{VARIABLE}={value}, but this machine has {numbers}{left}"
