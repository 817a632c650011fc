"""Find GPUs on PCI without a driver, and what each needs by its device number.

The numbers are those of the table in the README of
https://github.com/NVIDIA/open-gpu-kernel-modules, which lists Turing and newer.
"""

from __future__ import annotations

from typing import Any

from doctor.base.versions import in_range
from doctor.facts import devices
from doctor.facts.derive.making import SOURCE
from doctor.facts.derive.reach import job_without_gpu
from doctor.model.facts import Facts, FactStream, State, absent, present, value_of

_GRACE_HOPPER = range(0x2340, 0x2350)
_BLACKWELL = (range(0x2900, 0x2A00), range(0x2B00, 0x3000), range(0x3180, 0x3200))
_FIRST_BRANCHES = (
    *((numbers, "570") for numbers in _BLACKWELL),
    (range(0x2680, 0x2900), "520"),
    (range(0x2300, 0x2400), "520"),
)
"""Blackwell, Ada and Hopper, and a branch of the driver before which none serves them."""
_MAXWELL, _TURING = 0x1340, 0x1E00
_WITHOUT_KEPLER = "495"
"""The first branch of drivers that serves Maxwell and newer alone."""
"""The first device numbers of these generations; Pascal and Volta stand between them."""
_WITHOUT_PASCAL = "590"
"""The first branch of drivers that serves Turing and newer alone."""
_NVIDIAS_OWN = ("", "nvidia")
_TRIED = {
    "start_failed": "cards_failed",
    "unpowered": "cards_unpowered",
    "asleep": "cards_asleep",
}
"""What the kernel's log says of a card that it tried to start, and of which silent cards."""
_CLOSED = ("gpus_refused", "gpus_barred", "nodes_wrong", "nodes_missing")
"""Facts about device files that keep NVML from a GPU which the driver has taken."""


def cards(facts: Facts) -> FactStream:
    """Yield the cards without a driver, by what they need."""
    free = [
        card
        for card in devices.cards(facts, "nvidia.cards")
        if str(card.get("driver", "")) in _NVIDIAS_OWN
    ]
    yield from _of_guests(facts)
    older = [
        _label(card)
        for card in devices.cards(facts, "nvidia.cards")
        if _MAXWELL <= _number(card) < _TURING
    ]
    yield "nvidia.before_turing", present(older, SOURCE) if older else absent(SOURCE)
    driver = value_of(facts, "nvidia.driver_version")
    installed = str(driver or _of_library(facts))
    yield "nvidia.installed_version", present(installed, SOURCE) if installed else absent(SOURCE)
    dropped = [] if driver else [card for card in free if _dropped(card, installed)]
    # The closed module leaves again where it serves none of the cards.
    asking = [] if driver else devices.texts(facts, "nvidia.open_required")
    closed = [card for card in free if card not in dropped and card.get("pci_bus_id") in asking]
    # A card whose window has no address is refused by any driver.
    unplaced = _places_of(facts, "bar_missing")
    waiting = [
        _label(card)
        for card in free
        if not driver and card not in (*dropped, *closed) and card.get("pci_bus_id") not in unplaced
    ]
    yield "nvidia.undriven", present(waiting, SOURCE) if waiting else absent(SOURCE)
    # Many users may not read the kernel's log: then it is as if nothing stood there.
    refused_all = value_of(facts, "nvidia.probe_failed") if waiting else None
    yield "nvidia.module_left", present(refused_all, SOURCE) if refused_all else absent(SOURCE)
    unlisted = _not_taken(free, facts) if driver else []
    # A driver that does not know a card leaves it unbound, and never tries to start it.
    tried = _places_of(facts, *_TRIED)
    known = [one for one in unlisted if one.get("driver") or one.get("pci_bus_id") in tried]
    left = [
        card for card in unlisted if card not in known and card.get("pci_bus_id") not in unplaced
    ]
    left_out = devices.texts(facts, "nvidia.gpus_excluded")
    held = [card for card in known if str(card.get("pci_bus_id")) not in left_out]
    # The closed module may take such a card, and fails as soon as a program opens it.
    refused = [card for card in held if _needs_open(card, facts)]
    said = "\n".join(devices.texts(facts, "nvidia.gpu_errors"))
    errors = [card for card in free if str(card.get("pci_bus_id")) in said]
    yield from _tried([*(card for card in held if card not in refused), *errors], facts)
    yield from _silent([card for card in held if card not in refused], facts)
    left += [*refused, *dropped, *closed]
    sorted_ = {
        name: [_label(card) for card in left if _need(card, facts, installed) == name]
        for name in _NEEDS
    }
    for name, found in sorted_.items():
        yield f"nvidia.{name}", present(found, SOURCE) if found else absent(SOURCE)


def _of_guests(facts: Facts) -> FactStream:
    """Yield the cards that vfio-pci holds, those alike, and those that no virtual machine names."""
    held = [one for one in devices.cards(facts, "nvidia.cards") if one.get("driver") == "vfio-pci"]
    models = [_number(card) for card in held]
    alike = [card for card in held if models.count(_number(card)) > 1]
    used = devices.texts(facts, "nvidia.used_by_guests")
    named = [card for card in held if card.get("pci_bus_id") in used]
    free = [card for card in held if card not in named] if named else []
    for name, found in (("held_for", held), ("alike_for", alike)):
        labels = [_label(card) for card in found]
        yield f"nvidia.{name}_guests", present(labels, SOURCE) if labels else absent(SOURCE)
    labels = [_label(card) for card in free]
    yield "nvidia.free_for_host", present(labels, SOURCE) if labels else absent(SOURCE)
    first = str(free[0].get("pci_bus_id")) if free else ""
    yield "nvidia.free_for_host.first", present(first, SOURCE) if first else absent(SOURCE)


def _silent(held: list[dict[str, Any]], facts: Facts) -> FactStream:
    """Yield the cards that the driver holds and NVML leaves out, and those with Xid 79.

    A scheduler may close the device files of GPUs to a job, so that they are left out as well.
    """
    lost = {
        str(one.get("pci_bus_id"))[-10:] for one in devices.cards(facts, "nvidia.xid") if _fell(one)
    }
    fallen = [_label(card) for card in held if _place(card) in lost]
    silent = [_label(card) for card in held]
    if value_of(facts, "env.SLURM_JOB_ID") is not None:
        silent = fallen
    yield "nvidia.cards_silent", present(silent, SOURCE) if silent else absent(SOURCE)
    yield "nvidia.cards_fallen", present(fallen, SOURCE) if fallen else absent(SOURCE)


def _tried(unusable: list[dict[str, Any]], facts: Facts) -> FactStream:
    """Yield the cards that NVML does not list or cannot ask, by what the kernel's log says.

    The GPU of another job may have recovered since, which nobody here sees.
    """
    of_cluster = value_of(facts, "env.SLURM_JOB_ID") is not None
    for name, told in _TRIED.items():
        places = [] if of_cluster else _places_of(facts, name)
        named = [_label(card) for card in unusable if card.get("pci_bus_id") in places]
        yield f"nvidia.{told}", present(named, SOURCE) if named else absent(SOURCE)


def _places_of(facts: Facts, *names: str) -> list[str]:
    """Return the PCI addresses that these facts from the kernel's log begin with."""
    told = (one for name in names for one in devices.texts(facts, f"nvidia.{name}"))
    return [str(one).partition(": ")[0] for one in told]


def _fell(xid: dict[str, Any]) -> bool:
    return xid.get("code") == _OFF_THE_BUS


def _place(card: dict[str, Any]) -> str:
    """Return the slot as the kernel's log has it, without the function: 0000:ca:00."""
    return str(card.get("pci_bus_id")).partition(".")[0][-10:]


_OFF_THE_BUS = 79
_NEEDS = (
    "needs_open_module",
    "needs_closed_module",
    "needs_legacy_driver",
    "needs_older_driver",
    "needs_newer_driver",
    "cards_untaken",
)


def _of_library(facts: Facts) -> object:
    """Return the version of the driver by its library, where the module is not loaded.

    A driver ends at once where it serves none of the GPUs, so that only its files are left. A
    container has the library of its host, and a folder `compat` one of another driver.
    """
    elsewhere = value_of(facts, "host.container") or value_of(facts, "host.wsl")
    replaced = "/compat" in str(value_of(facts, "nvidia.libcuda") or "")
    return "" if elsewhere or replaced else value_of(facts, "nvidia.libcuda_version") or ""


def _dropped(card: dict[str, Any], driver: str) -> str:
    """Return what a card needs whose generation a release of the driver has dropped."""
    device = _number(card)
    if 0 < device < _MAXWELL and in_range(driver, introduced=_WITHOUT_KEPLER):
        return "needs_older_driver"
    old = _MAXWELL <= device < _TURING and in_range(driver, introduced=_WITHOUT_PASCAL)
    return "needs_legacy_driver" if old else ""


def _need(card: dict[str, Any], facts: Facts, driver: str) -> str:
    device, kind = _number(card), value_of(facts, "nvidia.module_kind")
    if _is_newer(card, driver):
        return "needs_newer_driver"
    if _needs_open(card, facts):
        return "needs_open_module"
    if dropped := _dropped(card, driver):
        return dropped
    if 0 < device < _TURING and kind == "open":
        return "needs_closed_module"
    return "cards_untaken"


def _is_newer(card: dict[str, Any], driver: str) -> bool:
    """Say whether a card is of a generation that came after the driver."""
    device = _number(card)
    return any(
        device in numbers and in_range(driver, fixed=first) for numbers, first in _FIRST_BRANCHES
    )


def _needs_open(card: dict[str, Any], facts: Facts) -> bool:
    """Say whether only the open module serves a card, and the closed one is loaded.

    The kernel's own line decides; without one, the device number does.
    """
    kind = value_of(facts, "nvidia.module_kind")
    if str(card.get("pci_bus_id")) in devices.texts(facts, "nvidia.open_required"):
        return bool(kind != "open")
    if kind != "closed":
        return False
    device = _number(card)
    return device in _GRACE_HOPPER or any(device in numbers for numbers in _BLACKWELL)


def _not_taken(there: list[dict[str, Any]], facts: Facts) -> list[dict[str, Any]]:
    """Return the cards that NVML does not list.

    None where it could not be asked, names GPUs without their place, or cannot open their files.
    """
    # A job of a cluster that asked for no GPU sees those of its node on PCI alone.
    if job_without_gpu(facts) or any(value_of(facts, f"nvidia.{name}") for name in _CLOSED):
        return []
    gpus, nvml = facts.get("nvidia.gpus", absent("")), facts.get("nvidia.nvml", absent(""))
    if gpus.state is State.UNKNOWN or nvml.state is not State.ABSENT or value_of(facts, "host.wsl"):
        return []
    listed = gpus.value if isinstance(gpus.value, list | tuple) else ()
    taken = [gpu for gpu in listed if isinstance(gpu, dict)]
    # A container, and a job of a cluster, see the cards of their host on PCI, and only GPUs of
    # their own.
    contained = value_of(facts, "host.container")
    if taken and (contained or any(not gpu.get("pci_bus_id") for gpu in taken)):
        return []
    if contained and value_of(facts, "nvidia.device_nodes") is False:
        return []
    places = {gpu.get("pci_bus_id") for gpu in taken}
    return [card for card in there if card.get("pci_bus_id") not in places]


def _number(card: dict[str, Any]) -> int:
    try:
        return int(str(card.get("device", "")), 16)
    except ValueError:
        return 0


def _label(card: dict[str, Any]) -> str:
    number = str(card.get("device", "")).removeprefix("0x")
    return f"{card.get('pci_bus_id')}" + (f" (10de:{number})" if number else "")
