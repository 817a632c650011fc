"""Which GPUs something is said of, in the few words of a title and as a command takes them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from doctor.base.lazy_pattern import Pattern
from doctor.facts.derive.making import SOURCE
from doctor.model.facts import Facts, FactStream, absent, present, value_of

_ERROR = Pattern(r"GPU (?P<index>\d+)(?: \((?P<card>[^()]*)\))?: (?P<words>.+)$")
_PLACE = Pattern(r"[0-9a-f]+:[0-9a-f:.]+")
_NVML_LOST = "GPU is lost"


def which(name: str, gpus: Sequence[dict[str, Any]], facts: Facts) -> FactStream:
    """Yield `nvidia.NAME.which` and `.index`: `GPU 2 (0000:81:00.0)`, and `2` for nvidia-smi -i.

    A container, or a job of a cluster, counts its GPUs from 0, and the machine counts them
    otherwise: there the index is the PCI address, which nvidia-smi takes as well.
    """
    yield f"nvidia.{name}.which", present(_named(gpus), SOURCE) if gpus else absent(SOURCE)
    apart = value_of(facts, "host.container") or value_of(facts, "env.SLURM_JOB_ID") is not None
    places = [gpu.get("pci_bus_id") for gpu in gpus]
    numbers = places if apart and all(places) else [gpu.get("index") for gpu in gpus]
    indices = ",".join(map(str, numbers))
    yield f"nvidia.{name}.index", present(indices, SOURCE) if gpus else absent(SOURCE)


def lost(facts: Facts) -> FactStream:
    """Yield the same of GPUs that do not answer, and `nvidia.gpu_errors.told`.

    `GPU 2 (0000:81:00.0) is lost`.
    """
    listed = value_of(facts, "nvidia.gpu_errors")
    errors = [str(one) for one in listed] if isinstance(listed, list | tuple) else []
    found = [match for one in errors if (match := _ERROR.match(one))]
    gpus = (
        [{"index": one["index"], "pci_bus_id": _place(one["card"] or "")} for one in found]
        if len(found) == len(errors)
        else []
    )
    yield from which("gpu_errors", gpus, facts)
    words = {one["words"] for one in found} if gpus else set()
    told = f"{_named(gpus)} {_said(words.pop(), len(gpus))}" if len(words) == 1 else ""
    yield "nvidia.gpu_errors.told", present(told, SOURCE) if told else absent(SOURCE)


def _place(card: str) -> str | None:
    found = _PLACE.match(card.rpartition(", ")[2])
    return found[0] if found else None


def _said(words: str, count: int) -> str:
    if words == _NVML_LOST:
        return "is lost" if count == 1 else "are lost"
    return f"cannot be asked: {words}"


def _named(gpus: Sequence[dict[str, Any]]) -> str:
    if len(gpus) == 1:
        place = gpus[0].get("pci_bus_id")
        return f"GPU {gpus[0].get('index')}" + (f" ({place})" if place else "")
    return (
        f"GPUs {', '.join(str(gpu.get('index')) for gpu in gpus[:-1])} and {gpus[-1].get('index')}"
    )
