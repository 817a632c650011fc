"""What NVML complains of, GPU by GPU, in words that conditions can read.

GPUs that are not visible are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from functools import partial
from typing import Any, TypeAlias

from doctor.base.versions import in_range
from doctor.facts.derive.making import SOURCE
from doctor.facts.derive.which import lost, which
from doctor.facts.devices import cards
from doctor.model.facts import Fact, Facts, FactStream, absent, present, unknown, value_of

_Complaint: TypeAlias = Callable[[dict[str, Any], dict[str, Any]], str]
"""Makes words of a GPU and its health; an empty text where there is nothing to say."""

_BUSY_STATES = (0, 1, 2)
"""Performance states of a GPU that works.

In the others its PCIe link may rest, and says nothing of the slot.
"""
_WIDE = 8
"""Lanes of a GPU that is not made for one lane."""
_NVLINK_5 = "10.0"
"""Compute capability from which on the switches are no PCI devices."""
_FAR_BELOW = 0.7
"""Of the power that the maker intends."""
_FOR_ONE_PROCESS = 1 << 30
"""Memory that is free where no small program runs out of it: CUDA itself takes half of that."""
_THROTTLED = ("hardware thermal slowdown", "hardware power brake")
"""What speaks for itself.

"hardware slowdown" alone is also said for a moment while clocks change (nvml.h).
"""


def health(facts: Facts) -> FactStream:
    """Yield a list of GPUs for each thing that may be amiss.

    Absent where no GPU complains of it.
    """
    gpus = cards(facts, "nvidia.visible") or _meant(facts)
    every = cards(facts, "nvidia.gpus") or gpus
    shared = _shared(every)
    by_mps = {gpu.get("index") for gpu in every} if value_of(facts, "nvidia.mps") else shared
    complaints: dict[str, _Complaint] = {
        **_COMPLAINTS,
        "compute_exclusive": partial(_exclusive, shared=by_mps),
        "pcie_narrow": partial(_narrow, every=every),
        "pcie_starved": partial(_starved, every=every),
        "links_down": partial(_unlinked, every=every, switch=bool(_switched(every, facts))),
    }
    for name, complaint in complaints.items():
        concerned = [(gpu, words) for gpu in gpus if (words := complaint(gpu, _health(gpu)))]
        said = [f"{_label(gpu)}: {words}" for gpu, words in concerned]
        yield f"nvidia.{name}", present(said, SOURCE) if said else absent(SOURCE)
        yield from which(name, [gpu for gpu, _ in concerned], facts)
    yield from _slowed_by(gpus, every)
    yield from lost(facts)
    yield from _computing(cards(facts, "nvidia.gpus"))
    barred = [gpu for gpu in gpus if _undivided(gpu, {}) or _prohibited(gpu, {})]
    linked = [gpu for gpu in gpus if _health(gpu).get("nvlinks_down") == 0]
    rest = ",".join(str(gpu.get("index")) for gpu in linked) if len(linked) < len(gpus) else ""
    yield "nvidia.links_up", present(rest, SOURCE) if rest else absent(SOURCE)
    none_left = bool(gpus) and len(barred) == len(gpus)
    yield "nvidia.none_usable", present(True, SOURCE) if none_left else absent(SOURCE)
    free = [gpu for gpu in gpus if _takes_programs(gpu, shared)]
    some = ",".join(str(gpu["uuid"]) for gpu in free) if len(free) < len(gpus) else ""
    yield "nvidia.free", present(some, SOURCE) if some else absent(SOURCE)
    states = {_taken(gpu, shared) for gpu in gpus}
    taken = states.pop() if len(states) == 1 else ""
    yield "nvidia.taken", present(taken, SOURCE) if taken else absent(SOURCE)
    # A GPU that does not answer says nothing of its fabric.
    answers = [told for gpu in gpus if (told := _health(gpu))]
    joined = bool(answers) and all(
        told.get("fabric_state") == "completed" and not _fabric({}, told) for told in answers
    )
    yield "nvidia.fabric_completed", present(True, SOURCE) if joined else absent(SOURCE)
    yield "nvidia.fabric_wanted", _wants_fabric(answers, facts)
    elsewhere = _host_joins(gpus, facts)
    yield "nvidia.fabric_of_host", present(True, SOURCE) if elsewhere else absent(SOURCE)


def _wants_fabric(answers: list[dict[str, Any]], facts: Facts) -> Fact:
    """Say whether the GPUs need a fabric manager; a container does not show the switches."""
    switch = value_of(facts, "nvidia.nvswitch")
    if switch or any(told.get("fabric_state") for told in answers):
        return present(True, SOURCE)
    if switch is False and answers and not value_of(facts, "host.container"):
        return present(False, SOURCE)
    return unknown("neither the switches nor NVML tell", SOURCE)


def _host_joins(gpus: list[dict[str, Any]], facts: Facts) -> bool:
    """Say whether the host of this virtual machine has to set up the fabric of its GPUs.

    A guest that was given all of a board has the switches on its own PCI bus; one that was given a
    part has none (https://docs.nvidia.com/datacenter/tesla/fabric-manager-user-guide/index.html,
    the models of virtualization). With NVLink 5 the switches are on no PCI bus.
    """
    waits = any(_fabric({}, _health(gpu)) for gpu in gpus)
    before = all(in_range(str(gpu.get("capability") or "0"), fixed=_NVLINK_5) for gpu in gpus)
    # A container does not show the switches of the virtual machine around it.
    guest = value_of(facts, "host.virtual_machine") and not value_of(facts, "host.container")
    return bool(waits and guest and before) and value_of(facts, "nvidia.nvswitch") is False


def _computing(gpus: list[dict[str, Any]]) -> FactStream:
    """Yield the processes on all GPUs, those that CUDA_VISIBLE_DEVICES hides included."""
    found = [
        (one["pid"], gpu.get("index"))
        for gpu in gpus
        for one in gpu.get("processes") or ()
        if isinstance(one, dict) and isinstance(one.get("pid"), int)
    ]
    words = [f"process {pid} on GPU {index}" for pid, index in found]
    pids = ",".join(dict.fromkeys(str(pid) for pid, _ in found))
    yield "nvidia.computing", present(words, SOURCE) if words else absent(SOURCE)
    yield "nvidia.computing.pids", present(pids, SOURCE) if pids else absent(SOURCE)


def _meant(facts: Facts) -> list[dict[str, Any]]:
    """Return the GPUs to choose from where CUDA_VISIBLE_DEVICES names one that is not there.

    Those in MIG mode where it names a lost MIG instance.
    """
    if not value_of(facts, "nvidia.visible_error"):
        return []
    listed = cards(facts, "nvidia.gpus")
    if str(value_of(facts, "env.CUDA_VISIBLE_DEVICES") or "").startswith("MIG-"):
        return [gpu for gpu in listed if gpu.get("mig") is True]
    return listed


def _health(gpu: dict[str, Any]) -> dict[str, Any]:
    told = gpu.get("health")
    return told if isinstance(told, dict) else {}


def _label(gpu: dict[str, Any]) -> str:
    inside = ", ".join(str(gpu[name]) for name in ("name", "pci_bus_id") if gpu.get(name))
    return f"GPU {gpu.get('index')}" + (f" ({inside})" if inside else "")


def _undivided(gpu: dict[str, Any], _: dict[str, Any]) -> str:
    return (
        "MIG is on, and there is no instance"
        if gpu.get("mig") is True and gpu.get("mig_devices") == []
        else ""
    )


def _prohibited(gpu: dict[str, Any], _: dict[str, Any]) -> str:
    return "compute mode Prohibited" if gpu.get("compute_mode") == "prohibited" else ""


def _exclusive(gpu: dict[str, Any], _: dict[str, Any], shared: Set[object]) -> str:
    exclusive = gpu.get("compute_mode") == "exclusive_process"
    return "compute mode Exclusive_Process" if exclusive and gpu.get("index") not in shared else ""


def _shared(gpus: Sequence[dict[str, Any]]) -> set[object]:
    """Return the indices of the exclusive GPUs that MPS shares out.

    Only MPS brings several processes onto an exclusive GPU
    (https://docs.nvidia.com/deploy/mps/index.html), and one server of it serves several GPUs.
    """
    users = {
        gpu.get("index"): {
            one["pid"]
            for one in gpu.get("processes") or ()
            if isinstance(one, dict) and isinstance(one.get("pid"), int)
        }
        for gpu in gpus
        if gpu.get("compute_mode") == "exclusive_process"
    }
    several: set[int] = set().union(*(pids for pids in users.values() if len(pids) > 1))
    return {index for index, pids in users.items() if pids & several}


def _taken(gpu: dict[str, Any], shared: Set[object]) -> str:
    """Say whether a GPU has room for no process more.

    One has it for itself ("busy"), or its memory is "full".
    """
    exclusive = gpu.get("compute_mode") == "exclusive_process"
    if exclusive and gpu.get("processes") and gpu.get("index") not in shared:
        return "busy"
    total, used = gpu.get("memory_bytes"), gpu.get("memory_used_bytes")
    if not isinstance(total, int) or not isinstance(used, int) or gpu.get("mig"):
        return ""
    return "full" if total - used < _FOR_ONE_PROCESS else ""


def _takes_programs(gpu: dict[str, Any], shared: Set[object]) -> bool:
    barred = gpu.get("error") or gpu.get("mig") is True or _prohibited(gpu, {})
    return bool(gpu.get("uuid")) and not barred and not _taken(gpu, shared)


def _remap_failed(_: dict[str, Any], told: dict[str, Any]) -> str:
    return "a row of its memory could not be remapped" if told.get("remap_failed") is True else ""


def _remap_pending(_: dict[str, Any], told: dict[str, Any]) -> str:
    pending = told.get("remap_pending") is True
    return "a bad row of its memory is replaced at the next reset" if pending else ""


def _retired_pending(_: dict[str, Any], told: dict[str, Any]) -> str:
    # Cards before Ampere retire pages, and have no rows to remap.
    pending = told.get("retired_pending") is True and told.get("remap_pending") is not True
    return "a bad page of its memory is set aside at the next reset" if pending else ""


def _uncorrected(_: dict[str, Any], told: dict[str, Any]) -> str:
    count = told.get("ecc_uncorrected")
    return (
        f"{count} uncorrected memory errors since the driver was loaded"
        if isinstance(count, int) and count > 0
        else ""
    )


def _throttled(_: dict[str, Any], told: dict[str, Any]) -> str:
    reasons = told.get("slowdown")
    return ", ".join(
        reason for reason in _THROTTLED if isinstance(reasons, list) and reason in reasons
    )


def _slowed_by(gpus: list[dict[str, Any]], every: list[dict[str, Any]]) -> FactStream:
    """Yield what slows the GPUs down, and whether the power brake is on at all of the machine.

    One card has its own cables; what brakes all of them at once is the supply that they share.
    """
    heat, brake = _THROTTLED
    said = [words for gpu in gpus if (words := _throttled(gpu, _health(gpu)))]
    kinds = [
        name
        for name, one in (("heat", heat), ("power brake", brake))
        if any(one in words for words in said)
    ]
    by = " and ".join(kinds)
    yield "nvidia.throttled_by", present(by, SOURCE) if by else absent(SOURCE)
    all_braked = len(every) > 1 and all(brake in _throttled(gpu, _health(gpu)) for gpu in every)
    yield "nvidia.all_braked", present(len(every), SOURCE) if all_braked else absent(SOURCE)


def _fabric(_: dict[str, Any], told: dict[str, Any]) -> str:
    if told.get("fabric_state") in ("not started", "in progress"):
        return f"its fabric is {told['fabric_state']}"
    return f"its fabric ended with: {told['fabric_status']}" if told.get("fabric_status") else ""


def _narrow(gpu: dict[str, Any], told: dict[str, Any], every: Sequence[dict[str, Any]]) -> str:
    here, most = told.get("pcie_width"), told.get("pcie_width_max")
    if not isinstance(here, int) or not isinstance(most, int) or not 0 < here < most:
        return ""
    if told.get("performance_state") in _BUSY_STATES or _rests_wide(gpu, most, every):
        return f"{here} of {most} PCIe lanes"
    # Rest lowers the generation of a link, and hardly its width so far: that is a riser's.
    alone = here == 1 and most >= _WIDE
    return f"{here} of {most} PCIe lanes, at rest" if alone else ""


def _starved(gpu: dict[str, Any], told: dict[str, Any], every: Sequence[dict[str, Any]]) -> str:
    """Say how few lanes a GPU has where they are a quarter or less.

    Half of them is what many boards give to each of two cards. Rest is no reason for a quarter
    where the GPU works, or a like one that rests has all of its own.
    """
    here, most = told.get("pcie_width"), told.get("pcie_width_max")
    if not isinstance(here, int) or not isinstance(most, int) or not 0 < 4 * here <= most:
        return ""
    known = told.get("performance_state") in _BUSY_STATES or _rests_wide(gpu, most, every)
    return f"{here} of {most} PCIe lanes" if known else ""


def _switched(every: Sequence[dict[str, Any]], facts: Facts) -> bool:
    """Say whether switches join the GPUs, so that each of them has all its links.

    Without switches a bridge joins some of the GPUs, and the others have no active link.
    """
    joined = any(_health(gpu).get("fabric_state") == "completed" for gpu in every)
    return joined or value_of(facts, "nvidia.nvswitch") is True


def _unlinked(
    gpu: dict[str, Any], told: dict[str, Any], every: Sequence[dict[str, Any]], *, switch: bool
) -> str:
    """Say how many NVLinks are inactive, where another GPU of this model has all of its own.

    A GPU that is divided (MIG) uses none.
    """
    down, whole = told.get("nvlinks_down"), told.get("nvlinks")
    if not switch or not isinstance(down, int) or not down or gpu.get("mig"):
        return ""
    others = (_health(one) for one in every if one.get("name") == gpu.get("name"))
    if not any(one.get("nvlinks") == whole and one.get("nvlinks_down") == 0 for one in others):
        return ""
    return f"{down} of its {whole} NVLinks are inactive"


def _rests_wide(gpu: dict[str, Any], most: int, every: Sequence[dict[str, Any]]) -> bool:
    """Say whether another GPU of this model rests and has all its lanes.

    Rest is then no reason for fewer. A GPU that computes says nothing of those that rest.
    """
    for other in every:
        told = _health(other)
        alike = bool(other.get("name")) and other.get("name") == gpu.get("name")
        rests = told.get("performance_state") not in _BUSY_STATES and not other.get("processes")
        if alike and rests and told.get("pcie_width") == told.get("pcie_width_max") == most:
            return True
    return False


def _capped(_: dict[str, Any], told: dict[str, Any]) -> str:
    limit, usual = told.get("power_limit_w"), told.get("power_default_w")
    low = isinstance(limit, int) and isinstance(usual, int) and limit < usual * _FAR_BELOW
    return f"{limit} W of {usual} W" if low else ""


def _unlicensed(_: dict[str, Any], told: dict[str, Any]) -> str:
    return "a virtual GPU without a licence" if told.get("licensed") is False else ""


_COMPLAINTS: dict[str, _Complaint] = {
    "mig_without_instances": _undivided,
    "compute_prohibited": _prohibited,
    "remap_failed": _remap_failed,
    "remap_pending": _remap_pending,
    "retired_pending": _retired_pending,
    "ecc_uncorrected": _uncorrected,
    "throttled": _throttled,
    "fabric_incomplete": _fabric,
    "power_capped": _capped,
    "vgpu_unlicensed": _unlicensed,
}
